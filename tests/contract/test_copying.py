"""A stopped road moves from SQLite to PostgreSQL, whole, and goes on there."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad, Reject
from postroad.model.dead import DeadLetter
from postroad.model.errors import BadDsn, CopyRefused, RoadInUse
from postroad.stores import copying
from postroad.stores.copying import copy
from tests.contract.postgres import Template


def quiet(_table: str, _done: int, _all: int) -> None: ...


def road_at(dsn: str, seen: list[Any]) -> Postroad:
    road = Postroad(dsn)

    @road.handler("good", retries=3)
    async def good(message: Any) -> None:
        seen.append(message.body)

    @road.handler("bad")
    async def bad(message: Any) -> None:
        raise Reject(f"never {message.body}")

    @road.handler("flaky", ordered=True)
    async def flaky(_message: Any) -> None:
        raise RuntimeError("not yet")

    @road.every("0 0 1 1 *", name="yearly")
    async def yearly() -> None: ...

    return road


async def fill(dsn: str) -> dict[str, list[str]]:
    """One message in every state, a key, a block, a limit, a timetable and a token."""
    road = road_at(dsn, [])
    async with road:
        ids = {
            "done": [(await road.send("good", number)).id for number in range(5)],
            "dead": [(await road.send("bad", number)).id for number in range(3)],
            "tried": [(await road.send("flaky", "x", order_key="k")).id],
        }
        await road.run(until_idle=True)
        ids["keyed"] = [(await road.send("good", {"n": 1}, key="k", delay=3_600)).id]
        ids["held"] = [(await road.send("bad", "held", priority=3, headers={"a": "b"})).id]
        await road.pause("bad")
        ids["cancelled"] = [(await road.send("good", 1, delay=60)).id]
        await road.cancel(ids["cancelled"][0])
        await road.limit("good", "50/s,1000/h")
        await road.tokens.make("t", tenant="acme")
        ids["waiting"] = [(await road.send("good", f"late {number}")).id for number in range(20)]
    return ids


async def told(road: Postroad, ids: dict[str, list[str]]) -> dict[str, Any]:
    """All that can be asked about them, but for the numbers of lanes' owners."""
    said: dict[str, Any] = {}
    for number in [number for each in ids.values() for number in each]:
        one = await road.explain(number)
        said[number] = (
            one.state,
            one.reason,
            one.level,
            one.accepted_at_ms,
            one.tries,
            one.expires_at_ms,
        )
    letters: list[DeadLetter] = [await road.dead.show(number) for number in ids["dead"]]
    said["dead"] = letters
    said["queues"] = (await road.inspect.queues()).queues
    said["stands"] = await road.inspect.overview(tenant=None)
    said["tokens"] = await road.tokens.list(tenant=None)
    said["counts"] = await road.store.counts()
    return said


async def test_a_road_is_copied_with_everything_and_goes_on(
    tmp_path: Path, postgres: Template
) -> None:
    source = f"sqlite:///{tmp_path}/road.db"
    ids = await fill(source)
    async with road_at(source, []) as road:
        before = await told(road, ids)
    target = postgres.server.create_database()
    counts = (await copy(source, target, quiet)).counts
    assert (counts["message"], counts["dead"], counts["token"]) == (23, 3, 1)
    assert counts["idempotency"] == counts["schedule"] == 1
    seen: list[Any] = []
    road = road_at(target, seen)
    async with road:
        assert await told(road, ids) == before
        again = await road.send("good", {"n": 1}, key="k")
        assert (again.id, again.duplicate) == (ids["keyed"][0], True)
        await road.dead.replay(ids=ids["dead"][:1])
        await road.resume("bad")
        new = await road.send("good", "new")
        assert new.id > max(ids["waiting"])
        await road.run(until_idle=True)
        assert sorted(map(str, seen)) == sorted([*(f"late {n}" for n in range(20)), "new"])
        assert (await road.explain(ids["held"][0])).state == "dead"
    done = await copy(source, target, quiet)
    assert (done.counts, done.already_ms > 0) == (counts, True)
    async with road_at(source, []):
        pass
    with pytest.raises(CopyRefused, match=r"was complete before, .* opened since"):
        await copy(source, target, quiet)


async def test_a_road_that_is_in_use_is_not_copied_into(tmp_path: Path, postgres: Template) -> None:
    source = f"sqlite:///{tmp_path}/road.db"
    await fill(source)
    target = postgres.server.create_database()
    async with Postroad(target) as idle:  # nothing is in it, but somebody has it open
        with pytest.raises(CopyRefused, match="in use"):
            await copy(source, target, quiet)
        assert (await idle.inspect.queues()).queues == ()


async def test_a_copy_that_broke_off_is_taken_up_again(
    tmp_path: Path, postgres: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = f"sqlite:///{tmp_path}/road.db"
    ids = await fill(source)
    monkeypatch.setattr(copying, "BATCH", 4)
    target = postgres.server.create_database()
    for breaks_at in (("history", 4), ("rung", 4), ("message", 8)):

        def broken(name: str, done: int, _all: int, at: tuple[str, int] = breaks_at) -> None:
            if (name, done) == at:
                raise ConnectionResetError("the line went")

        with pytest.raises(Exception, match="the line went"):
            await copy(source, target, broken)
    steps: list[tuple[str, int]] = []
    await copy(source, target, lambda name, done, _: steps.append((name, done)))
    assert ("message", 4) not in steps  # it was there already
    async with road_at(source, []) as road:
        before = await told(road, ids)
    async with road_at(target, []) as road:
        assert await told(road, ids) == before


async def test_a_copy_of_a_road_that_changed_meanwhile_is_refused(
    tmp_path: Path, postgres: Template
) -> None:
    source = f"sqlite:///{tmp_path}/road.db"
    await fill(source)

    def broken(_name: str, _done: int, _all: int) -> None:
        raise ConnectionResetError("the line went")

    target = postgres.server.create_database()
    with pytest.raises(Exception, match="the line went"):
        await copy(source, target, broken)
    async with road_at(source, []) as road:
        await road.send("good", "one more")
    with pytest.raises(CopyRefused, match="opened or changed since"):
        await copy(source, target, quiet)


async def test_a_copy_that_is_not_the_same_is_named(
    tmp_path: Path, postgres: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = f"sqlite:///{tmp_path}/road.db"
    await fill(source)
    real, changed = copying._row, list[str]()

    def once(table: copying.Table, row: Sequence[Any]) -> tuple[Any, ...]:
        made = real(table, row)
        if table.name != "dead" or changed:
            return made
        changed.append(table.name)
        return (made[0] + 1, *made[1:])

    monkeypatch.setattr(copying, "_row", once)
    target = postgres.server.create_database()
    with pytest.raises(CopyRefused, match="dead differs"):
        await copy(source, target, quiet)


async def test_a_road_that_runs_or_is_not_there_is_refused(
    tmp_path: Path, postgres: Template
) -> None:
    source = f"sqlite:///{tmp_path}/road.db"
    target = postgres.server.create_database()
    with pytest.raises(CopyRefused, match="no road"):
        await copy(source, target, quiet)
    async with road_at(source, []):
        with pytest.raises(RoadInUse):
            await copy(source, target, quiet)
    with pytest.raises(BadDsn):
        await copy("postgresql://x/y", source, quiet)
