"""What goes over the wire, against pamqp's reading of the same bytes."""

import random
from typing import Any

import pytest
from pamqp import commands, header

from postroad.stores.rabbitmq.wire.ack_merging import AckMerger
from postroad.stores.rabbitmq.wire.field_table import read_table, write_table
from postroad.stores.rabbitmq.wire.frames import ACK, SETTLE
from postroad.stores.rabbitmq.wire.properties import Properties, unpack

HEADERS: dict[str, Any] = {
    "text": "żółw",
    "empty": "",
    "number": -(2**62),
    "real": 1.5,
    "yes": True,
    "no": False,
    "nothing": None,
    "raw": b"\x00\xff",
    "nested": {"list": [1, [2, "three"], {"four": 4}]},
}


def test_pamqp_reads_what_is_packed() -> None:
    ours = Properties(
        headers=HEADERS,
        message_id="m",
        content_type="c",
        expiration="5",
        timestamp=1_767_225_600,
        priority=9,
    )
    # As a content header frame: class, weight, size of the body, properties.
    frame = header.ContentHeader()
    frame.unmarshal(b"\x00\x3c\x00\x00" + (7).to_bytes(8) + ours.pack())
    theirs = frame.properties
    assert isinstance(theirs, commands.Basic.Properties)
    assert theirs.headers is not None
    assert {**theirs.headers, "raw": b"\x00\xff"} == HEADERS
    assert (theirs.message_id, theirs.content_type, theirs.expiration) == ("m", "c", "5")
    assert (theirs.delivery_mode, theirs.priority) == (2, 9)
    assert theirs.timestamp is not None
    assert theirs.timestamp.timestamp() == 1_767_225_600


def test_what_is_packed_is_unpacked() -> None:
    ours = Properties(headers=HEADERS, message_id="m", user_id="u", cluster_id="x")
    assert unpack(ours.pack()) == ours
    assert unpack(Properties(delivery_mode=0).pack()) == Properties(delivery_mode=0)


def test_every_type_that_a_broker_may_send_is_read() -> None:
    kinds = (
        b"t\x01", b"b\xff", b"B\xff", b"s\xff\xff", b"u\xff\xff", b"I\xff\xff\xff\xff",
        b"i\xff\xff\xff\xff", b"l" + b"\xff" * 8, b"f\x3f\x80\x00\x00", b"D\x02\x00\x00\x00\x7b",
        b"T" + (1_767_225_600).to_bytes(8), b"V",
    )  # fmt: skip
    packed = b"".join(bytes((1, 97 + at)) + kind for at, kind in enumerate(kinds))
    table, end = read_table(len(packed).to_bytes(4) + packed + b"rest", 0)
    assert end == len(packed) + 4
    values = list(table.values())
    assert values[:9] == [True, -1, 255, -1, 65_535, -1, 2**32 - 1, -1, 1.0]
    assert str(values[9]) == "1.23"
    assert values[11] is None


def test_an_unknown_type_and_an_unfit_value_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown type"):
        read_table(b"\x00\x00\x00\x03\x01aZ", 0)
    with pytest.raises(TypeError, match="cannot hold"):
        write_table({"a": object()})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="over 255"):
        Properties(message_id="x" * 256).pack()


def test_runs_of_acks_are_one_frame_and_settle_exactly_their_tags() -> None:
    drawn = random.Random(11)
    for _ in range(200):
        settling = AckMerger(1)
        open_tags: set[int] = set()
        asked: set[int] = set()
        last = 0
        for _ in range(20):
            fresh = range(last + 1, last + 1 + drawn.randrange(6))
            last += len(fresh)
            open_tags.update(fresh)
            chosen = drawn.sample(sorted(open_tags), drawn.randrange(len(open_tags) + 1))
            for tag in chosen:
                if drawn.random() < 0.8:
                    settling.ack(tag)
                else:
                    settling.nack(tag, requeue=True)
            asked.update(chosen)
            for frame in settling.frames():
                tag, flags = SETTLE.unpack_from(frame, 11)
                assert tag in open_tags  # the broker closes the channel for a tag it does not know
                multiple = flags == 1 and int.from_bytes(frame[7:11]) == ACK
                gone = {each for each in open_tags if each <= tag} if multiple else {tag}
                assert gone <= asked
                open_tags -= gone
            assert not open_tags & asked
    settling = AckMerger(1)
    for tag in range(1, 101):
        settling.ack(tag)
    assert len(settling.frames()) == 1
