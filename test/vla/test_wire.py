"""What passes between a VLA server and its clients: nothing is trusted for its shape."""

import msgpack
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlt_ros.vla.remote import pictures
from rlt_ros.vla.remote.wire import ProtocolError, Terms, array, field, pack, unpack

FLOATS = np.arange(6, dtype=np.float32).reshape(2, 3)
GOOD = {"dtype": "float32", "shape": [2, 3], "data": FLOATS.tobytes()}


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "uint64"])
def test_an_array_comes_out_as_it_went_in(dtype):
    sent = FLOATS.astype(dtype)
    got = array(unpack(pack("test", values=sent)), "values", dtype, (None, 3))
    assert got.dtype == sent.dtype
    np.testing.assert_array_equal(got, sent)


def test_byte_order_and_memory_layout_of_the_sender_do_not_matter():
    sent = np.asfortranarray(FLOATS.astype(">f4"))
    np.testing.assert_array_equal(array(unpack(pack("test", values=sent)), "values", "float32", (2, 3)), FLOATS)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dtype": "object"}, "values: 'object'"),
        ({"dtype": "uint8"}, r"values: uint8 \(2, 3\); expected float32 \(2, 3\)"),
        ({"shape": [3, 2]}, r"float32 \(3, 2\); expected float32 \(2, 3\)"),
        ({"shape": [2, 3, 1]}, r"float32 \(2, 3, 1\)"),
        ({"shape": [-2, -3]}, r"float32 \(-2, -3\)"),
        ({"shape": [2.0, 3.0]}, r"float32 \(2.0, 3.0\)"),
        ({"shape": 6}, "values: 'float32' 6"),
        ({"data": FLOATS.tobytes()[:-1]}, "23 bytes"),
        ({"data": FLOATS.tobytes() + b"0"}, "25 bytes"),
        ({"data": "text"}, "expected an array"),
    ],
)
def test_a_wrong_array_is_refused_with_both_values(changes, message):
    with pytest.raises(ProtocolError, match=message):
        array({"values": GOOD | changes}, "values", "float32", (2, 3))


def test_a_free_length_may_not_be_used_to_claim_more_than_was_sent():
    with pytest.raises(ProtocolError, match="24 bytes"):
        array({"values": GOOD | {"shape": [2**40, 3]}}, "values", "float32", (None, 3))


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", msgpack.packb([1]), msgpack.packb({"kind": 1}), msgpack.packb({"type": 3}), "text", b"\x80"]
)
def test_what_is_no_message_is_refused(data):
    with pytest.raises(ProtocolError):
        unpack(data)


@settings(max_examples=200)
@given(st.binary(max_size=64), st.integers(0, 200))
def test_damaged_bytes_raise_nothing_else(noise, place):
    good = pack("test", id=3, values=FLOATS)
    damaged = good[:place] + noise + good[place + len(noise) :]
    try:
        array(unpack(damaged), "values", "float32", (2, 3))
    except ProtocolError:
        pass


def test_only_plain_arrays_can_be_sent():
    for value in (np.array([object()]), np.zeros(2, np.complex64), object()):
        with pytest.raises(TypeError, match="cannot be sent"):
            pack("test", value=value)


def test_a_field_of_another_type_is_named():
    with pytest.raises(ProtocolError, match="id: str; expected int"):
        field({"id": "3"}, "id", int)
    with pytest.raises(ProtocolError, match="id: bool; expected int"):
        field({"id": True}, "id", int)


WELCOME = {
    "identity": "a", "backend": "tiny", "cameras": ["front"], "image_size": [8, 8],
    "proprio_dim": 19, "horizon": 20, "action_dim": 7, "width": 32,
}  # fmt: skip


def test_terms_are_read_field_by_field():
    assert Terms.from_message(WELCOME).image_size == (8, 8)
    for name, value in [("cameras", []), ("cameras", [1]), ("image_size", [8]), ("width", "32"), ("identity", None)]:
        with pytest.raises(ProtocolError, match=name):
            Terms.from_message(WELCOME | {name: value})


SMOOTH = np.broadcast_to(np.linspace(0, 255, 16, dtype=np.uint8)[None, :, None, None], (2, 16, 16, 3)).copy()


@pytest.mark.parametrize(("encoding", "error"), [("raw", 0), ("png", 0), ("jpeg", 8)])
def test_pictures_keep_their_colours(encoding, error):
    sent = SMOOTH.copy()
    sent[..., 2] = 0
    message = unpack(pack("test", front=pictures.encode(sent, encoding)))
    got = pictures.decode(message, "front", 2, (16, 16))
    assert got.dtype == np.uint8 and got.shape == sent.shape
    assert np.abs(got.astype(int) - sent).max() <= error


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"encoding": "gif"}, r"images\[front\]: encoding 'gif'"),
        ({"encoding": "png", "files": [b"no picture", b""]}, r"images\[front\]: not a picture"),
        (pictures.encode(SMOOTH[:1], "png"), "1 pictures; expected 2"),
        (pictures.encode(SMOOTH[:, :8], "png"), r"picture \(8, 16, 3\); expected \(16, 16, 3\)"),
        (pictures.encode(SMOOTH[:, :8], "raw"), r"uint8 \(2, 8, 16, 3\); expected uint8 \(2, 16, 16, 3\)"),
    ],
)
def test_wrong_pictures_are_refused_with_the_camera(content, message):
    with pytest.raises(ProtocolError, match=message):
        pictures.decode(unpack(pack("test", front=content)), "front", 2, (16, 16))
