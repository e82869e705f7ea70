"""LeRobot's policies as VLA backends: small, randomly initialised, of the real classes (field reports B13, B15, B19).

Runs where the package is; `test_lerobot_elsewhere.py` runs it with another Python.
"""

import json
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

pytest.importorskip("lerobot.policies", reason="lerobot is not installed: set RLT_LEROBOT_PYTHON")
from lerobot.policies.factory import get_policy_class
from lerobot_policies import KINDS, WIDTH, make_policy, small_sizes
from lerobot_reference import ABOUT, REFERENCE, answers
from safetensors.torch import load_file, save_file
from vla_conformance import (
    CHECKS,
    TOLERANCE,
    TRAINING_CHECKS,
    chunks,
    example,
    padding_has_no_influence,
    what_is_saved_is_loaded,
)

from rlt_ros.strict import ConfigError
from rlt_ros.types import PROPRIO_NAMES
from rlt_ros.vla.backends import load_vla, save_vla
from rlt_ros.vla.contract import TokenKind, VLAInput
from rlt_ros.vla.lerobot.prefix import captured
from rlt_ros.vla.remote.pictures import encode
from rlt_ros.vla.remote.service import Service
from rlt_ros.vla.remote.wire import array, pack, unpack
from rlt_ros.vla.weights import CheckpointError

IMAGES = "observation.images."


@pytest.fixture(scope="module", autouse=True)
def small():
    torch.set_num_threads(1)
    with small_sizes():
        yield


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    root = tmp_path_factory.mktemp("policies")
    return {kind: make_policy(kind, root / kind / "policy") for kind in KINDS}


def load(path, **settings):
    return load_vla({"backend": "lerobot", "path": str(path)} | settings, Path("/nowhere"), "test")


@pytest.fixture(scope="module")
def vlas(paths):
    return {kind: load(path) for kind, path in paths.items()}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.mark.parametrize("check", CHECKS + TRAINING_CHECKS, ids=lambda check: check.__name__)
def test_conformance(vlas, kind, check):
    check(vlas[kind])


def test_saved_and_loaded(vlas, kind, tmp_path):
    what_is_saved_is_loaded(vlas[kind], tmp_path)
    assert not list(tmp_path.iterdir()), "an unchanged policy stays where it is"


def official(vla, batch, noise, row):
    """What LeRobot's own code proposes for one observation, processors and all."""
    loaded = vla._loaded
    raw = {k: torch.from_numpy(batch.images[n][row]).permute(2, 0, 1) / 255.0 for n, k in loaded.cameras.items()}
    raw |= {"observation.state": torch.from_numpy(batch.state[row]), "task": batch.instruction}
    chunk = loaded.policy.predict_action_chunk(loaded.before(raw), noise=noise[row : row + 1])
    return torch.stack([loaded.after(chunk[:, i])[0] for i in range(chunk.shape[1])])


def test_the_reference_is_what_lerobots_own_code_proposes(vlas, kind):
    vla = vlas[kind]
    batch, seeds = example(vla, 2), [3, 4]
    draws = [torch.randn(12, 8, generator=torch.Generator().manual_seed(seed)) for seed in seeds]
    got = vla.infer(batch, seeds).reference
    for row in range(2):
        want = official(vla, batch, torch.stack(draws), row)
        assert want.shape == (12, 7) and want.std() > 0.01
        torch.testing.assert_close(got[row], want, **TOLERANCE)


def test_tokens_are_the_prefix_after_the_final_norm(vlas, kind):
    """Against a prefill of its own; before the norm, or before the transformer, they would be others (C.6, 45)."""
    vla, batch = vlas[kind], example(vlas[kind], 2)
    out = vla.infer(batch, [1, 2])
    ready, model = vla._prepared(batch), vla.policy.model
    before_norm = []
    hook = vla._norm[0].register_forward_pre_hook(lambda _m, inputs: before_norm.append(inputs[0].detach()))
    with torch.no_grad():
        vla.policy.predict_action_chunk(ready)
        normed = vla._norm[0](before_norm[0])
    hook.remove()
    normed = normed[0] if isinstance(normed, tuple) else normed
    torch.testing.assert_close(out.tokens, normed.float(), **TOLERANCE)
    assert len(before_norm) == 2 and not torch.allclose(before_norm[0][out.mask], out.tokens[out.mask], atol=0.1)
    assert not hasattr(model, "__dict__") or "embed_prefix" not in vars(model), "the policy is as it was"


