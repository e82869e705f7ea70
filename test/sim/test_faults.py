"""Faults of the simulated robot: what may be asked for, when they are there, what they do."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotMode, RobotState
from rlt_ros.sim.fault_effects import GUIDED_AT_MOST, FaultyRobot
from rlt_ros.sim.faults import KINDS, MEASURED, FaultRefused, FaultSchedule

CAMERAS = ("front", "wrist")
STATE = RobotState(
    stamp=0,
    pose=Pose.of((0.5, 0.0, 0.2), (1.0, 0.0, 0.0, 0.0)),
    joint_positions=np.zeros(7),
    joint_velocities=np.zeros(7),
    force=np.zeros(3),
    torque=np.zeros(3),
    gripper_width=0.016,
    mode=RobotMode.MOVE,
)
seconds = st.floats(0.001, 1e4)


def robot(text: str = "") -> FaultyRobot:
    schedule = FaultSchedule(CAMERAS)
    schedule.plan(text)
    return FaultyRobot(schedule)


@given(st.sampled_from(sorted(KINDS)), seconds, seconds, st.lists(seconds, max_size=30))
def test_a_planned_fault_is_there_from_its_start_to_its_end(
    kind: str, start: float, length: float, looks: list
) -> None:
    schedule = FaultSchedule(CAMERAS)
    schedule.plan(f"{kind}@{start!r}:{length!r}")
    for now in sorted([*looks, start, start + length]):
        assert [f.kind for f in schedule.at(now)] == ([kind] if start <= now < start + length else [])


@given(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=6), st.floats(0.0, 100.0))
def test_a_fault_without_an_end_lasts_until_it_is_cleared(kinds: list[str], now: float) -> None:
    schedule = FaultSchedule(CAMERAS)
    for kind in kinds:
        schedule.begin(kind, 0.0, 0.0, "", now)
    assert {f.kind for f in schedule.at(now + 1e6)} == set(kinds)
    assert len(schedule.at(now + 1e6)) == len(set(kinds)), "one of the same kind takes the place of the other"
    assert schedule.begin("none", 0.0, 0.0, "", now + 1e6) == f"{len(set(kinds))} faults cleared"
    assert schedule.at(now + 1e6) == ()


def test_several_faults_are_planned_with_target_and_value() -> None:
    planned = robot("latency/wrist@1:2=0.25, reflex@3:0,state_lost/current_pose@0.5:1").schedule
    assert [str(f) for f in planned.at(1.2)] == ["latency/wrist@1:2=0.25", "state_lost/current_pose@0.5:1=0"]
    assert [str(f) for f in planned.at(50.0)] == ["reflex@3:inf=0"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("gremlins@1:2", "fault 'gremlins' is unknown; known are reflex, user_stop"),
        ("reflex", "expected kind[/target]@start:seconds[=value]"),
        ("reflex@x:2", "start is 'x', not a number"),
        ("reflex@1:-2", "seconds of fault 'reflex' is -2.0"),
        ("reflex@nan:2", "start of fault 'reflex' is nan"),
        ("reflex@1:inf", "seconds of fault 'reflex' is inf"),
        ("reflex@1:2=3", "fault 'reflex' takes no value"),
        ("reflex/front@1:2", "it takes none"),
        ("camera_gone/side@1:2", "expected one of front, wrist"),
        ("state_nan/robot_state@1:2", "expected one of joint_states, current_pose"),
    ],
)
def test_what_cannot_be_had_is_refused(text: str, said: str) -> None:
    with pytest.raises(FaultRefused) as refused:
        robot(text)
    assert said in str(refused.value)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_in_lockstep_only_what_does_not_stall_it(kind: str) -> None:
    schedule = FaultSchedule(CAMERAS, lockstep=True)
    if KINDS[kind].lockstep:
        schedule.begin(kind, 1.0, 0.0, "", 0.0)
        return
    with pytest.raises(FaultRefused, match="needs lockstep:=false; in lockstep there are reflex"):
        schedule.begin(kind, 1.0, 0.0, "", 0.0)


@given(st.sampled_from(sorted(KINDS)))
def test_before_and_after_a_fault_everything_is_as_it_was(kind: str) -> None:
    faulty = robot(f"{kind}@1:1")
    picture = np.full((2, 2, 3), 7, np.uint8)
    for now in (0.5, 1.5, 2.5):
        faulty.advance(now)
        changed = now == 1.5
        assert bool(faulty.names) == changed
        if changed:
            continue
        assert faulty.state(STATE) is STATE and not faulty.deaf and faulty.lift is None
        assert faulty.picture("front", picture, 5) == (picture, 5) and faulty.due("front") == pytest.approx(now, abs=1)
        assert not any(faulty.silent(stream) for stream in MEASURED)
        assert faulty.clock_offset == 0 and not faulty.clock_stopped and faulty.recovery_seconds == 0.0


@pytest.mark.parametrize(
    ("kind", "mode", "error"),
    [
        ("reflex", RobotMode.REFLEX, True),
        ("user_stop", RobotMode.USER_STOPPED, False),
        ("guiding", RobotMode.GUIDING, False),
        ("controller_gone", RobotMode.IDLE, False),
        ("not_following", RobotMode.MOVE, False),
    ],
)
def test_an_arm_that_does_not_follow_says_so_or_not(kind: str, mode: RobotMode, error: bool) -> None:
    faulty = robot(f"{kind}@1:1")
    assert not faulty.advance(0.9)
    assert faulty.advance(1.0) and faulty.deaf, "the change is told once"
    assert not faulty.advance(1.1)
    said = faulty.state(STATE)
    assert (said.mode, said.error) == (mode, error)
    assert faulty.advance(2.0) and not faulty.deaf


def test_a_recovery_ends_a_reflex_but_not_a_user_stop() -> None:
    faulty = robot("reflex@1:0,user_stop@1:0,slow_recovery@1:5")
    faulty.advance(2.0)
    assert faulty.recovery_seconds == 16.0
    faulty.schedule.recover(2.0)
    faulty.advance(2.1)
    assert [name.split("@")[0] for name in faulty.names] == ["user_stop", "slow_recovery"]


@pytest.mark.parametrize("stream", MEASURED)
def test_a_stream_goes_silent_or_nan_alone(stream: str) -> None:
    faulty = robot(f"state_lost/{stream}@1:1,state_nan/{stream}@1:1")
    faulty.advance(1.0)
    assert [s for s in MEASURED if faulty.silent(s)] == [stream]
    said = faulty.state(STATE)
    bad = {f.name for f in fields(said) if not _finite(getattr(said, f.name))}
    expected = {"joint_states": {"joint_positions", "joint_velocities"}, "current_pose": {"pose"}}
    expected |= {"external_wrench": {"force", "torque"}, "gripper_joint_states": {"gripper_width"}}
    assert bad == expected[stream]


def _finite(value: object) -> bool:
    parts = (value.position, value.quaternion) if isinstance(value, Pose) else (value,)
    return all(part is None or np.isfinite(np.asarray(part, dtype=float)).all() for part in parts)


def test_cameras() -> None:
    pictures = [np.full((2, 2, 3), level, np.uint8) for level in range(10)]

    def taken(kind: str) -> list[tuple[int, int] | None]:
        faulty, out = robot(f"{kind}/front@2:2"), []
        for i in range(6):
            faulty.advance(float(i))
            got = faulty.picture("front", pictures[i], i)
            assert faulty.picture("wrist", pictures[i], i) == (pictures[i], i), "the other camera goes on"
            out.append(None if got is None else (int(got[0][0, 0, 0]), got[1]))
        return out

    assert taken("camera_frozen") == [(0, 0), (1, 1), (1, 2), (1, 3), (4, 4), (5, 5)]
    assert taken("camera_repeated") == [(0, 0), (1, 1), (1, 1), (1, 1), (4, 4), (5, 5)]
    assert taken("camera_black") == [(0, 0), (1, 1), (0, 2), (0, 3), (4, 4), (5, 5)]
    assert taken("camera_gone") == [(0, 0), (1, 1), None, None, (4, 4), (5, 5)]


@given(st.floats(0.0, 1.0), st.floats(0.001, 1.0), st.lists(st.floats(0.001, 0.1), min_size=1, max_size=50))
def test_late_pictures_keep_their_order(latency: float, jitter: float, gaps: list[float]) -> None:
    faulty = robot(f"latency@0:3={latency},jitter@0:3={jitter}")
    now, last = 0.0, 0.0
    for gap in gaps:
        now += gap
        faulty.advance(now)
        due = faulty.due("front")
        assert due >= last and due >= now
        assert due <= max(last, now + (latency or 0.3) + jitter + 1e-9)
        last = due


@given(st.floats(-1e3, 1e3).filter(bool))
def test_the_clock_jumps_and_jumps_back(jump: float) -> None:
    faulty = robot(f"clock_jump@1:1={jump}")
    offsets = []
    for now in (0.9, 1.0, 1.9, 2.0):
        faulty.advance(now)
        offsets.append(faulty.clock_offset)
    assert offsets == [0, round(jump * 1e9), round(jump * 1e9), 0]


def test_a_person_lifts_the_arm_only_so_far() -> None:
    faulty = robot("guiding@1:100")
    faulty.advance(1.0)
    assert faulty.lift == 0.0
    faulty.advance(2.0)
    assert math.isclose(faulty.lift, 0.02)
    faulty.advance(50.0)
    assert faulty.lift == GUIDED_AT_MOST
