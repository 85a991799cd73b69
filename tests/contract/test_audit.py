"""The audit log on every store."""

from msgspec.structs import replace

from postroad.model.audit import AuditCursor, AuditEnd, AuditFilter, AuditLine, AuditOutcome
from tests.contract.bench import Bench

DAY_MS = 86_400_000
ALL = AuditFilter()


def line(bench: Bench, verb: str = "pause_queue", tenant: str = "a") -> AuditLine:
    """A line that was asked for now."""
    who = ("token1", "a token", "192.0.2.1")
    what = {"queue": "shop", "n": "ü\n"}
    return AuditLine(0, bench.now_ms, None, tenant, *who, verb, what, AuditOutcome.asked, 0)


async def test_a_line_is_read_as_it_was_written_and_completed(bench: Bench) -> None:
    first = line(bench)
    number = await bench.store.audit_add(first)
    (found,) = await bench.store.audit_page(ALL, AuditCursor(), 10)
    assert found == replace(first, id=number)
    end = AuditEnd(bench.now_ms + 7, AuditOutcome.done, 200, 12, {"queue": "shop"})
    await bench.store.audit_end(number, end)
    (found,) = await bench.store.audit_page(ALL, AuditCursor(), 10)
    assert (found.outcome, found.status, found.count) == (AuditOutcome.done, 200, 12)
    assert (found.ended_at_ms, found.what) == (bench.now_ms + 7, {"queue": "shop"})


async def test_lines_are_found_by_tenant_actor_verb_and_time(bench: Bench) -> None:
    numbers = []
    for tenant, verb in (("a", "x"), ("b", "x"), ("a", "y")):
        numbers.append(await bench.store.audit_add(line(bench, verb, tenant)))
        await bench.advance(10)

    async def found(which: AuditFilter, after: AuditCursor = AuditCursor()) -> list[int]:  # noqa: B008
        return [each.id for each in await bench.store.audit_page(which, after, 10)]

    one, two, three = numbers
    assert await found(ALL) == [three, two, one]
    assert await found(AuditFilter("a")) == [three, one]
    assert await found(AuditFilter(verb="x")) == [two, one]
    assert await found(AuditFilter("a", actor="token1", verb="y")) == [three]
    assert await found(AuditFilter(actor="somebody")) == []
    (last,) = await bench.store.audit_page(AuditFilter(verb="y"), AuditCursor(), 10)
    assert await found(ALL, AuditCursor(last.at_ms, last.id)) == [two, one]
    assert await found(AuditFilter(until_ms=last.at_ms)) == [two, one]
    assert await found(AuditFilter("a", since_ms=last.at_ms)) == [three]


async def test_old_lines_go_and_so_do_the_oldest_of_a_tenant_with_too_many(bench: Bench) -> None:
    await bench.store.audit_add(line(bench, "old", "b"))
    await bench.advance(20)
    for number in range(5):
        await bench.store.audit_add(line(bench, f"verb{number}"))
    await bench.store.audit_add(line(bench, "other", "b"))
    while await bench.store.audit_retain(bench.now_ms - DAY_MS, 3):
        pass
    left = await bench.store.audit_page(ALL, AuditCursor(), 10)
    assert sorted(each.verb for each in left) == ["old", "other", "verb2", "verb3", "verb4"]
    while await bench.store.audit_retain(bench.now_ms - 10_000, 3):
        pass
    left = await bench.store.audit_page(ALL, AuditCursor(), 10)
    assert "old" not in {each.verb for each in left}
    assert len(left) == 4
