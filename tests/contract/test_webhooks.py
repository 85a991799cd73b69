"""Webhooks: settings of queues as they were sealed, and the log of tries."""

from msgspec.structs import replace

from postroad.model import outcome
from postroad.model.decide import Move
from postroad.model.entities import DAY_MS
from postroad.model.record import Result
from postroad.model.states import DeadReason
from postroad.model.try_details import TryDetails
from postroad.model.webhook import HookEntry, HookRow
from tests.contract.bench import Bench

NOTE = TryDetails("127.0.0.1:80", "", b'{"webhook-id":"msg_1"}', b"said \x00\xff", 3, 2)


async def test_settings_are_kept_and_changed(bench: Bench) -> None:
    queue, plain = await bench.queue("https://a"), await bench.queue("https://b")
    row = HookRow(queue.id, "default", b'{"reject":[418]}', "k1", b"\x01sealed")
    assert await bench.store.write_hook(row)
    assert await bench.store.read_hooks([plain.id, queue.id]) == [row]
    await bench.reopen()
    changed = replace(row, hook=b"{}", key="k2", sealed=b"\x01other")
    assert await bench.store.write_hook(changed)
    assert await bench.store.read_hooks([queue.id]) == [changed]
    assert await bench.store.read_hooks([]) == []


async def test_what_is_sealed_anew_must_be_what_was_read(bench: Bench) -> None:
    queue = await bench.queue("https://a")
    row = HookRow(queue.id, "default", b"{}", "k1", b"one")
    await bench.store.write_hook(row)
    assert not await bench.store.write_hook(replace(row, key="k2", sealed=b"x"), was=b"other")
    assert await bench.store.read_hooks([queue.id]) == [row]
    assert await bench.store.write_hook(replace(row, key="k2", sealed=b"two"), was=b"one")
    assert (await bench.store.read_hooks([queue.id]))[0].sealed == b"two"


async def test_pages_of_settings_under_other_keys(bench: Bench) -> None:
    rows = []
    for number in range(5):
        queue = await bench.queue(f"https://{number}", tenant="acme")
        key = "new" if number == 2 else "old"
        rows.append(HookRow(queue.id, "acme", b"{}", key, b"%d" % number))
        await bench.store.write_hook(rows[-1])
    first = await bench.store.hooks_not_under("new", 0, 3)
    assert first == [rows[0], rows[1], rows[3]]
    assert await bench.store.hooks_not_under("new", first[-1].queue, 3) == [rows[4]]


async def test_settings_are_paged_by_name_and_forgotten(bench: Bench) -> None:
    """Of one tenant, and of queues that have any."""
    rows, policies = {}, {}
    for name in ("https://c", "https://a", "https://b"):
        queue = await bench.queue(name, tenant="acme")
        rows[name] = HookRow(queue.id, "acme", b"{}", "k1", name.encode())
        policies[name] = queue.policy
        await bench.store.write_hook(rows[name])
    await bench.queue("https://a0", tenant="acme")
    other = await bench.queue("https://a")
    await bench.store.write_hook(HookRow(other.id, "default", b"{}", "k1", b"x"))
    by_name = [HookEntry(name, policies[name], row) for name, row in sorted(rows.items())]
    assert await bench.store.hook_page("acme", "", 2) == by_name[:2]
    assert await bench.store.hook_page("acme", "https://b", 2) == by_name[2:]
    await bench.store.drop_hook(rows["https://b"].queue)
    assert await bench.store.hook_page("acme", "", 9) == [by_name[0], by_name[2]]
    assert await bench.store.read_hooks([rows["https://b"].queue]) == []
    assert len(await bench.store.hook_page("default", "", 9)) == 1


def noted(result: Result, note: TryDetails = NOTE, status: int = 200) -> Result:
    return replace(result, details=note, status=status)


async def test_every_try_is_in_the_log_the_delivered_one_too(bench: Bench) -> None:
    number = await bench.send(await bench.queue())
    lane = await bench.take()
    first = await bench.only(lane.id)
    fault = replace(NOTE, fault="reset", answered_ms=-1, answer=b"", address="")
    failed = bench.result(
        first, Move.climb, after_s=0, error=outcome.failed("no \x00 answer").error
    )
    await bench.record([noted(failed, fault, 0)])
    await bench.advance(1)
    second = await bench.only(lane.id)
    await bench.record([noted(bench.result(second, Move.deliver))])
    one, two = await bench.store.attempts("default", number)
    assert (one.number, one.outcome, one.status, one.fault, one.level) == (
        1,
        "failed",
        0,
        "reset",
        0,
    )
    assert (one.answered_ms, one.address, one.answer) == (-1, "", b"")
    assert one.error.startswith("no ")
    assert (two.number, two.outcome, two.status, two.level) == (2, "delivered", 200, 1)
    assert (two.took_ms, two.answered_ms, two.connect_ms) == (5, 3, 2)
    assert two.address == "127.0.0.1:80"
    assert two.headers == {"webhook-id": "msg_1"}
    assert two.answer == NOTE.answer
    assert await bench.store.attempts("another", number) == []
    assert await bench.store.attempts("default", 1) == []


async def test_a_record_that_is_written_twice_is_in_the_log_once(bench: Bench) -> None:
    number = await bench.send(await bench.queue())
    lane = await bench.take()
    result = noted(bench.result(await bench.only(lane.id), Move.deliver))
    await bench.record([result])
    await bench.record([result])
    assert len(await bench.store.attempts("default", number)) == 1


async def test_a_late_failure_is_in_the_log_although_it_changes_nothing(bench: Bench) -> None:
    """It did take place: whoever owns the lane by now."""
    number = await bench.send(await bench.queue())
    lane = await bench.take()
    message = await bench.only(lane.id)
    old = await bench.vanish()
    await bench.take()
    result = noted(bench.result(message, Move.die, reason=DeadReason.rejected, epoch=lane.epoch))
    await bench.record([result], owner=old)
    assert await bench.counts() == {"waiting": 1}
    assert len(await bench.store.attempts("default", number)) == 1


async def test_the_log_is_forgotten_when_its_time_is_over(bench: Bench) -> None:
    queue = await bench.queue()
    for _ in range(3):
        await bench.send(queue)
    lane = await bench.take()
    for message in await bench.due(lane.id):
        await bench.record([noted(bench.result(message, Move.deliver))])
        await bench.advance(3_600)
    while await bench.store.retain(DAY_MS, DAY_MS):
        pass
    assert await bench.rows("select count(*) from webhook_try") == [(3,)]
    await bench.advance(86_400 - 3_600 * 1.5)
    while await bench.store.retain(DAY_MS, DAY_MS):
        pass
    assert await bench.rows("select count(*) from webhook_try") == [(1,)]
