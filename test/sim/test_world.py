from __future__ import annotations

import numpy as np
import pytest

from rlt_ros.robot.config import RobotConfig
from rlt_ros.robot.kinematics import forward, tool_twist
from rlt_ros.robot.pose import Pose
from rlt_ros.robot.state import RobotMode, proprioception
from rlt_ros.sim.config import SimConfig
from rlt_ros.sim.episode import draw
from rlt_ros.sim.expert import Expert
from rlt_ros.sim.peg import PegInsertion
from rlt_ros.sim.rollout import rollout

NO_TURN = np.zeros(3)


def press(world: PegInsertion, steps: int = 40) -> np.ndarray:
    """Lower the peg onto the board 30 mm beside the hole and lean on it; the wrench (steps, 6) meanwhile."""
    world.command(world.pose.moved(np.array([0.03, 0.0, 0.0]), NO_TURN))
    for _ in range(20):
        world.step()
    wrench = []
    for _ in range(steps):
        world.command(world.pose.moved(np.array([0.0, 0.0, -0.010]), NO_TURN))
        world.step()
        wrench.append(np.concatenate([world.state().force, world.state().torque]))
    return np.array(wrench)


@pytest.mark.parametrize("seed", range(20))
def test_episodes_start_within_the_configured_ranges(robot: RobotConfig, seed: int) -> None:
    config = SimConfig()
    episode = draw(config, robot.reference, seed)
    tip = episode.start.position + episode.start.rotation.apply([0, 0, config.peg.tip_offset])
    offset = tip - episode.hole.position
    assert (np.abs(offset[:2]) <= config.random.start_lateral).all()
    assert 0.030 <= offset[2] <= 0.040
    assert (np.abs(episode.hole.position[:2] - config.board.position) <= config.random.hole).all()
    assert (np.abs(robot.reference.to(episode.start)[1]) <= config.random.tilt + 1e-9).all()


def test_reset_starts_at_rest_at_the_start_pose(world: PegInsertion) -> None:
    before = world.pose
    translation, turn = before.to(world.episode.start)
    assert np.linalg.norm(translation) < 1e-7 and np.linalg.norm(turn) < 1e-7
    for _ in range(20):
        world.step()
    translation, turn = before.to(world.pose)
    assert np.linalg.norm(translation) < 1e-5 and np.linalg.norm(turn) < 1e-5


def test_state_is_consistent_with_the_kinematics(world: PegInsertion, robot: RobotConfig) -> None:
    world.command(world.pose.moved(np.array([0.005, -0.003, 0.002]), np.array([0.02, 0.0, 0.01])))
    world.step()
    before = world.state()
    np.testing.assert_allclose(forward(before.joint_positions).position, before.pose.position, atol=1e-9)
    assert before.mode == RobotMode.MOVE and not before.error and before.stamp == 0
    twist = tool_twist(before.joint_positions, before.joint_velocities)
    assert np.isfinite(proprioception(before, robot.reference, twist)).all()
    assert np.linalg.norm(twist[:3]) > 0.01


def test_time_advances_by_control_periods(world: PegInsertion, robot: RobotConfig) -> None:
    for _ in range(7):
        world.step()
    assert world.time == pytest.approx(7 / robot.control_rate)


def test_target_is_reached_without_overshoot(world: PegInsertion) -> None:
    start = world.pose
    goal = start.moved(np.array([0.004, 0.003, 0.005]), np.array([0.03, -0.02, 0.05]))
    world.command(goal)
    furthest = 0.0
    for _ in range(20):
        world.step()
        furthest = max(furthest, float((world.pose.position - start.position) @ (goal.position - start.position)))
    assert furthest / float(np.sum((goal.position - start.position) ** 2)) < 1.05
    translation, turn = world.pose.to(goal)
    assert np.linalg.norm(translation) < 1e-4 and np.linalg.norm(turn) < 2e-3