def test_one_pass_looks_at_every_image_once(vlas, kind):
    vla = vlas[kind]
    model = vla.policy.model
    vision = (
        model.vlm_with_expert.get_vlm_model().vision_model
        if kind == "smolvla"
        else model.paligemma_with_expert.paligemma.model.vision_tower
    )
    seen = []
    hook = vision.register_forward_hook(lambda *_: seen.append(1))
    vla.infer(example(vla, 2), [1, 2])
    hook.remove()
    assert len(seen) == len(vla.cameras)


def test_a_second_prefill_would_be_noticed(vlas, kind):
    vla = vlas[kind]
    ready = vla._prepared(example(vla, 1))
    with captured(vla.policy, vla._norm[0]) as prefix:
        for _ in range(2):
            vla.policy.predict_action_chunk(ready)
    with pytest.raises(RuntimeError, match="prefix computed 2 times"):
        prefix.take()


def words(vla, ready, row, kind):
    """Text of a batch's prompt tokens of a kind."""
    first = vla._image_tokens
    ids, mask = ready["observation.language.tokens"][row], ready["observation.language.attention_mask"][row]
    kinds = vla.token_kinds("insert the peg")[first : first + len(ids)]
    return vla._prompts._step.input_tokenizer.decode(
        [i for i, k, m in zip(ids.tolist(), kinds, mask) if k == kind and m]
    )


def test_the_instruction_is_told_from_the_state_in_the_prompt(vlas):
    vla = vlas["pi05"]
    ready = vla._prepared(example(vla, 2))
    for row in range(2):
        assert words(vla, ready, row, TokenKind.INSTRUCTION).strip() == "Task: insert the peg, State:"
        digits, end = words(vla, ready, row, TokenKind.STATE).split(";")
        assert len(digits.split()) == 19 and all(0 <= int(n) <= 255 for n in digits.split()) and "Action" in end


def test_where_the_state_is(vlas):
    counts = {kind: vla.token_kinds("insert the peg").count(TokenKind.STATE) for kind, vla in vlas.items()}
    assert counts["pi0"] == 0 and counts["smolvla"] == 1 and counts["pi05"] > 19


def test_the_policys_own_statistics_normalise(vlas, kind):
    vla, batch = vlas[kind], example(vlas[kind], 1)
    mean = torch.linspace(0.5, 1.5, 19).numpy() * 0.2
    ready = vla._prepared(VLAInput(batch.images, batch.proprio, batch.instruction, mean[None].astype(np.float32)))
    if kind == "pi05":
        digits = words(vla, ready, 0, TokenKind.STATE).split(";")[0].split()
        assert {int(n) for n in digits} <= {127, 128}, "the mean is the middle"
    else:
        torch.testing.assert_close(ready["observation.state"], torch.zeros(1, 19), atol=1e-5, rtol=0)


def test_what_the_normalised_state_of_the_checkpoint_says_does_not_matter(vlas, kind):
    vla, batch = vlas[kind], example(vlas[kind], 1)
    other = VLAInput(batch.images, batch.proprio * 2, batch.instruction, batch.state)
    assert torch.equal(vla.infer(batch, [1]).reference, vla.infer(other, [1]).reference)
    with pytest.raises(ValueError, match="state: missing"):
        vla.infer(VLAInput(batch.images, batch.proprio, batch.instruction), [1])


@contextmanager
def other_padding(vla):
    """Another embedding of the padding token."""
    embedding = next(m for m in vla.policy.modules() if isinstance(m, torch.nn.Embedding) and m.weight.shape[0] > 200)
    row = embedding.weight[0].clone()
    with torch.no_grad():
        embedding.weight[0] = 5.0
    try:
        yield
    finally:
        with torch.no_grad():
            embedding.weight[0] = row


def test_what_stands_in_padding_has_no_influence(vlas, kind, tmp_path):
    vla = vlas[kind]
    if kind == "smolvla":  # pads only where it is told to
        path = make_policy(kind, tmp_path / "policy", pad_language_to="max_length", prefix_length=64)
        vla = load(path)
        assert len(vla.infer(example(vla, 1), [1]).kinds) == 64
    padding_has_no_influence(vla, lambda: other_padding(vla))


