"""Two processes of one training, as torchrun starts them and `accelerate` joins them; real ones, on the processor."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file
from small_objective import FIT, Line, weights

from rlt_ros.token.checkpoint import load_stage1, read_metrics
from rlt_ros.token.fit import fit
from rlt_ros.token.processes import Single, current

pytest.importorskip("accelerate")
HERE, ROOT = Path(__file__).parent, Path(__file__).parents[2]
TINY = {"width": 32, "layers": 1, "flow_layers": 1, "image_size": 32}


def launched(*arguments):
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{HERE}", "OMP_NUM_THREADS": "1"}
    command = [*launcher, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("two")
    (path / "output").write_text(launched(HERE / "two_processes.py", path))
    return path


def result(folder, name, rank):
    told = json.loads((folder / f"{name}-rank{rank}.json").read_text())
    return load_file(folder / f"{name}-rank{rank}.safetensors"), told


def same(a, b):
    return all(torch.equal(b[name], tensor) for name, tensor in a.items())


@pytest.mark.parametrize("name", ["quiet", "whole", "resumed"])
def test_both_hold_the_same_weights_and_say_the_same_losses(folder, name):
    (a, told), (b, other) = (result(folder, name, rank) for rank in (0, 1))
    assert same(a, b)
    assert told["metrics"] == other["metrics"]


def test_each_sees_its_share_of_the_batch_and_together_they_see_all(folder):
    alone = Line(noise=0.0, dropout=0.0)
    fit(alone, FIT, torch.arange(50), 3)
    shares = [result(folder, "quiet", rank)[1]["seen"] for rank in (0, 1)]
    for batch, first, second in zip(alone.seen, *shares):
        assert first == batch[::2].tolist() and second == batch[1::2].tolist()


def test_gradients_are_means_so_two_learn_what_one_learns(folder):
    alone = Line(noise=0.0, dropout=0.0)
    metrics = fit(alone, FIT, torch.arange(50), 3)
    found, told = result(folder, "quiet", 0)
    torch.testing.assert_close(found, weights(alone))
    assert told["metrics"]["loss"] == pytest.approx(metrics["loss"], rel=1e-5)


def test_their_noise_differs(folder):
    """Otherwise two processes would learn from half as many noise samples."""
    noisy, quiet = result(folder, "whole", 0)[0], result(folder, "quiet", 0)[0]
    assert not same(noisy, quiet)
    first, second = (result(folder, "whole", rank)[1]["drawn"] for rank in (0, 1))
    assert len(first) == len(second) == FIT.steps
    assert all(a != b for a, b in zip(first, second))


def test_both_go_on_bit_for_bit(folder):
    assert same(result(folder, "whole", 0)[0], result(folder, "resumed", 0)[0])
    assert result(folder, "whole", 0)[1]["metrics"] == result(folder, "resumed", 1)[1]["metrics"]


def test_only_the_first_one_speaks(folder):
    lines = (folder / "output").read_text().splitlines()
    assert sum(line.startswith("stage1: line 40/40") for line in lines) == 3
    assert lines.count("stage1: line goes on at step 20") == 1


def test_a_whole_stage_1_of_two_processes(tmp_path):
    content = {
        "output": str(tmp_path / "stage1"),
        "learn": {
            "demonstrations": 3,
            "objective": "joint",
            "validation": 0.34,
            "vla": TINY,
            "token": {"dim": 8, "width": 32, "layers": 1},
            "fit_vla": {"steps": 6, "batch": 8},
            "fit_token": {"steps": 6, "batch": 8},
        },
        "run": {"embeddings": str(tmp_path / "embeddings")},
    }
    (tmp_path / "stage1.yaml").write_text(yaml.safe_dump(content))
    output = launched("-m", "rlt_ros.token.stage1_cli", "--config", tmp_path / "stage1.yaml")
    assert output.splitlines().count(f"stage1: checkpoint at {tmp_path / 'stage1'}") == 1
    load_stage1(tmp_path / "stage1")
    assert {"vla_loss", "rlt_loss", "val_vla_loss", "z_alone"} <= set(read_metrics(tmp_path / "stage1"))


def test_without_accelerate_one_process_works_and_two_name_the_extra(monkeypatch):
    for mark in ("WORLD_SIZE", "ACCELERATE_MIXED_PRECISION"):
        monkeypatch.delenv(mark, raising=False)
    monkeypatch.setitem(sys.modules, "accelerate", None)
    assert type(current()) is Single
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(ImportError, match=r"accelerate is missing: pip install 'rlt_ros\[gpus\]'"):
        current()


def test_the_shipped_file_is_one_that_accelerate_reads():
    from accelerate.commands.config.config_args import load_config_from_file

    config = load_config_from_file(str(ROOT / "config" / "accelerate.yaml"))
    assert config.num_processes == 2 and config.mixed_precision == "bf16" and config.distributed_type == "MULTI_GPU"
