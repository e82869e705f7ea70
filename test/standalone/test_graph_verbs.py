"""`ros2 topic|node|param|service` beside a running node: what they print and what they do."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from ros2_support import TALKER, in_domain, ros2, running, until, verb

DOMAIN = 71


@pytest.fixture(scope="module")
def env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    env = in_domain(DOMAIN)
    with running([sys.executable, TALKER], env, tmp_path_factory.mktemp("talker") / "log"):
        until(lambda: "/demo/talker" in ros2(env, "node", "list").stdout, "the talker")
        yield env


def lines(env: dict[str, str], *arguments: object, shown: str = "") -> list[str]:
    """What a verb prints, at the first time that this is in it: discovery takes its time now and then."""
    results = []

    def asked() -> bool:
        results.append(ros2(env, *arguments))
        return results[-1].returncode == 0 and shown in results[-1].stdout

    until(asked, f"{shown!r} of {arguments}")
    return results[-1].stdout.splitlines()


def test_topic_list(env: dict[str, str]) -> None:
    names = lines(env, "topic", "list", shown="/demo/picture")
    assert {"/demo/chatter", "/demo/description", "/demo/picture", "/parameter_events", "/rosout"} <= set(names)
    assert names == sorted(names)
    assert "/demo/picture [sensor_msgs/msg/Image]" in lines(env, "topic", "list", "-t", shown="picture")
    assert lines(env, "topic", "list", "-c", shown=str(len(names))) == [str(len(names))]
    verbose = lines(env, "topic", "list", "-v", shown="/demo/chatter")
    assert verbose[0] == "Published topics:"
    assert " * /demo/chatter [std_msgs/msg/String] 1 publisher" in verbose


def test_topic_info(env: dict[str, str]) -> None:
    shown = lines(env, "topic", "info", "/demo/description")
    assert shown == ["Type: std_msgs/msg/String", "Publisher count: 1", "Subscription count: 0"]
    text = "\n".join(lines(env, "topic", "info", "-v", "/demo/description"))
    assert "Node name: talker\nNode namespace: /demo\nTopic type: std_msgs/msg/String\nTopic type hash: RIHS01_" in text
    assert "  Durability: TRANSIENT_LOCAL" in text
    unknown = ros2(env, "topic", "info", "/nowhere")
    assert (unknown.returncode, unknown.stderr) == (1, "Unknown topic '/nowhere'\n")


def test_echo_takes_what_the_publisher_offers(env: dict[str, str]) -> None:
    described = lines(env, "topic", "echo", "/demo/description", "--once")
    assert described == ["data: what it is", "---"]  # latched, so that it comes to who joins late
    shown = lines(env, "topic", "echo", "/demo/picture", "--once")  # best effort
    assert shown[0] == "header:"
    assert shown[1:3] == ["  stamp:", re.match(r"    sec: \d+", shown[2])[0]]
    assert shown[-5:] == ["- 49", "- 50", "- 51", "- 52", "---"]
    assert shown[5:] == [
        shown[5], "width: 2", "encoding: mono8", "is_bigendian: 0", "step: 2", "data:", "- 49", "- 50", "- 51", "- 52",
        "---",
    ]  # fmt: skip


def test_echo_in_parts(env: dict[str, str]) -> None:
    spin = ("--once",)
    assert re.fullmatch(r"number \d+", lines(env, "topic", "echo", "/demo/chatter", "--field", "data", *spin)[0])
    assert re.fullmatch(r"number \d+", lines(env, "topic", "echo", "/demo/chatter", "--csv", *spin)[0])
    kind = ("std_msgs/msg/String", "--filter", "m.data.endswith('0')")
    assert re.fullmatch(r"data: number \d*0", lines(env, "topic", "echo", "/demo/chatter", *kind, *spin)[0])
    shown = lines(env, "topic", "echo", "/demo/picture", "--no-arr", "--no-str", *spin)
    assert "data: '<sequence type: uint8, length: 4>'" in shown
    assert "encoding: '<string length: <5>>'" in shown
    assert lines(env, "topic", "echo", "/demo/picture", "-l", "2", *spin)[-4:] == ["- 49", "- 50", "- '...'", "---"]
    informed = lines(env, "topic", "echo", "/demo/chatter", "-i", *spin)
    assert {"publication_sequence_number", "source_timestamp"} <= {line.split(":")[0] for line in informed}


def test_echo_with_a_profile_that_does_not_fit_gets_nothing(env: dict[str, str]) -> None:
    options = ("--qos-reliability", "reliable", "--timeout", "4")
    assert lines(env, "topic", "echo", "/demo/picture", *options) == []


def test_echo_of_what_is_not_there(env: dict[str, str]) -> None:
    result = ros2(env, "topic", "echo", "/nowhere")
    assert result.returncode == 1
    assert "WARNING: topic [/nowhere] does not appear to be published yet" in result.stdout
    assert "Could not determine the type for the passed topic" in result.stderr
    wrong = ros2(env, "topic", "echo", "/demo/chatter", "--field", "nothing", "--once", "--spin-time", "10")
    assert wrong.returncode == 1
    assert "Invalid field 'nothing'" in wrong.stderr


def test_hz(env: dict[str, str], tmp_path: Path) -> None:
    with running(verb("topic", "hz", "/demo/chatter"), env, tmp_path / "log") as process:
        process.wait_for("window: ", times=3)
        assert process.end() == 2
    rates = [float(rate) for rate in re.findall(r"^average rate: (\S+)$", process.text, re.MULTILINE)]
    assert len(rates) >= 3
    assert 10 < rates[-1] < 30  # a machine under load
    assert re.search(r"^\tmin: \d\.\d{3}s max: \d\.\d{3}s std dev: \d\.\d{5}s window: \d+$", process.text, re.MULTILINE)


def test_hz_of_several_topics(env: dict[str, str], tmp_path: Path) -> None:
    with running(verb("topic", "hz", "/demo/chatter", "/demo/picture"), env, tmp_path / "log") as process:
        process.wait_for("/demo/picture   ", times=2)
        process.end()
    assert re.search(r"^ +topic +rate +min_delta +max_delta +std_dev +window$", process.text, re.MULTILINE)


def test_node_list(env: dict[str, str]) -> None:
    assert lines(env, "node", "list", shown="/demo/talker") == ["/demo/talker"]
    assert lines(env, "node", "list", "-c", shown="1") == ["1"]
    assert any(name.startswith("/_ros2cli_") for name in lines(env, "node", "list", "-a"))


def test_params(env: dict[str, str]) -> None:
    node, patience = "/demo/talker", ("--timeout", "20")
    assert {"  gain", "  names", "  fixed"} <= set(lines(env, "param", "list", node))
    typed = lines(env, "param", "list", node, "--param-type", "--filter", "n|g")
    assert {"  gain (type: double)", "  names (type: string array)"} <= set(typed)
    assert lines(env, "param", "get", node, "gain", *patience) == ["Double value is: 0.5"]
    assert lines(env, "param", "get", "demo/talker", "names", "--hide-type", *patience) == ["['a', 'b']"]
    assert lines(env, "param", "set", node, "gain", "1.5", *patience) == ["Set parameter successful"]
    assert lines(env, "param", "get", node, "gain", *patience) == ["Double value is: 1.5"]
    refused = ros2(env, "param", "set", node, "gain", "3.5", *patience)
    assert refused.stderr.startswith("Setting parameter failed: ")
    assert ros2(env, "param", "set", node, "fixed", "4", *patience).stderr.startswith("Setting parameter failed: ")
    assert lines(env, "param", "describe", node, "gain", *patience) == [
        "Parameter name: gain", "  Type: double", "  Description: Of it.", "  Constraints:", "    Min value: 0.0",
        "    Max value: 2.0",
    ]  # fmt: skip
    assert "    Read only: true" in lines(env, "param", "describe", node, "fixed", *patience)
    assert ros2(env, "param", "get", "/nobody", "gain").stderr == "Node not found\n"
    assert ros2(env, "param", "get", node, "nothing", *patience).stderr == "Parameter not set\n"


def test_services(env: dict[str, str]) -> None:
    assert "/demo/switch [std_srvs/srv/SetBool]" in lines(env, "service", "list", "-t", shown="/demo/switch")
    called = lines(env, "service", "call", "/demo/switch", "std_srvs/srv/SetBool", "{data: false}")
    assert "requester: making request: std_srvs.srv.SetBool_Request(data=False)" in called
    assert "std_srvs.srv.SetBool_Response(success=True, message='switched off')" in called
    wrong = ros2(env, "service", "call", "/demo/switch", "std_srvs/srv/SetBool", "{dat: false}")
    assert wrong.returncode == 1
    assert "Failed to populate field: " in wrong.stderr
    assert "'dat'" in wrong.stderr
    unknown = ros2(env, "service", "call", "/demo/switch", "std_srvs/srv/Nothing")
    assert "The passed service type is invalid" in unknown.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["topic", "pub", "/x"], 1, "ros2 topic pub is not supported by the stand-in"),
        (["bag", "burst"], 1, "ros2 bag burst is not supported by the stand-in"),
        (["doctor"], 1, "ros2 doctor is not supported by the stand-in"),
        (["topic", "list", "--nothing"], 2, "unrecognized arguments: --nothing"),
        (["topic", "hz"], 2, "the following arguments are required: topic_name"),
        (["topic"], 2, "the following arguments are required: verb"),
    ],
)
def test_what_is_refused(arguments: list[str], code: int, message: str) -> None:
    result = ros2(in_domain(DOMAIN), *arguments)
    assert result.returncode == code
    assert message in result.stderr


def test_help() -> None:
    env = in_domain(DOMAIN)
    assert "{echo,hz,info,list}" in ros2(env, "topic", "--help").stdout
    assert "Print the average publishing rate of topics." in ros2(env, "topic", "hz", "--help").stdout
