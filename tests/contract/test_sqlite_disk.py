"""A full disk: refused by name, nothing half-written, and it works again when there is room."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from postroad.model.decide import Move
from postroad.model.entities import Accepted, Draft, Queue
from postroad.stores.sqlite import writer
from postroad.stores.sqlite.writer import InlineDrive, ThreadDrive
from tests.contract.bench import Bench
from tests.contract.rigs import SqliteRig
from tests.contract.small_disk import SmallDisk, small_disk

BODY: Final = bytes(8_000)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    (tmp_path / "disk").mkdir()
    with small_disk(tmp_path / "disk") as disk:
        yield disk


@pytest.fixture(params=[InlineDrive, ThreadDrive])
def rig(request: pytest.FixtureRequest, disk: SmallDisk) -> SqliteRig:
    return SqliteRig(disk.folder, request.param)


@pytest.fixture
def bench(rig: SqliteRig) -> Bench:
    """Here the rig stands on a small disk."""
    return Bench(rig)


async def fill(bench: Bench, queue: Queue, disk: SmallDisk) -> list[int]:
    """Send until there is no room; answers what was accepted."""
    sent: list[int] = []
    with pytest.raises(disk.error, match=r"road\.db"):
        await send_on(bench, queue, sent)
    return sent


async def send_on(bench: Bench, queue: Queue, sent: list[int]) -> None:
    while True:
        sent.append(await bench.send(queue, BODY))


async def stored(bench: Bench) -> list[int]:
    """What a process finds that opens the file afterwards."""
    await bench.reopen()
    assert await bench.rows("pragma integrity_check") == [("ok",)]
    return [number for (number,) in await bench.rows("select id from message order by id")]


def drafts(bench: Bench, queue: Queue, count: int) -> list[Draft]:
    return [bench.draft(queue, BODY, key=f"key {n}") for n in range(count)]


async def accept_at_once(bench: Bench, asked: list[Draft]) -> dict[int, list[Accepted] | Exception]:
    """Many senders in one commit; what each of them was told."""
    sends = [bench.store.accept([draft]) for draft in asked]
    told = await asyncio.gather(*sends, return_exceptions=True)
    answers: dict[int, list[Accepted] | Exception] = {}
    for draft, answer in zip(asked, told, strict=True):
        assert isinstance(answer, list | Exception)
        answers[draft.id] = answer
    return answers


async def test_a_full_disk_is_named_and_keeps_what_was_accepted(
    bench: Bench, disk: SmallDisk
) -> None:
    queue = await bench.queue()
    disk.keep_free(400)
    sent = await fill(bench, queue, disk)
    assert len(sent) > 10
    assert await bench.counts() == {"waiting": len(sent)}
    disk.make_room()
    assert await stored(bench) == sent


async def test_accepting_works_again_when_there_is_room(bench: Bench, disk: SmallDisk) -> None:
    queue = await bench.queue()
    sent: list[int] = []
    for _ in range(3):
        disk.keep_free(200)
        sent += await fill(bench, queue, disk)
        disk.make_room()
        sent.append(await bench.send(queue, BODY))
    assert await stored(bench) == sent


async def test_a_key_that_was_refused_is_not_used_up(bench: Bench, disk: SmallDisk) -> None:
    queue = await bench.queue()
    disk.keep_free(100)
    await fill(bench, queue, disk)
    draft = bench.draft(queue, BODY, key="k")
    with pytest.raises(disk.error):
        await bench.store.accept([draft])
    disk.make_room()
    assert await bench.store.accept([draft]) == [Accepted(draft.id)]


async def test_of_many_at_once_each_is_stored_or_refused(bench: Bench, disk: SmallDisk) -> None:
    queue = await bench.queue()
    disk.keep_free(300)
    answers = await accept_at_once(bench, drafts(bench, queue, 64))
    refused = [error for error in answers.values() if isinstance(error, Exception)]
    assert refused
    assert all(isinstance(error, disk.error) for error in refused)
    disk.make_room()
    accepted = [n for n, answer in answers.items() if answer == [Accepted(n)]]
    assert await stored(bench) == accepted


async def test_a_log_that_cannot_be_brought_home_fails_nobody(
    bench: Bench, rig: SqliteRig, disk: SmallDisk, monkeypatch: pytest.MonkeyPatch
) -> None:
    # They are committed by then: "refused" would be a lie, and doing them again is worse.
    queue = await bench.queue()
    for _ in range(100):
        await bench.send(queue, BODY)
    disk.keep_free(200)
    before = rig.path.stat().st_size
    monkeypatch.setattr(writer, "CHECKPOINT_PAGES", 1)
    # In one commit: a second one would find the disk full by right.
    answers = await bench.store.accept(drafts(bench, queue, 4))
    assert all(answer == Accepted(answer.id) for answer in answers)
    assert rig.path.stat().st_size - before < 200 * 1024
    disk.make_room()
    assert {answer.id for answer in answers} <= set(await stored(bench))


async def test_a_result_that_found_no_room_is_written_later(bench: Bench, disk: SmallDisk) -> None:
    queue = await bench.queue()
    for _ in range(20):
        await bench.send(queue)
    lane = await bench.take()
    messages = await bench.due(lane.id)
    results = [bench.result(message, Move.die, error="x" * 9_000) for message in messages]
    disk.keep_free(16)
    with pytest.raises(disk.error):
        await bench.record(results)
    assert await bench.counts() == {"waiting": 20}
    disk.make_room()
    assert (await bench.record(results)).lost == frozenset()
    assert await bench.counts() == {"dead": 20}


async def test_a_road_that_finds_no_room_to_begin_says_so(disk: SmallDisk) -> None:
    disk.keep_free(40)
    rig = SqliteRig(disk.folder, InlineDrive)
    for _ in range(2):
        with pytest.raises(disk.error):
            await rig.open()
    disk.make_room()
    await rig.open()
    await rig.close()