def test_wrench_is_zero_in_free_space_even_when_moving(world: PegInsertion) -> None:
    forces = []
    for _ in range(20):
        world.command(world.pose.moved(np.array([0.0, 0.004, 0.004]), NO_TURN))
        world.step()
        forces.append(np.concatenate([world.state().force, world.state().torque]))
    assert np.abs(forces).max() < 0.5
    assert np.abs(np.mean(forces, axis=0)).max() < 0.1


def test_pressing_on_the_board_pushes_up_with_the_clipped_spring(world: PegInsertion) -> None:
    # Stiffness 1200 N/m times a clip of 10 mm: no more than 12 N can be held. The environment pushes up.
    wrench = press(world)
    assert 9.0 < wrench[-1, 2] < 12.5
    assert np.linalg.norm(wrench[:, :3], axis=1).max() <= 32.0
    assert np.abs(wrench[:, 3:]).max() < 3.0


def test_torque_is_about_the_tool_centre_point(world: PegInsertion) -> None:
    # A sideways force at the tip, 55 mm below the tool centre point, turns the tool: tau = r x f.
    press(world)
    for _ in range(20):
        world.command(world.pose.moved(np.array([0.0, 0.004, -0.010]), NO_TURN))
        world.step()
    state = world.state()
    assert state.force[1] < -1.0
    expected = np.cross([0.0, 0.0, -0.055], state.force)
    np.testing.assert_allclose(state.torque[0], expected[0], atol=0.15)


def test_success_is_depth_inside_the_hole(world: PegInsertion, robot: RobotConfig) -> None:
    depths = []
    for step in rollout(world, Expert(robot), seed=2):
        truth = step.truth
        depths.append(truth.depth)
        assert truth.success == (truth.depth > 0.020 and truth.lateral < 0.009)
        assert truth.depth == pytest.approx(truth.hole.position[2] - truth.tip[2])
    assert depths[0] < -0.02 and depths[-1] > 0.020 and step.truth.success
    assert step.truth.lateral < 0.0015  # inside the hole there is no room for more


def test_beside_the_hole_is_no_success(world: PegInsertion) -> None:
    press(world)
    truth = world.truth()
    assert truth.depth < 0.001 and truth.lateral > 0.02 and not truth.success


def test_commands_are_checked(world: PegInsertion) -> None:
    with pytest.raises(ValueError, match="not a pose"):
        world.command(Pose(np.array([0.5, np.nan, 0.1]), np.array([1.0, 0, 0, 0])))


def test_efforts_carry_gravity(world: PegInsertion) -> None:
    # Joint 2 carries most of the arm: tens of Nm, as on the real one.
    assert 15.0 < abs(world.efforts[1]) < 60.0


def test_fingers_move_at_a_finite_speed_and_close_on_the_peg(world: PegInsertion) -> None:
    assert world.state().gripper_width == pytest.approx(0.016)
    world.command_gripper(0.04, speed=0.1)
    world.step()
    assert world.state().gripper_width == pytest.approx(0.016 + 0.1 / 20)
    for _ in range(10):
        world.step()
    assert world.state().gripper_width == pytest.approx(0.04) and not world.fingers.moving
    np.testing.assert_allclose(world.finger_positions, 0.02)
    left, right = (world.data.body(f"{side}_finger").xpos for side in ("left", "right"))
    assert np.linalg.norm(left - right) == pytest.approx(0.04)
    world.command_gripper(0.0)
    for _ in range(10):
        world.step()
    assert world.state().gripper_width == pytest.approx(0.016)


@pytest.mark.parametrize(("width", "speed"), [(-0.01, 0.1), (0.1, 0.1), (0.04, 0.0), (float("nan"), 0.1)])
def test_impossible_gripper_commands_are_refused(world: PegInsertion, width: float, speed: float) -> None:
    with pytest.raises(ValueError, match="gripper"):
        world.command_gripper(width, speed)
