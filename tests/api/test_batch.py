"""Many messages in one request: the good half is stored and said so."""

import asyncio
import time
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from postroad.api.routes import batch
from postroad.api.routes.batch import lines_of
from postroad.ports.clock import SystemClock
from postroad.remote.api_request import ApiAnswer
from tests.api.stand import Stand, kind

CLOCK = SystemClock()


def lines(answer: ApiAnswer) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The answers, and the summary at the end."""
    assert answer.status == 200, answer.content
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    *found, last = [msgspec.json.decode(line) for line in answer.content.splitlines()]
    return found, last


async def test_half_a_batch_is_broken_and_the_other_half_is_stored(stand: Stand) -> None:
    text = b"\n".join(
        [
            b'{"queue": "good", "body": 1}',
            b"not json",
            b'{"queue": "good", "body": 2, "key": "k"}',
            b'{"queue": 7, "body": 1}',
            b"",
            b'{"queue": "good", "body": 2, "key": "k"}',
            b'{"queue": "good", "body": 3, "key": "k"}',
            b'{"queue": "nope", "body": 1}',
            b'{"queue": "good", "body": "\xff"}',
            b'{"queue": "good", "body": 4}\r',
        ]
    )
    found, last = lines(await stand.say("POST", "/v1/messages:batch", text))
    said = [(each["line"], each["status"]) for each in found]
    assert said == [
        (1, 201), (2, 400), (3, 201), (4, 400), (6, 200), (7, 409), (8, 404), (9, 400), (10, 201),
    ]  # fmt: skip
    assert last == {"done": True, "stored": 3, "duplicates": 1, "refused": 5}
    assert found[3]["problem"]["errors"] == [
        {"field": "queue", "message": "expected `str`, got `int`"}
    ]
    assert found[4]["id"] == found[2]["id"]
    assert (await stand.road.store.counts())["waiting"] == 3
    await stand.road.run(until_idle=True)
    assert sorted(stand.seen) == [1, 2, 4]


async def test_a_large_batch_is_stored_whole_and_answered_in_order(stand: Stand) -> None:
    text = b"\n".join(b'{"queue": "good", "body": %d}' % number for number in range(2_500))
    found, last = lines(await stand.say("POST", "/v1/messages:batch", text))
    assert [each["line"] for each in found] == list(range(1, 2_501))
    assert last["stored"] == 2_500
    assert (await stand.road.store.counts())["waiting"] == 2_500


async def test_an_empty_batch_and_one_with_too_many_lines(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lines(await stand.say("POST", "/v1/messages:batch", b""))[1]["stored"] == 0
    monkeypatch.setattr(batch, "LINES_MAX", 2)
    text = b"\n".join([b'{"queue": "good", "body": 1}'] * 3)
    answer = await stand.say("POST", "/v1/messages:batch", text)
    assert (answer.status, kind(answer)) == (413, "body-too-large")
    assert (await stand.road.store.counts())["waiting"] == 0


async def test_a_body_of_lines_without_end_costs_no_more_memory_than_its_limit(
    stand: Stand,
) -> None:
    tracemalloc.start()
    try:
        for text in (b"1\n" * 2_000_000, b"\n" * 4_000_000):
            tracemalloc.reset_peak()
            before, _ = tracemalloc.get_traced_memory()
            answer = await stand.say("POST", "/v1/messages:batch", text)
            assert answer.status in (200, 413)
            assert tracemalloc.get_traced_memory()[1] - before < 30 << 20
    finally:
        tracemalloc.stop()


async def pieces(text: bytes, size: int) -> AsyncIterator[bytes]:
    for at in range(0, len(text), size):
        yield text[at : at + size]


def found(text: bytes, most: int, size: int = 1 << 17) -> list[tuple[int, bytes]]:
    return asyncio.run(lines_of(pieces(text, size), most, CLOCK))


def test_lines_are_found_in_linear_time() -> None:
    for piece in (b"\n", b" ", b" \r\n", b"1\n", b"1" * 100 + b"\n\n"):
        small, large = (piece * (size // len(piece)) for size in (1 << 16, 1 << 19))
        assert least_s(large) < 24 * least_s(small), piece
    for size in (1, 2, 3, 100):
        text = b"a\n\n bcd e \r\n\n\x0b\nc"
        assert found(text, 10, size) == [(1, b"a"), (3, b"bcd e \r"), (6, b"c")]
    assert len(found(b"1\n" * 100, 10)) == 11


async def test_others_have_their_turn_while_lines_are_found() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    for text in (b"\n" * (1 << 20), b"1\n" * (1 << 19)):
        turns = 0
        _ = await lines_of(pieces(text, len(text)), len(text), CLOCK)
        assert turns >= 7
    counting.cancel()


def least_s(text: bytes) -> float:
    """The least CPU time of five, when it comes in 16 pieces or more."""
    times = []
    for _ in range(5):
        start = time.thread_time()
        _ = found(text, len(text), size=1 << 12)
        times.append(time.thread_time() - start)
    return max(min(times), 1e-4)
