"""`rlt stage1 --config`: a run of one's own that can be stopped at any moment (field reports A17, A18)."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from stage1_example import episodes_of, observation

from rlt_ros.data.contract import read_contract
from rlt_ros.robot.config import load_robot
from rlt_ros.strict import ConfigError, load
from rlt_ros.token import cache_cli, stage1_cli
from rlt_ros.token.checkpoint import load_stage1, read_metrics
from rlt_ros.token.config import Stage1Config, Stage1File
from rlt_ros.token.extractor import FeatureExtractor
from rlt_ros.types import PROPRIO_NAMES

SHIPPED = Path(__file__).parents[2] / "config" / "stage1.yaml"
LEARN = {
    "demonstrations": 3,
    "validation": 0.34,
    "vla": {"width": 32, "layers": 1, "flow_layers": 1, "image_size": 32},
    "token": {"dim": 8, "width": 32, "layers": 1},
    "fit_vla": {"steps": 40, "batch": 8},
    "fit_token": {"steps": 40, "batch": 8},
}

LONG = {"steps": 3000, "batch": 8}
"""Some seconds."""


@pytest.fixture
def write(tmp_path):
    """Writes a configuration file for an output in its folder; values of `learn` and `run` are added."""

    def written(name="stage1", learn=None, run=None, **values):
        content = {"output": str(tmp_path / name), "learn": LEARN | (learn or {})} | values
        content["run"] = {"save_every": 10, "tensorboard": False} | (run or {})
        path = tmp_path / f"{name}.yaml"
        path.write_text(yaml.safe_dump(content))
        return str(path)

    return written


@pytest.fixture
def made_up(monkeypatch):
    """Made-up episodes in the place of simulated ones: what follows them is under test, and rendering takes seconds."""
    monkeypatch.setattr("rlt_ros.token.sources._simulated", lambda config, robot, seed, size: iter(episodes_of(6)))


def train(*arguments):
    return stage1_cli.main(list(map(str, arguments)))


def killed(file, line):
    """The command as a process of its own, killed outright when it prints a line that begins so."""
    command = [sys.executable, "-m", "rlt_ros", "stage1", "--config", file]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    seen = []
    for text in process.stdout:
        seen.append(text)
        if text.startswith(line):
            process.send_signal(signal.SIGKILL)
            break
    assert process.wait() == -signal.SIGKILL, "".join(seen)


def test_a_run_that_was_killed_ends_as_one_that_was_not(write, tmp_path, capsys):
    """Checkpoints and figures are the same to the last bit."""
    assert train("--config", write("whole")) == 0
    capsys.readouterr()
    file = write("cut")
    killed(file, "stage1: vla 40/40")
    assert not (tmp_path / "cut").exists()
    assert train("--config", file) == 1
    assert "cut.run has snapshots of a run: go on with it with --resume" in capsys.readouterr().err
    assert train("--config", file, "--resume") == 0
    assert "stage1: vla goes on at step " in capsys.readouterr().out
    whole, cut = (read_contract(tmp_path / name) for name in ("whole", "cut"))
    assert cut == whole
    figures = [read_metrics(tmp_path / name) for name in ("whole", "cut")]
    assert figures[0] == figures[1]
    assert (tmp_path / "cut.run" / "snapshots" / "token-000040").is_dir()


@pytest.mark.parametrize(
    ("line", "advice"),
    [
        ("stage1: demonstrations ", "nothing was written"),
        ("stage1: vla ", "--resume goes on from the snapshots in {folder}"),
    ],
)
@pytest.mark.parametrize(
    "signals", [[signal.SIGINT], [signal.SIGINT] * 3, [signal.SIGTERM]], ids=["one", "three", "term"]
)
def test_an_interruption_says_how_to_go_on(write, tmp_path, line, advice, signals):
    command = [sys.executable, "-m", "rlt_ros", "stage1", "--config", write(learn={"fit_vla": LONG})]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    for text in process.stdout:
        if text.startswith(line) and (line != "stage1: vla " or any(tmp_path.rglob("vla-*"))):
            break
    for number in signals:
        process.send_signal(number)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert errors == f"stage1: interrupted; {advice.format(folder=tmp_path / 'stage1.run')}\n"
    assert not (tmp_path / "stage1").exists()


@pytest.mark.usefixtures("made_up")
def test_going_on_with_another_recipe_is_refused_before_it_changes_anything(write, tmp_path, capsys):
    assert train("--config", write()) == 0
    (tmp_path / "stage1").rename(tmp_path / "kept")
    changed = {"token": LEARN["token"] | {"dim": 9}}
    assert train("--config", write(learn=changed), "--resume") == 1
    assert "recipe.learn.token.dim: 9 here, 8 there" in capsys.readouterr().err
    assert not (tmp_path / "stage1").exists()


def test_an_existing_output_is_refused_at_once(write, tmp_path, capsys):
    (tmp_path / "stage1").mkdir()
    assert train("--config", write()) == 1
    assert f"{tmp_path / 'stage1'} exists already" in capsys.readouterr().err


def test_nothing_to_resume_is_an_error(write, capsys):
    assert train("--config", write(), "--resume") == 1
    assert "there is nothing to resume" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("learn", "message"),
    [
        ({"tokens": {}}, "unknown key 'tokens'"),
        ({"token": {"dim": 8, "dims": 8}}, "unknown key 'dims'"),
        ({"objective": "both"}, "objective is 'both'; known are sequential, joint, frozen"),
        ({"objective": "frozen"}, "vla_from is empty"),
        ({"dataset": {"mapping": "m"}}, "dataset.mapping is 'm' and dataset.path is empty"),
        ({"state_indices": [0, 19]}, "state_indices: 19; the state has entries 0 to 18"),
        ({"state_indices": [3, 3]}, "state_indices"),
        ({"validation": 0.9}, "validation is 0.9"),
        ({"fit_token": {"steps": 10, "batch": "many"}}, "batch: expected int, found 'many'"),
    ],
)
def test_a_wrong_file_is_told_before_anything_is_done(write, tmp_path, capsys, learn, message):
    assert train("--config", write(learn=learn)) == 1
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["stage1.yaml"]


def test_options_of_presets_are_refused_beside_a_file(write, capsys):
    assert train("--config", write(), "--task", "yaw_mark") == 1
    assert "--task has no effect with --config" in capsys.readouterr().err
    assert train("--preset", "smoke", "--resume") == 1
    assert "--resume needs --config" in capsys.readouterr().err


def test_the_shipped_file_is_sound():
    file = load(Stage1File, SHIPPED)
    assert file.learn.validation > 0 and file.run.save_every > 0
    default = Stage1Config()
    assert (file.learn.token, file.learn.fit_vla, file.learn.fit_token) == (
        default.token,
        default.fit_vla,
        default.fit_token,
    )


@pytest.mark.usefixtures("made_up")
def test_embeddings_are_kept_and_those_of_another_vla_refused_and_made_anew(write, tmp_path, capsys):
    """A frozen VLA, its embeddings on disk: stale ones are refused, `rlt cache` makes them anew."""
    for name, seed in (("first", 0), ("second", 1)):
        assert train("--config", write(name, seed=seed)) == 0
    kept = {"embeddings": str(tmp_path / "kept")}

    def frozen(name, vla, run=kept):
        return write(name, {"objective": "frozen", "vla_from": str(tmp_path / vla)}, run)

    assert train("--config", frozen("a", "first")) == 0
    before = (tmp_path / "kept" / "tokens-00000.safetensors").stat().st_mtime_ns
    assert train("--config", frozen("b", "first")) == 0
    assert (tmp_path / "kept" / "tokens-00000.safetensors").stat().st_mtime_ns == before
    assert train("--config", frozen("in_memory", "first", {})) == 0
    assert len({read_contract(tmp_path / name).token for name in ("a", "b", "in_memory")}) == 1
    assert len({read_contract(tmp_path / name).vla for name in ("first", "a", "b", "in_memory")}) == 1
    capsys.readouterr()
    assert train("--config", frozen("c", "second")) == 1
    assert "kept: vla (`rlt cache` makes it anew)" in capsys.readouterr().err
    assert cache_cli.main(["--config", frozen("c", "second")]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("cache: ")
    assert train("--config", frozen("c", "second")) == 0


def test_embeddings_that_cannot_match_are_refused_before_the_vla_is_trained(write, tmp_path, capsys):
    (tmp_path / "kept").mkdir()
    assert train("--config", write(run={"embeddings": str(tmp_path / "kept")})) == 1
    told = capsys.readouterr()
    assert "token embeddings are there already" in told.err and "vla" not in told.out


@pytest.mark.usefixtures("made_up")
def test_a_frozen_vla_comes_out_as_it_went_in_and_an_untrained_token_beside_it(write, tmp_path):
    assert train("--config", write("first")) == 0
    file = write("untrained", {"objective": "frozen", "vla_from": str(tmp_path / "first")})
    assert train("--config", file, "--token", "untrained") == 0
    first, untrained = (load_stage1(tmp_path / name) for name in ("first", "untrained"))
    assert untrained.contract.vla == first.contract.vla and untrained.norm.hash == first.norm.hash
    assert untrained.contract.token != first.contract.token
    metrics = read_metrics(tmp_path / "untrained")
    assert "rlt_loss" not in metrics and "vla_loss" not in metrics
    seen = [FeatureExtractor(stage1, seed=0).features([observation()])[0] for stage1 in (first, untrained)]
    np.testing.assert_array_equal(seen[0].reference, seen[1].reference)
    assert np.abs(seen[1].z).max() < 30.0


@pytest.mark.usefixtures("made_up")
def test_some_entries_of_the_state_only(write, tmp_path):
    """RLinf's state_indices: VLA, statistics, contract and features all know of the others nothing."""
    assert train("--config", write(learn={"state_indices": [0, 1, 2, 18], "fit_vla": {"steps": 2, "batch": 4}})) == 0
    stage1 = load_stage1(tmp_path / "stage1")
    names = tuple(PROPRIO_NAMES[i] for i in (0, 1, 2, 18))
    assert stage1.contract.proprio_names == stage1.norm.names == names and stage1.vla.proprio_dim == 4
    stage1.contract.check_robot(load_robot())
    extractor, seen = FeatureExtractor(stage1, seed=0), observation()
    got = extractor.features([seen])[0]
    assert got.proprio.shape == (4,)
    np.testing.assert_array_equal(got.proprio, stage1.norm.normalise(seen.proprio[[0, 1, 2, 18]]))
    changed = observation(proprio=np.where(np.isin(np.arange(19), (0, 1, 2, 18)), seen.proprio, 9.0).astype(np.float32))
    np.testing.assert_array_equal(extractor.features([changed])[0].z, got.z)


def test_a_wrong_name_in_a_vla_file_is_told(write, tmp_path, capsys):
    (tmp_path / "vla.yaml").write_text("backend: pi7\n")
    assert train("--config", write(learn={"objective": "frozen", "vla_from": str(tmp_path / "vla.yaml")})) == 1
    assert "'pi7'; known are " in capsys.readouterr().err


def test_cache_says_what_it_lacks(write, capsys):
    assert cache_cli.main(["--config", write()]) == 1
    assert "learn.vla_from is empty" in capsys.readouterr().err
    assert cache_cli.main(["--config", write(), "--vla-from", "somewhere"]) == 1
    assert "run.embeddings is empty" in capsys.readouterr().err


def test_an_unreadable_file_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="cannot be read"):
        load(Stage1File, tmp_path / "none.yaml")


def test_a_dataset_of_the_command_line_takes_the_place_of_the_files(write, tmp_path, capsys):
    assert train("--config", write(), "--dataset", tmp_path / "nowhere") == 1
    assert f"{tmp_path / 'nowhere'}: not a LeRobot dataset" in capsys.readouterr().err
    assert train("--dataset", tmp_path) == 1
    assert "--dataset needs --config" in capsys.readouterr().err
