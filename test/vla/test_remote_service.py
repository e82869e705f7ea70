"""What a VLA server answers, without the network."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from vla_conformance import example
from vla_server import small_vla

from rlt_ros.vla.remote import pictures
from rlt_ros.vla.remote.service import LARGEST_BATCH, Service
from rlt_ros.vla.remote.wire import array, pack, unpack

VLA = small_vla()
SERVICE = Service(VLA)
EXAMPLE = example(VLA, 2)


def question(**changes):
    content = {
        "id": 7,
        "images": {name: pictures.encode(images, "raw") for name, images in EXAMPLE.images.items()},
        "proprio": EXAMPLE.proprio,
        "state": None,
        "instruction": EXAMPLE.instruction,
        "seeds": np.array([1, 2], np.uint64),
    }
    return pack("infer", **(content | changes))


def test_an_answer_is_the_vlas_own():
    reply = unpack(SERVICE.reply(question()))
    want = VLA.infer(EXAMPLE, [1, 2])
    assert reply["id"] == 7 and reply["ms"] > 0
    for name, shape in (("tokens", want.tokens.shape), ("reference", want.reference.shape)):
        np.testing.assert_array_equal(array(reply, name, "float32", shape), getattr(want, name).numpy())
    assert array(reply, "kinds", "uint8", (None,)).tolist() == list(want.kinds)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (question(proprio=EXAMPLE.proprio[:, 1:]), r"proprio: float32 \(2, 18\); expected float32 \(2, 19\)"),
        (question(proprio=EXAMPLE.proprio * np.nan), "proprio: not finite"),
        (question(state=EXAMPLE.proprio[:1]), r"state: float32 \(1, 19\)"),
        (question(images={}), r"images: cameras \[\]; the model has \['front', 'wrist'\]"),
        (question(images={1: {}, "front": {}}), "not msgpack"),
        (question(instruction="one two three four five"), "5 words"),
        (question(instruction=None), "instruction: NoneType"),
        (question(seeds=np.zeros(0, np.uint64)), "batch of 0; expected 1 to 64"),
        (question(seeds=np.zeros(LARGEST_BATCH + 1, np.uint64)), "batch of 65"),
        (question(seeds=np.zeros(2, np.float32)), "seeds: float32"),
        (pack("kinds", id=7, instruction="one two three four five"), "5 words"),
        (pack("shutdown", id=7), "type: 'shutdown'"),
        (pack("infer"), "id: NoneType"),
        (b"nonsense", "not msgpack"),
    ],
)
def test_a_bad_question_is_answered_in_words(data, message):
    reply = unpack(SERVICE.reply(data))
    assert reply["type"] == "error" and reply["code"] == "input"
    with pytest.raises(ValueError, match=message):
        raise ValueError(reply["text"])


def test_a_fault_of_the_server_is_told_as_one(monkeypatch):
    def broken(*args):
        raise RuntimeError("CUDA out of memory")

    monkeypatch.setattr(SERVICE, "vla", type("Broken", (), {"infer": broken})())
    reply = unpack(SERVICE.reply(question()))
    assert (reply["code"], reply["id"], reply["text"]) == ("internal", 7, "RuntimeError: CUDA out of memory")


@settings(max_examples=100)
@given(st.binary(max_size=32), st.integers(0, 400))
def test_damaged_questions_are_always_answered(noise, place):
    good = question()
    reply = unpack(SERVICE.reply(good[:place] + noise + good[place + len(noise) :]))
    assert reply["type"] in ("output", "error") and reply.get("code") != "internal"


def test_a_warm_up_is_no_pass_of_a_client():
    fresh = Service(VLA)
    fresh.warm_up()
    assert fresh.latency.report() == {"passes": 0}
    fresh.reply(question())
    assert fresh.latency.report()["passes"] == 1


def test_the_service_does_not_touch_the_global_generator():
    torch.manual_seed(1)
    before = torch.get_rng_state()
    SERVICE.reply(question())
    assert torch.equal(torch.get_rng_state(), before)
