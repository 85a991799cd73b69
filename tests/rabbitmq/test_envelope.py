"""The envelope: what is packed is what is unpacked; what cannot be read is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from postroad.model.foreign import clean
from postroad.model.ids import made_at_ms
from postroad.model.states import NEVER, DeadReason
from postroad.stores.rabbitmq.envelope import BadEnvelope, Envelope, pack, unpack

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
numbers = st.integers(min_value=0, max_value=1 << 62)
counts = st.integers(min_value=0, max_value=1 << 30)
PLAIN = Envelope(
    id=77,
    tenant="default",
    queue="resize",
    shard=3,
    hop=0,
    level=0,
    attempts=0,
    priority=0,
    accepted_at_ms=1_000,
    due_ms=1_000,
    expires_at_ms=NEVER,
    body=b"{}",
)
envelopes = st.builds(
    Envelope,
    id=numbers,
    tenant=st.sampled_from(["default", "acme"]),
    queue=texts.filter(bool).filter(lambda text: "\0" not in text),
    shard=counts,
    hop=counts,
    level=counts,
    attempts=counts,
    priority=st.integers(-9, 9),
    accepted_at_ms=numbers,
    due_ms=numbers,
    expires_at_ms=numbers,
    body=st.binary(max_size=40),
    headers=st.binary(max_size=40),
    first_error=texts.map(clean),
    last_error=texts.map(clean),
    reason=st.sampled_from(["", *DeadReason]),
    status=counts,
    died_at_ms=numbers,
)


@given(envelopes)
def test_what_is_packed_is_what_is_unpacked(envelope: Envelope) -> None:
    assert unpack(pack(envelope), envelope.body) == envelope


def test_the_seeds_fields_are_there_by_their_names() -> None:
    table = pack(replace(PLAIN, level=2, retry_max=5, retry_timeout_ms=1_000).failed("first"))
    assert table["current-iteration"] == 2
    assert (table["retry-max"], table["retry-timeout-ms"]) == (5, 1_000)
    assert (table["first-error"], table["last-error"]) == ("first", "first")


def test_what_follows_from_the_rest_is_left_out_and_may_be_there() -> None:
    fresh = replace(PLAIN, accepted_at_ms=made_at_ms(PLAIN.id), due_ms=made_at_ms(PLAIN.id))
    assert set(pack(fresh)) == {"postroad", "id", "shard", "queue"}
    whole = {"accepted-at-ms": fresh.accepted_at_ms, "due-ms": fresh.due_ms, "tenant": "default"}
    assert unpack({**pack(fresh), **whole, "postroad": 1}, b"{}") == fresh  # as it was sent once


def test_nothing_of_the_brokers_own_is_carried_on() -> None:
    came = {**pack(PLAIN), "x-death": [{"queue": "q"}], "x-first-death-reason": "expired"}
    assert pack(unpack(came, b"{}").again()) == {**pack(PLAIN), "hop": 1}


def test_the_first_error_stays_and_the_last_one_is_the_last() -> None:
    twice = PLAIN.failed("one").failed("two")
    assert (twice.first_error, twice.last_error) == ("one", "two")


@pytest.mark.parametrize(
    "change",
    [
        {"postroad": 3},
        {"id": "?"},
        {"id": 5},
        {"queue": 7},
        {"queue": ""},
        {"queue": "\udcff"},
        {"tenant": "\udcff"},
        {"hop": "x"},
        {"hop": (1 << 30) + 1},
        {"shard": -1},
        {"attempts": -1},
        {"due-ms": (1 << 62) + 1},
        {"accepted-at-ms": -1},
        {"headers": 1 << 40},
        {"reason": "boredom"},
        {"queue": "a\0b"},
        {"tenant": "a\0b"},
    ],
)
def test_what_cannot_be_read_is_named(change: dict[str, object]) -> None:
    with pytest.raises(BadEnvelope):
        unpack({**pack(PLAIN), **change}, b"")
