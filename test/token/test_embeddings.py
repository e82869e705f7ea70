"""Token embeddings on disk: whole or absent, and only for what they were made from (method.md C.6 no. 47)."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from stage1_example import CONFIG, episodes_of, small_stage1

from rlt_ros.data.contract import ContractMismatch
from rlt_ros.token import embeddings as module
from rlt_ros.token.corpus import Corpus
from rlt_ros.token.embeddings import (
    EmbeddingsError,
    OnDisk,
    check,
    embedding_identity,
    in_memory,
    passes,
    rewrite,
    write,
)
from rlt_ros.vla.contract import VLAUnavailable

PROMPT = CONFIG.instruction


@pytest.fixture(scope="module")
def vla():
    return small_stage1().vla


@pytest.fixture(scope="module")
def corpus(vla):
    return Corpus.of(episodes_of(5, length=30), CONFIG, vla, seed=0)


@pytest.fixture
def stored(tmp_path, vla, corpus, monkeypatch):
    monkeypatch.setattr(module, "FILE_BYTES", 40 * 13 * 32 * 4)
    identity = embedding_identity(vla, corpus, PROMPT, "float32")
    write(tmp_path / "cache", identity, passes(vla, corpus, PROMPT))
    return tmp_path / "cache", identity


def test_what_is_stored_is_what_the_vla_gives(stored, vla, corpus):
    path, identity = stored
    check(path, identity)
    memory, disk = in_memory(vla, passes(vla, corpus, PROMPT), PROMPT), OnDisk(path)
    assert len(disk) == len(memory) == 150 and disk.kinds == memory.kinds
    assert len(list(path.glob("tokens-*.safetensors"))) == 4
    rows = torch.randperm(150, generator=torch.Generator().manual_seed(0))
    for found, wanted in zip(disk.of(rows), memory.of(rows)):
        assert torch.equal(found, wanted) and found.dtype == wanted.dtype


class Flaky:
    """A VLA on another machine that is away for some calls of every few."""

    def __init__(self, vla, away):
        self._vla, self._away, self.calls = vla, away, 0

    def infer(self, batch, seeds):
        self.calls += 1
        if self.calls % 5 < self._away:
            raise VLAUnavailable("ws://gpu: gone")
        return self._vla.infer(batch, seeds)


def test_an_outage_of_a_server_does_not_cost_the_passes_before_it(vla, corpus, monkeypatch):
    monkeypatch.setattr(module, "AGAIN", 0.0)
    monkeypatch.setattr(module, "BATCH", 16)
    flaky = Flaky(vla, away=3)
    want, got = ([part[0] for part in passes(each, corpus, PROMPT)] for each in (vla, flaky))
    assert flaky.calls > len(want) and all(torch.equal(a, b) for a, b in zip(want, got, strict=True))


def test_a_server_that_stays_away_is_given_up(vla, corpus, monkeypatch):
    monkeypatch.setattr(module, "AGAIN", 0.0)
    monkeypatch.setattr(module, "PATIENCE", 0.05)
    with pytest.raises(VLAUnavailable, match="gone"):
        list(passes(Flaky(vla, away=5), corpus, PROMPT))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_half_the_size_and_comes_back_as_float32(tmp_path, vla, corpus, dtype):
    write(tmp_path / "half", embedding_identity(vla, corpus, PROMPT, dtype), passes(vla, corpus, PROMPT))
    write(tmp_path / "whole", embedding_identity(vla, corpus, PROMPT, "float32"), passes(vla, corpus, PROMPT))
    sizes = [sum(f.stat().st_size for f in (tmp_path / name).iterdir()) for name in ("half", "whole")]
    assert sizes[0] < 0.6 * sizes[1]
    rows = torch.arange(150)
    found, wanted = OnDisk(tmp_path / "half").of(rows)[0], OnDisk(tmp_path / "whole").of(rows)[0]
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, wanted, rtol=0.01, atol=0.02)


def other_weights(vla, corpus):
    return embedding_identity(small_stage1(seed=1).vla, corpus, PROMPT, "float32")


def other_prompt(vla, corpus):
    return embedding_identity(vla, corpus, "push the peg", "float32")


def other_statistics(vla, corpus):
    changed = replace(corpus, norm=replace(corpus.norm, std=corpus.norm.std * 2))
    return embedding_identity(vla, changed, PROMPT, "float32")


def other_frames(vla, corpus):
    images = {name: pictures.copy() for name, pictures in corpus.frames.images.items()}
    images["wrist"][17, 3, 3, 0] ^= 1
    changed = replace(corpus, frames=replace(corpus.frames, images=images))
    return embedding_identity(vla, changed, PROMPT, "float32")


def other_cameras(vla, corpus):
    return embedding_identity(vla, corpus, PROMPT, "float32") | {"cameras": ["wrist", "front"]}


@pytest.mark.parametrize(
    ("other", "field"),
    [
        (other_weights, "vla"),
        (other_prompt, "instruction"),
        (other_statistics, "norm_hash"),
        (other_frames, "data"),
        (other_cameras, "cameras"),
    ],
)
def test_those_of_something_else_are_refused_with_both_values(stored, vla, corpus, other, field):
    path, identity = stored
    changed = other(vla, corpus)
    with pytest.raises(ContractMismatch) as caught:
        check(path, changed)
    for part in (str(path), field, "rlt cache", repr(changed[field]), repr(identity[field])):
        assert part in str(caught.value)


def test_an_interrupted_write_leaves_nothing(tmp_path, vla, corpus):
    def cut():
        yield next(passes(vla, corpus, PROMPT))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "cache", embedding_identity(vla, corpus, PROMPT, "float32"), cut())
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_rewrite_leaves_the_old_ones(stored, vla, corpus):
    path, identity = stored

    def cut():
        yield next(passes(vla, corpus, PROMPT))
        raise OSError(28, "No space left on device")

    with pytest.raises(EmbeddingsError, match="is not written: .*No space left"):
        rewrite(path, identity, cut())
    assert [item.name for item in path.parent.iterdir()] == ["cache"]
    assert len(OnDisk(path)) == 150


def test_a_rewrite_takes_the_place_of_stale_ones_only(stored, vla, corpus, tmp_path):
    path, _ = stored
    identity = other_weights(vla, corpus)
    rewrite(path, identity, passes(small_stage1(seed=1).vla, corpus, PROMPT))
    check(path, identity)
    (tmp_path / "thesis").mkdir()
    with pytest.raises(EmbeddingsError, match="thesis: not a directory of token embeddings"):
        rewrite(tmp_path / "thesis", identity, passes(vla, corpus, PROMPT))


def test_damaged_ones_are_named(stored):
    path, _ = stored
    (path / "tokens-00003.safetensors").unlink()
    with pytest.raises(EmbeddingsError, match="cache: 120 frames in its files; identity.json says 150"):
        OnDisk(path)
    (path / "tokens-00000.safetensors").write_bytes(b"torn")
    with pytest.raises(EmbeddingsError, match="cache: cannot be read"):
        OnDisk(path)
    content = json.loads((path / "identity.json").read_text())
    del content["kinds"]
    (path / "identity.json").write_text(json.dumps(content))
    with pytest.raises(EmbeddingsError, match="missing key 'kinds'"):
        OnDisk(path)


def test_the_hash_of_the_frames_does_not_depend_on_how_arrays_lie_in_memory(corpus):
    turned = {name: np.asfortranarray(pictures) for name, pictures in corpus.frames.images.items()}
    assert replace(corpus, frames=replace(corpus.frames, images=turned)).identity == corpus.identity
