"""Proof that the tests see faults: each mutant of `mutants.yaml` is put into a copy of the code, and a test must fail.

python test/mutants/run.py                    # all; `make mutants`
python test/mutants/run.py current_reference  # some, by name
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
TABLE = Path(__file__).with_name("mutants.yaml")
PASSED, FAILED = 0, 1
"""Exit codes of pytest; others mean that nothing was tested."""


@dataclass(frozen=True)
class Mutant:
    """A deliberate fault. fault: in words. old: text that occurs once in the file, new: what takes its place.

    tests: what must fail with it and passes without it, as pytest takes them.
    """

    name: str
    fault: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def apply(self, root: Path) -> None:
        """Put the fault into a copy of the code. Raises ValueError unless the text occurs exactly once."""
        path = root / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"mutant {self.name}: {self.old!r} occurs {text.count(self.old)} times in {self.file}")
        path.write_text(text.replace(self.old, self.new))


def mutants() -> list[Mutant]:
    """The table."""
    return [
        Mutant(name, **{**content, "tests": tuple(content["tests"])})
        for name, content in yaml.safe_load(TABLE.read_text()).items()
    ]


def copy_to(directory: Path) -> None:
    """The code, its tests and what they read, without what was built."""
    for name in ("rlt_ros", "test", "msg", "config"):
        shutil.copytree(ROOT / name, directory / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pytest.ini", directory)


def run_tests(directory: Path, tests: Sequence[str]) -> tuple[int, str]:
    """Exit code of pytest and the line of the first failure."""
    environment = os.environ | {"PYTHONPATH": f"{directory}:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True)
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return done.returncode, failed[0] if failed else done.stdout[-500:]


def verdicts(chosen: Sequence[Mutant]) -> Iterator[tuple[Mutant, bool, str]]:
    """For each mutant whether a test failed, and which."""
    for mutant in chosen:
        with tempfile.TemporaryDirectory() as name:
            copy_to(Path(name))
            mutant.apply(Path(name))
            code, line = run_tests(Path(name), mutant.tests)
            yield mutant, code == FAILED, line


def healthy(chosen: Sequence[Mutant]) -> tuple[bool, str]:
    """Whether the named tests pass on the code as it is: else their failing proves nothing."""
    with tempfile.TemporaryDirectory() as name:
        copy_to(Path(name))
        code, line = run_tests(Path(name), sorted({test for mutant in chosen for test in mutant.tests}))
        return code == PASSED, line


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point: 0 if every mutant was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="mutants to try (default: all)")
    names = parser.parse_args(argv).names
    chosen = [m for m in mutants() if not names or m.name in names]
    unknown = sorted(set(names) - {m.name for m in chosen})
    if unknown:
        parser.error(f"no such mutant: {', '.join(unknown)}")
    passing, line = healthy(chosen)
    if not passing:
        print(f"the tests fail without any mutant: {line}")
        return 1
    survivors = 0
    for mutant, found, line in verdicts(chosen):
        survivors += not found
        print(f"{'found   ' if found else 'SURVIVED'} {mutant.name}: {mutant.fault}\n         {line}", flush=True)
    print(f"{len(chosen) - survivors} of {len(chosen)} mutants found")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
