"""The keys file: what is wrong with it is said by name."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from operator_parts import PRESET

from rlt_ros.operator.keys import GO_ON, MEANINGS, NAMED, REQUESTS, Keys, key_name, load_keys
from rlt_ros.strict import ConfigError


def test_the_preset_has_a_key_for_every_action_and_stop_is_the_space_bar() -> None:
    keys = load_keys(PRESET)
    assert set(keys.keys) == set(MEANINGS)
    assert keys.action("space") == "stop"
    assert [action for _, action, _ in keys.card] == list(MEANINGS)
    assert set(REQUESTS) < set(MEANINGS)


WRONG = {
    "unknown action": ("stop: [space]\nfly: [f]\n", "unknown action 'fly'; known are stop, begin"),
    "doubled key": ("stop: [space]\nbegin: [b]\nabort: [x, b]\n", "key 'b' is that of 'begin' and of 'abort'"),
    "doubled within an action": ("stop: [space, space]\n", "key 'space' is that of 'stop' and of 'stop'"),
    "doubled action": ("stop: [space]\nbegin: [b]\nbegin: [c]\n", "'begin' stands in it twice, again in line 3"),
    "no stop": ("begin: [b]\n", "there is no key for 'stop'"),
    "unknown key": ("stop: [spacebar]\n", "stop: no key 'spacebar'; expected one character or one of"),
    "key of the test": ("stop: [enter]\n", "stop: 'enter' ends the key test; take another key"),
    "no key": ("stop: []\n", r"stop: expected a key or a list of keys, found \[\]"),
    "nested": ("stop: {a: b}\n", "stop: expected a key or a list of keys"),
    "a list": ("- stop\n", "expected a mapping of actions to keys, found list"),
    "empty": ("", "expected a mapping of actions to keys, found"),
    "not YAML": ("stop: [\n", "not YAML"),
}


@pytest.mark.parametrize(("text", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_refused_with_its_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "keys.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=said) as caught:
        load_keys(path)
    assert str(caught.value).startswith(str(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml: cannot be read: No such file"):
        load_keys(tmp_path / "none.yaml")


def test_words_and_digits_that_yaml_would_change_stay_keys(tmp_path: Path) -> None:
    path = tmp_path / "keys.yaml"
    path.write_text("stop: space\nnext: [n, 1]\npause: y\n")
    keys = load_keys(path)
    assert [keys.action(key) for key in ("n", "1", "y", "z")] == ["next", "next", "pause", None]


@given(st.dictionaries(st.sampled_from(sorted(MEANINGS)), st.sampled_from(sorted(NAMED)), min_size=1))
def test_a_file_is_taken_exactly_if_stop_has_a_key_and_no_key_is_doubled(tmp_path_factory, chosen) -> None:
    path = tmp_path_factory.mktemp("keys") / "keys.yaml"
    path.write_text("".join(f"{action}: [{key}]\n" for action, key in chosen.items()))
    good = "stop" in chosen and len(set(chosen.values())) == len(chosen)
    try:
        keys = load_keys(path)
    except ConfigError:
        assert not good
        return
    assert good and keys == Keys({action: (key,) for action, key in chosen.items()})


@pytest.mark.parametrize(
    ("key", "character", "name"),
    [
        ("question_mark", "?", "?"),
        ("A", "A", "A"),
        ("space", " ", "space"),
        (GO_ON, "\r", GO_ON),
        ("escape", "\x1b", "escape"),
        ("f5", None, "f5"),
        ("ö", "ö", "ö"),
    ],
)
def test_a_key_is_named_by_what_it_types(key: str, character: str | None, name: str) -> None:
    assert key_name(key, character) == name