@pytest.mark.parametrize("kind", ["pi0", "pi05"])
def test_fewer_images_are_fewer_tokens_and_the_same_as_masked_ones(vlas, paths, kind):
    whole = vlas[kind]
    two = load(paths[kind], cameras={"front": f"{IMAGES}front", "hand": f"{IMAGES}wrist"})
    assert two.cameras == ("front", "hand")
    batch = example(two, 1)
    got = two.infer(batch, [1])
    raw = {f"{IMAGES}front": batch.images["front"], f"{IMAGES}wrist": batch.images["hand"]}
    raw = {key: torch.from_numpy(image).permute(0, 3, 1, 2) / 255.0 for key, image in raw.items()}
    raw |= {"observation.state": torch.from_numpy(batch.state), "task": [batch.instruction]}
    noise = torch.randn(12, 8, generator=torch.Generator().manual_seed(1))[None]
    want = whole._loaded.after(whole.policy.predict_action_chunk(whole._loaded.before(raw), noise=noise))
    torch.testing.assert_close(got.reference, want, **TOLERANCE)
    assert len(got.kinds) == len(whole.token_kinds(batch.instruction)) - whole._image_tokens // 3


def test_settings_choose_state_horizon_and_scale(paths, kind):
    plain, changed = load(paths[kind]), load(paths[kind], horizon=5, action_scale=[0.5] * 7)
    batch = example(plain, 1)
    want, got = (vla.infer(batch, [1]).reference for vla in (plain, changed))
    torch.testing.assert_close(got, want[:, :5] / 0.5)
    assert changed.identity != plain.identity
    loss = changed.loss(batch, *chunks(changed, 1), torch.Generator().manual_seed(1))
    assert torch.isfinite(loss.vla_loss)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cameras": {"front": "observation.images.top"}}, r"cameras.front: 'observation.images.top'; the policy has"),
        ({"state": ["x", "y"]}, "state: 2 values; the policy takes 19"),
        ({"state": ["elbow"]}, "state: 'elbow'; known are gripper_width"),
        ({"horizon": 13}, "horizon: 13; the policy's chunk has 12"),
        ({"action_scale": [1.0]}, "action_scale: 1 values; the policy has 7"),
        ({"precision": "int4"}, "precision is 'int4'"),
        ({"fast": True}, "unknown key 'fast'"),
    ],
)
def test_settings_that_do_not_fit_are_refused_with_both_values(paths, settings, message):
    with pytest.raises(ConfigError, match=message):
        load(paths["pi0"], **settings)


def test_a_policy_may_take_a_part_of_the_state_in_its_own_order(tmp_path):
    names = ("z", "gripper_width")
    path = make_policy("smolvla", tmp_path / "policy", state=len(names))
    whole, part = load(path, state=names), load(path, proprio=names[::-1], state=names)
    batch = example(whole, 1)
    picked = batch.state[:, [PROPRIO_NAMES.index(name) for name in names[::-1]]]
    got = part.infer(VLAInput(batch.images, picked, batch.instruction, picked), [1])
    assert part.proprio_dim == 2 and torch.equal(got.reference, whole.infer(batch, [1]).reference)


def test_another_policy_than_was_named_is_refused_with_both_values(vlas, paths, kind):
    with pytest.raises(ValueError, match=f"'0123' here, '{vlas[kind].identity}' there"):
        load(paths[kind], identity="0123")


def test_half_precision_gives_float32_that_comes_close(paths, vlas, kind):
    half, batch = load(paths[kind], precision="bfloat16"), example(vlas[kind], 1)
    assert any(p.dtype == torch.bfloat16 for p in half.parameters())
    got, want = half.infer(batch, [1]), vlas[kind].infer(batch, [1])
    assert got.tokens.dtype == got.reference.dtype == torch.float32
    assert not torch.equal(got.tokens, want.tokens) and half.identity != vlas[kind].identity
    assert (got.tokens - want.tokens)[want.mask].abs().mean() < 0.1 * want.tokens[want.mask].abs().mean()


def trained(vla, steps=3):
    batch, (actions, valid) = example(vla, 2), chunks(vla, 2)
    optimiser = torch.optim.Adam([p for p in vla.parameters() if p.requires_grad], lr=1e-3)
    vla.train()
    for _ in range(steps):
        optimiser.zero_grad()
        vla.loss(batch, actions, valid, torch.Generator().manual_seed(1)).vla_loss.backward()
        optimiser.step()
    return vla.eval()


