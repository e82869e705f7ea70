"""`colcon build`, plain and with --symlink-install: what it installs is complete and runs."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from manifest import PACKAGE, ROOT, copy_sources, entry_points

pytestmark = pytest.mark.skipif(
    shutil.which("colcon") is None or "AMENT_PREFIX_PATH" not in os.environ,
    reason="needs colcon and a sourced ROS: run `make test`",
)
# What is tested is the build, not the speed of its result.
CMAKE = ("-G", "Ninja", "-DBUILD_TESTING=OFF", "-DCMAKE_C_FLAGS=-O0", "-DCMAKE_CXX_FLAGS=-O0")


class Workspace:
    """A colcon workspace whose two install trees share one build folder, so that the code is compiled once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = copy_sources(folder / "src" / "rlt_ros")

    def build(self, install: str, *options: str) -> Path:
        """Build into an install tree of that name; returns the package's prefix."""
        # ament leaves a copied folder there, which it cannot replace by a link (nor the other way round).
        shutil.rmtree(self.folder / "build" / "rlt_ros" / "ament_cmake_python", ignore_errors=True)
        command = ["colcon", "--log-base", "log", "build", "--base-paths", "src", "--install-base", install]
        command += [*options, "--cmake-force-configure", "--cmake-args", *CMAKE]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
        return self.folder / install / "rlt_ros"

    def run(self, prefix: Path, command: str) -> str:
        """Output of a shell command after sourcing an install tree, away from the checkout."""
        script = f". {prefix.parent / 'setup.bash'} >/dev/null 2>&1; {command}"
        env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        done = subprocess.run(["bash", "-c", script], cwd="/", env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Sources copied into a workspace."""
    return Workspace(tmp_path_factory.mktemp("ws"))


@pytest.fixture(scope="module", params=[(), ("--symlink-install",)], ids=["plain", "symlink"])
def prefix(workspace: Workspace, request: pytest.FixtureRequest) -> Path:
    """Prefix of the package after a build of that kind."""
    return workspace.build(f"install{len(request.param)}", *request.param)


def test_executables_are_those_of_the_list(prefix: Path) -> None:
    files = list((prefix / "lib" / "rlt_ros").iterdir())
    assert {file.name for file in files} == set(entry_points())
    assert all(os.access(file, os.X_OK) for file in files)


def test_share_has_launch_files_and_configuration(prefix: Path) -> None:
    share = prefix / "share"
    assert (share / "ament_index" / "resource_index" / "packages" / "rlt_ros").exists()
    for folder in ("launch", "config"):
        wanted = {path.name for path in (ROOT / folder).iterdir() if path.name != "__pycache__"}
        assert {path.name for path in (share / "rlt_ros" / folder).iterdir()} == wanted


def test_python_code_and_messages_come_from_the_install_tree(workspace: Workspace, prefix: Path) -> None:
    code = "import rlt_ros as r, rlt_ros.msg, rlt_ros.srv; print(r.__version__, r.__file__, r.msg.__file__)"
    version, package, messages = workspace.run(prefix, f'python3 -c "{code}"').split()
    assert version == "0.1.0"
    assert package.startswith(str(prefix))
    assert messages.startswith(str(prefix))
    installed = next(prefix.glob("lib/python3*/site-packages/rlt_ros"))
    assert {p.relative_to(PACKAGE) for p in PACKAGE.rglob("*.yaml")} <= {
        p.relative_to(installed) for p in installed.rglob("*.yaml")
    }


def test_an_executable_runs(workspace: Workspace, prefix: Path) -> None:
    assert "--preset" in workspace.run(prefix, f"{prefix}/lib/rlt_ros/stage1 --help")
