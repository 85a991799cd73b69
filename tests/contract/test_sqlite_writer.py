"""The one writer: what waits together is committed together, and on disk before it is answered."""

import asyncio
import weakref
from pathlib import Path

import pytest

from postroad.model.entities import Accepted
from postroad.model.errors import NotOpen, StoreError
from postroad.stores.sqlite import writer
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.store import SqliteStore
from postroad.stores.sqlite.writer import InlineDrive, ThreadDrive
from tests.contract.bench import Bench
from tests.contract.clock import ManualClock
from tests.contract.rigs import SqliteRig

NORMAL, FULL = 1, 2


@pytest.fixture(params=[InlineDrive, ThreadDrive])
def rig(request: pytest.FixtureRequest, tmp_path: Path) -> SqliteRig:
    return SqliteRig(tmp_path, request.param)


@pytest.fixture
def bench(rig: SqliteRig) -> Bench:
    """Here the rig is known to be SQLite's."""
    return Bench(rig)


def commits(rig: SqliteRig) -> int:
    assert rig.store._writer is not None
    return rig.store._writer.commits


def pragma(rig: SqliteRig, name: str, side: int = 0) -> object:
    return rig.store._databases[side].connection.pragma(name)


async def test_sixty_four_senders_at_once_take_few_commits(bench: Bench, rig: SqliteRig) -> None:
    queue = await bench.queue()
    before = commits(rig)
    answers = await asyncio.gather(*[bench.store.accept([bench.draft(queue)]) for _ in range(64)])
    assert len({answer.id for (answer,) in answers}) == 64
    assert await bench.counts() == {"waiting": 64}
    # The thread may take the first few before the rest has been handed over.
    assert commits(rig) - before <= 8


async def test_senders_one_after_the_other_take_a_commit_each(bench: Bench, rig: SqliteRig) -> None:
    queue = await bench.queue()
    before = commits(rig)
    for _ in range(5):
        await bench.send(queue)
    assert commits(rig) - before == 5


async def test_one_bad_piece_of_work_does_not_fail_its_neighbours(bench: Bench) -> None:
    queue = await bench.queue()
    taken = bench.draft(queue)
    await bench.store.accept([taken])
    drafts = [bench.draft(queue, key=f"k{n}") for n in range(9)]
    drafts[4] = taken  # an id that is there already
    answers = await asyncio.gather(
        *[bench.store.accept([draft]) for draft in drafts], return_exceptions=True
    )
    assert isinstance(answers[4], StoreError)
    del drafts[4], answers[4]
    assert answers == [[Accepted(draft.id)] for draft in drafts]
    assert await bench.counts() == {"waiting": 9}
    keys = await bench.rows("select count(*) from idempotency")
    assert keys == [(8,)]


async def test_rungs_made_in_a_failed_batch_are_made_again(bench: Bench) -> None:
    queue = await bench.queue()
    taken = bench.draft(queue)
    await bench.store.accept([taken])
    with pytest.raises(StoreError):
        await bench.store.accept([bench.draft(queue, priority=7), taken])
    sent = await bench.send(queue, priority=7)
    lane = await bench.take()
    assert sent in {m.id for m in await bench.due(lane.id)}


async def test_a_failed_batch_rings_nobody(bench: Bench) -> None:
    queue = await bench.queue()
    taken = bench.draft(queue)
    await bench.store.accept([taken])
    heard = bench.listen()
    with pytest.raises(StoreError):
        await bench.store.accept([bench.draft(queue, priority=7, ttl_s=9), taken])
    await asyncio.sleep(0)
    assert (heard.ready, heard.expiry) == ([], [])


async def test_accepting_commits_reach_the_disk(bench: Bench, rig: SqliteRig) -> None:
    queue = await bench.queue()
    sent = await bench.send(queue)
    assert pragma(rig, "synchronous") == FULL
    lane = await bench.take()  # a lost claim is claimed again: it need not
    assert pragma(rig, "synchronous") == NORMAL
    await bench.store.mark(bench.owner, lane, [sent])
    assert pragma(rig, "synchronous") == FULL


async def test_a_claim_that_shares_a_commit_with_a_sender_is_as_durable(
    bench: Bench, rig: SqliteRig
) -> None:
    queue = await bench.queue()
    await bench.claim()
    before = commits(rig)
    await asyncio.gather(
        bench.claim(), bench.store.accept([bench.draft(queue)]), bench.store.beat(bench.owner)
    )
    if commits(rig) - before == 1:
        assert pragma(rig, "synchronous") == FULL


async def test_the_files_settings_are_read_back(bench: Bench, rig: SqliteRig) -> None:
    del bench  # open
    for side in (0, 1):
        assert pragma(rig, "journal_mode", side) == "wal"
        # The writer alone checkpoints.
        assert pragma(rig, "wal_autocheckpoint", side) == 0
        assert pragma(rig, "mmap_size", side) == 0
    assert pragma(rig, "query_only", 1) == 1


async def test_the_log_is_brought_home_and_does_not_grow_for_ever(
    bench: Bench, rig: SqliteRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "CHECKPOINT_PAGES", 50)
    queue = await bench.queue()
    for _ in range(60):
        await bench.store.accept([bench.draft(queue, bytes(20_000)) for _ in range(5)])
    log = rig.path.with_name("road.db-wal").stat().st_size
    assert log < 2_000_000 < rig.path.stat().st_size


async def test_a_sender_that_gave_up_harms_nobody(bench: Bench) -> None:
    queue = await bench.queue()
    first, second = [
        asyncio.ensure_future(bench.store.accept([bench.draft(queue)])) for _ in range(2)
    ]
    await asyncio.sleep(0)
    first.cancel()
    assert len(await second) == 1
    assert (await bench.counts())["waiting"] in (1, 2)


async def test_what_was_handed_over_is_finished_before_the_file_is_closed(
    bench: Bench, rig: SqliteRig
) -> None:
    queue = await bench.queue()
    sends = [asyncio.ensure_future(bench.store.accept([bench.draft(queue)])) for _ in range(9)]
    await asyncio.sleep(0)
    await rig.reopen()
    assert len(await asyncio.gather(*sends)) == 9
    assert await bench.counts() == {"waiting": 9}


async def test_a_store_that_is_not_open_says_so(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "road.db", ManualClock(), drive=InlineDrive)
    for _ in range(2):
        with pytest.raises(NotOpen, match="async with road"):
            await store.join()
        with pytest.raises(NotOpen, match="async with road"):
            await store.counts()
        await store.open()
        await store.close()


async def test_a_work_that_raises_something_else_is_rolled_back_and_told(
    bench: Bench, rig: SqliteRig
) -> None:
    queue = await bench.queue()

    def half(db: Database) -> None:
        db.run("queue_policy", queue.id, b"{}")
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await rig.store.write("test", half)
    assert await bench.find(queue) == queue


class Work:
    """Something to write, which may hold megabytes."""

    def __call__(self, _db: Database) -> None:
        pass


async def test_what_was_written_is_not_kept_until_the_next_write(bench: Bench) -> None:
    assert isinstance(bench.store, SqliteStore)
    work = Work()
    gone = weakref.ref(work)
    await bench.store.write("test", work)
    del work
    async with asyncio.timeout(10):
        while gone() is not None:
            await asyncio.sleep(0.01)