def test_a_fine_tuned_policy_is_written_and_loaded_again(paths, kind, tmp_path):
    vla = load(paths[kind])
    before = vla.identity
    trained(vla)
    assert vla.identity != before
    what_is_saved_is_loaded(vla, tmp_path)
    settings = json.loads((tmp_path / "vla" / "config.json").read_text())
    assert settings["type"] == kind
    again = get_policy_class(kind).from_pretrained(tmp_path / "vla")
    state = vla.policy.state_dict()
    assert all(torch.equal(tensor, state[name]) for name, tensor in again.state_dict().items()), "LeRobot loads it too"


def test_fine_tuning_lowers_the_loss(paths, kind):
    vla = load(paths[kind])
    batch, (actions, valid) = example(vla, 2), chunks(vla, 2)
    loss = lambda: float(vla.loss(batch, actions, valid, torch.Generator().manual_seed(1)).vla_loss.detach())  # noqa: E731
    before = loss()
    trained(vla, steps=15)
    assert loss() < 0.95 * before


def test_adapters_alone_are_trained_and_merged_when_saved(paths, vlas, kind, tmp_path):
    pytest.importorskip("peft")
    vla, batch = load(paths[kind], lora=4), example(vlas[kind], 1)
    names = [name for name, p in vla.named_parameters() if p.requires_grad]
    assert names and all("lora_" in name for name in names)
    torch.testing.assert_close(vla.infer(batch, [1]).reference, vlas[kind].infer(batch, [1]).reference, **TOLERANCE)
    assert vla.identity == vlas[kind].identity, "adapters start at zero"
    trained(vla)
    want = vla.infer(batch, [1])
    settings = save_vla(vla, tmp_path)
    again = load_vla(settings, tmp_path, "test")
    assert not any("lora_" in name for name, _ in again.named_parameters()) and again.identity == vla.identity
    torch.testing.assert_close(again.infer(batch, [1]).reference, want.reference, **TOLERANCE)
    assert not torch.allclose(want.reference, vlas[kind].infer(batch, [1]).reference, atol=1e-6)


@pytest.fixture
def copy(paths, kind, tmp_path):
    return shutil.copytree(paths[kind], tmp_path / "copy")


def test_weights_that_were_not_loaded_are_noticed(copy):
    """The policies' own loaders print something and go on with random weights (C.6, 48)."""
    weights = load_file(copy / "model.safetensors")
    name = next(name for name in weights if "action_in_proj" in name)
    save_file({key: tensor for key, tensor in weights.items() if key != name}, copy / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"model\.(safetensors|action_in_proj)"):
        load(copy)
    save_file(weights | {"model.stray.weight": torch.zeros(2)}, copy / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"model\.(safetensors|stray)"):
        load(copy)


def test_a_cut_file_of_weights_is_noticed(copy):
    path = copy / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=r"model\.safetensors"):
        load(copy)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "policy_preprocessor.json"])
def test_a_missing_file_is_named(copy, name):
    (copy / name).unlink()
    with pytest.raises(CheckpointError, match=name):
        load(copy)


def test_other_statistics_are_another_identity(copy, vlas, kind):
    path = next(copy.glob("policy_postprocessor*.safetensors"))
    save_file({key: tensor * 2 for key, tensor in load_file(path).items()}, path)
    assert load(copy).identity != vlas[kind].identity


def test_a_policy_of_another_kind_is_refused(copy):
    settings = json.loads((copy / "config.json").read_text())
    (copy / "config.json").write_text(json.dumps({"type": "act", "input_features": settings["input_features"]}))
    with pytest.raises(ConfigError, match="policy 'act' .* known are pi05, pi0, smolvla"):
        load(copy)


def test_a_server_answers_for_it(vlas, kind):
    vla, batch = vlas[kind], example(vlas[kind], 2)
    images = {name: encode(pictures, "raw") for name, pictures in batch.images.items()}
    content = {"proprio": batch.proprio, "state": batch.state, "instruction": batch.instruction}
    reply = unpack(Service(vla).reply(pack("infer", id=1, images=images, seeds=np.array([1, 2], np.uint64), **content)))
    want = vla.infer(batch, [1, 2])
    np.testing.assert_array_equal(array(reply, "tokens", "float32", want.tokens.shape), want.tokens.numpy())
    assert want.tokens.shape[-1] == WIDTH


def test_answers_are_those_that_were_recorded(kind, tmp_path):
    """Field report B15: weights may load without an error and still mean something else."""
    recorded = load_file(REFERENCE)
    for name, tensor in answers(kind, tmp_path).items():
        torch.testing.assert_close(tensor, recorded[name], atol=2e-4, rtol=2e-3, msg=lambda text: f"{text}\n{ABOUT}")
