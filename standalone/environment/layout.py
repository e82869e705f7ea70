"""Where things are, relative to the checkout."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """Paths of one checkout and of the virtual environment inside it."""

    root: Path  # of the checkout

    @property
    def venv(self) -> Path:
        """The virtual environment, which is an ament and CMake prefix as well."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """Python of the virtual environment."""
        return self.venv / "bin" / "python"

    @property
    def standalone(self) -> Path:
        """What stands in for a ROS distribution."""
        return self.root / "standalone"

    @property
    def requirements(self) -> Path:
        """Pinned packages of the environment."""
        return self.standalone / "requirements.txt"

    @property
    def interfaces(self) -> Path:
        """CMake project of all interface packages."""
        return self.standalone / "interfaces"

    @property
    def generated(self) -> Path:
        """Python code generated from the interfaces; apart from site-packages, so that the checkout can precede it."""
        return self.venv / "lib" / "interfaces"

    @property
    def state(self) -> Path:
        """Stamps, logs and the interfaces' build folder."""
        return self.venv / "setup"

    @property
    def build(self) -> Path:
        """Build folder of the interfaces, kept so that an edited message compiles alone."""
        return self.state / "interfaces"

    def log(self, stage: str) -> Path:
        """Full output of a stage's last run."""
        return self.state / f"{stage}.log"

    def site_packages(self) -> Path:
        """site-packages of the virtual environment. Raises FileNotFoundError while there is none."""
        found = sorted(self.venv.glob("lib/python3.*/site-packages"))
        if not found:
            raise FileNotFoundError(f"{self.venv}: no lib/python3.*/site-packages")
        return found[0]
