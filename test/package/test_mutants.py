"""The table of deliberate faults fits the code: each can be put in and names tests that exist."""

from __future__ import annotations

import importlib.util
import sys

import pytest
from manifest import ROOT

SPEC = importlib.util.spec_from_file_location("mutants_run", ROOT / "test" / "mutants" / "run.py")
run = importlib.util.module_from_spec(SPEC)
sys.modules["mutants_run"] = run
SPEC.loader.exec_module(run)
MUTANTS = run.mutants()


def test_there_are_many():
    assert len(MUTANTS) >= 20
    assert len({mutant.new for mutant in MUTANTS}) > 20


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_it_can_be_put_in(mutant, tmp_path):
    target = tmp_path / mutant.file
    target.parent.mkdir(parents=True)
    target.write_text((ROOT / mutant.file).read_text())
    mutant.apply(tmp_path)
    assert target.read_text() != (ROOT / mutant.file).read_text()
    compile(target.read_text(), mutant.file, "exec")
    for test in mutant.tests:
        path, _, function = test.partition("::")
        assert (ROOT / path).exists(), path
        assert not function or f"def {function}(" in (ROOT / path).read_text(), test


def test_a_text_that_is_not_there_once_is_refused(tmp_path):
    (tmp_path / "module.py").write_text("a = 1\na = 1\n")
    mutant = run.Mutant("twice", "", "module.py", "a = 1", "a = 2", ())
    with pytest.raises(ValueError, match="twice: 'a = 1' occurs 2 times in module.py"):
        mutant.apply(tmp_path)
