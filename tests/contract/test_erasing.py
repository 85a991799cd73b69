"""Erasing on every store: slices, counts, and what a broker keeps."""

from msgspec.structs import replace

from postroad.engine.erasing import run_erasures
from postroad.model.decide import Move
from postroad.model.privacy import Erasure, Subject
from postroad.observe.log import make_log
from tests.contract.bench import Bench
from tests.contract.rabbit import RabbitRig


async def finished(bench: Bench, tenant: str, *moves: Move) -> None:
    """Messages of a tenant's queue that ended so."""
    queue = await bench.queue("shop", tenant=tenant)
    for move in moves:
        await bench.send(queue, b'"a body"')
        lane = await bench.take()
        await bench.became(await bench.only(lane.id), move, error="an error")
        await bench.release(lane)


async def erase(bench: Bench, subject: Subject) -> Erasure:
    number = await bench.store.erasure_add(subject, bench.now_ms)
    await run_erasures(bench.store, make_log("error"))
    (done,) = await bench.store.erasure_page(None, number, 0, 1)
    assert done.is_done
    return done


async def test_finished_messages_of_a_tenant_are_erased_with_their_tries(bench: Bench) -> None:
    await finished(bench, "a", Move.deliver, Move.die, Move.deliver)
    await finished(bench, "b", Move.deliver, Move.die)
    done = await erase(bench, Subject("a"))
    assert (done.erased["history"], done.erased["dead"]) == (2, 1)
    assert done.erased["attempt"] == 1
    assert len(await bench.rows("select id from history")) == 1
    assert len(await bench.rows("select id from dead")) == 1
    assert len(await bench.rows("select message_id from attempt")) == 1
    assert await bench.store.find_queue("b", "shop")
    broker = isinstance(bench._rig, RabbitRig)
    assert bool(done.left) == broker  # says what it does not reach
    assert bool(await bench.store.find_queue("a", "shop")) == broker


async def test_a_second_worker_finds_the_job_done_and_counts_nothing_twice(bench: Bench) -> None:
    await finished(bench, "a", Move.deliver)
    done = await erase(bench, Subject("a"))
    assert await bench.store.erase_slice(done.id) is None
    (again,) = await bench.store.erasure_page("a", done.id, 0, 1)
    assert again == done
    assert await bench.store.erasure_page("b", done.id, 0, 1) == []


async def test_a_job_is_read_back_with_its_subject_until_it_is_done(bench: Bench) -> None:
    subject = Subject("a", "https://example.com/ü")
    number = await bench.store.erasure_add(subject, bench.now_ms)
    (job,) = await bench.store.erasures_waiting()
    assert (job.id, job.subject, job.step) == (number, subject, "access")
    (shown,) = await bench.store.erasure_page(None, number, 0, 1)
    assert shown.recipient_digest == subject.digest
    done = await erase(bench, Subject("b"))
    assert await bench.store.erasures_waiting() == []
    assert replace(done, id=0).erased == {}


async def test_old_jobs_are_forgotten(bench: Bench) -> None:
    done = await erase(bench, Subject("a"))
    await bench.store.erasure_retain(bench.now_ms - 10_000)
    assert await bench.store.erasure_page(None, done.id, 0, 1)
    await bench.store.erasure_retain(bench.now_ms + 10_000)
    assert await bench.store.erasure_page(None, done.id, 0, 1) == []
