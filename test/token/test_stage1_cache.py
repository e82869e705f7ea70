"""Where Stage 1 is cached, and the command around it (field reports A17, C16)."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from stage1_example import small_stage1

import rlt_ros
from rlt_ros.robot.config import DEFAULT
from rlt_ros.sim.tasks import TASKS
from rlt_ros.token import stage1_cli
from rlt_ros.token.cache import UNCONCERNED, _code, cached_stage1, recipe_hash, source_files
from rlt_ros.token.checkpoint import load_stage1, save_stage1
from rlt_ros.token.lock import locked

ROOT = Path(rlt_ros.__file__).parent


def test_the_path_follows_from_what_goes_in(tmp_path, monkeypatch):
    monkeypatch.setenv("RLT_CACHE_DIR", str(tmp_path))
    path = cached_stage1("demo", 0)
    assert path == cached_stage1("demo", 0) and path.parent == tmp_path / "stage1"
    assert path.name.startswith("demo-peg-")
    other_task = cached_stage1("demo", 0, task="yaw_mark")
    assert other_task.name.startswith("demo-yaw_mark-")
    assert len({path, cached_stage1("demo", 1), cached_stage1("smoke", 0), other_task}) == 4


def test_what_a_task_consists_of_counts_for_that_task_only(monkeypatch):
    before = {task: cached_stage1("demo", 0, task=task) for task in TASKS}
    milder = replace(TASKS["yaw_mark"].demonstrator, mark_error=0.001)
    monkeypatch.setitem(TASKS, "yaw_mark", replace(TASKS["yaw_mark"], demonstrator=milder))
    after = {task: cached_stage1("demo", 0, task=task) for task in TASKS}
    assert {task for task in TASKS if before[task] != after[task]} == {"yaw_mark"}


def test_an_unknown_task_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="task is 'plug'; known are peg, yaw_mark, connector"):
        cached_stage1("demo", 0, task="plug")


def test_another_robot_has_another_cache(tmp_path):
    values = yaml.safe_load(DEFAULT.read_text())
    values["action_scale"]["translation"] = 0.01
    (tmp_path / "robot.yaml").write_text(yaml.safe_dump(values))
    assert cached_stage1("demo", 0, str(tmp_path / "robot.yaml")) != cached_stage1("demo", 0)
    assert cached_stage1("demo", 0, str(DEFAULT)) == cached_stage1("demo", 0)


@pytest.mark.parametrize(
    ("environment", "root"),
    [
        ({"RLT_CACHE_DIR": "/a", "XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/a"),
        ({"XDG_CACHE_HOME": "/b", "HOME": "/c"}, "/b/rlt_ros"),
        ({"HOME": "/c"}, "/c/.cache/rlt_ros"),
    ],
)
def test_the_cache_lies_where_the_environment_says(monkeypatch, environment, root):
    for name in ("RLT_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert str(cached_stage1("demo", 0)).startswith(f"{root}/stage1/demo-")


def test_comments_and_docstrings_do_not_count_but_code_does():
    a = _code('"""Doc."""\n\n\ndef f(x):\n    """Doc."""\n    return x + 1  # why\n')
    assert a == _code("def f(x):\n    return x + 1\n")
    assert a != _code("def f(x):\n    return x + 2\n")


def test_every_file_that_decides_the_result_is_hashed():
    listed = {path.relative_to(ROOT).as_posix() for path in source_files(ROOT)}
    script = (
        "import sys, rlt_ros.token.stage1, pathlib\n"
        "print('\\n'.join(m.__file__ for n, m in sys.modules.items() if n.startswith('rlt_ros.') and m.__file__))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    used = {Path(line).relative_to(ROOT).as_posix() for line in out.split()}
    assert used - listed - set(UNCONCERNED) == {"strict.py", "tensor.py"}


def test_the_path_needs_no_torch():
    script = (
        "import sys\nsys.modules['torch'] = sys.modules['mujoco'] = sys.modules['rclpy'] = None\n"
        "from rlt_ros.token.cache import cached_stage1\nprint(cached_stage1('demo', 0))"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.strip() == str(cached_stage1("demo", 0))


def test_missing_torch_names_the_extra():
    script = "import sys\nsys.modules['torch'] = None\nimport rlt_ros.token.model"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert "torch is missing: pip install 'rlt_ros[learn]'" in result.stderr


def test_a_cached_checkpoint_is_used_at_once(tmp_path, capsys):
    path = cached_stage1("smoke", 3, root=tmp_path)
    save_stage1(path, small_stage1(), {"recipe": recipe_hash("smoke", 3)})
    assert stage1_cli.main(["--preset", "smoke", "--seed", "3", "--cache", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"stage1: checkpoint at {path}\n"


def test_a_checkpoint_of_another_recipe_is_not_taken_for_this_one(tmp_path, capsys):
    save_stage1(tmp_path / "mine", small_stage1(), {"recipe": recipe_hash("smoke", 3)})
    assert stage1_cli.main(["--preset", "smoke", "--seed", "4", "--output", str(tmp_path / "mine")]) == 1
    error = capsys.readouterr().err
    assert str(tmp_path / "mine") in error and recipe_hash("smoke", 3) in error and recipe_hash("smoke", 4) in error


def test_an_existing_directory_that_is_no_checkpoint_is_left_alone(tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("ten years")
    assert stage1_cli.main(["--preset", "smoke", "--output", str(tmp_path / "mine")]) == 1
    assert str(tmp_path / "mine" / "config.json") in capsys.readouterr().err
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "ten years"


def test_the_second_waits_for_the_first(tmp_path):
    path, lines = tmp_path / "stage1", []
    script = (
        "import sys; from pathlib import Path; from rlt_ros.token.lock import locked\n"
        "with locked(Path(sys.argv[1]), print):\n    print('held', flush=True)\n    sys.stdin.read()\n    print('done')"
    )
    first = subprocess.Popen(
        [sys.executable, "-c", script, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert first.stdout.readline() == "held\n"

    def waiting(line):
        lines.append(line)
        first.stdin.close()

    with locked(path, waiting):
        assert first.stdout.read() == "done\n"
    assert first.wait() == 0
    assert lines == [f"stage1: another process trains {path}; waiting for it"]


def test_ctrl_c_leaves_nothing_behind(tmp_path):
    command = [sys.executable, "-m", "rlt_ros.token.stage1_cli", "--preset", "smoke", "--output", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout.readline().startswith("stage1: demonstrations ")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert errors == "stage1: interrupted; nothing was written\n"
    assert [path.name for path in tmp_path.iterdir()] == [".out.lock"]


def test_a_random_encoder_on_the_vla_of_a_checkpoint(tmp_path, capsys):
    """What Stage 2 with z is compared with: everything else is the same, and the cache keeps the two apart."""
    save_stage1(tmp_path / "trained", small_stage1(), {})
    made = ["--preset", "smoke", "--token", "untrained", "--cache", str(tmp_path)]
    made += ["--vla-from", str(tmp_path / "trained")]
    assert stage1_cli.main(made) == 0
    (path,) = (tmp_path / "stage1").glob("smoke-peg-*[0-9a-f]")
    trained, untrained = load_stage1(tmp_path / "trained"), load_stage1(path)
    assert untrained.contract.vla == trained.contract.vla and untrained.contract.norm_hash == trained.contract.norm_hash
    assert untrained.contract.token != trained.contract.token
    assert path != cached_stage1("smoke", 0, root=tmp_path)
    capsys.readouterr()
    assert stage1_cli.main(made) == 0
    assert capsys.readouterr().out == f"stage1: checkpoint at {path}\n"
