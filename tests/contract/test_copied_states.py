"""What waits, is held, in doubt or blocked on SQLite goes on in the same way after a copy."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad, Reject
from postroad.model import foreign
from postroad.stores.copying import copy
from tests.contract.postgres import Template

NUMBER = 7


def quiet(_table: str, _done: int, _all: int) -> None: ...


class Worker:
    """A road whose handlers fail until they are told to work."""

    def __init__(self, dsn: str, *, works: bool) -> None:
        self.road = Postroad(dsn)
        self.seen: list[Any] = []
        self.works = works

        @self.road.handler("ordered", ordered=True, retries=0)
        async def ordered(message: Any) -> None:
            self._take(message.body)

        @self.road.handler("keyed", retries=0)
        async def keyed(message: Any) -> None:
            self._take(message.body)

        @self.road.handler("once", at_most_once=True, timeout=0.05)
        async def once(message: Any) -> None:
            if not self.works:
                await asyncio.sleep(60)
            self._take(message.body)

    def _take(self, body: Any) -> None:
        if not self.works:
            raise RuntimeError("not yet")
        self.seen.append(body)


async def held(dsn: str) -> dict[str, list[str]]:
    """Heads that hold their order groups with others behind them, and one message in doubt."""
    worker = Worker(dsn, works=False)
    road, ids = worker.road, dict[str, list[str]]()
    async with road:
        ids["ordered"] = [(await road.send("ordered", n)).id for n in range(3)]
        ids["keyed"] = [(await road.send("keyed", n, order_key="k")).id for n in range(3)]
        ids["once"] = [(await road.send("once", "perhaps")).id]
        await road.run(until_idle=True)
        states = [(await road.explain(each[0])).state for each in ids.values()]
        assert states == ["held", "held", "uncertain"]
    return ids


@pytest.mark.wide
async def test_a_head_that_holds_its_order_group_is_replayed_or_cancelled_after_a_copy(
    tmp_path: Path, postgres: Template
) -> None:
    source, target = f"sqlite:///{tmp_path}/road.db", postgres.server.create_database()
    ids = await held(source)
    await copy(source, target, quiet)
    worker = Worker(target, works=True)
    road = worker.road
    async with road:
        await road.run(until_idle=True)
        assert worker.seen == []  # their heads still hold both order groups
        assert (await road.explain(ids["ordered"][0])).state == "held"
        assert await road.dead.replay(ids=ids["ordered"][:1]) == 1
        await road.run(until_idle=True)
        assert worker.seen == [0, 1, 2]
        await road.cancel(ids["keyed"][0])
        await road.run(until_idle=True)
        assert worker.seen[3:] == [1, 2]
        await road.settle(ids["once"][0], "unsent")
        await road.run(until_idle=True)
        assert worker.seen[5:] == ["perhaps"]


@pytest.mark.wide
async def test_a_head_that_fails_again_after_a_copy_holds_its_order_group_again(
    tmp_path: Path, postgres: Template
) -> None:
    source, target = f"sqlite:///{tmp_path}/road.db", postgres.server.create_database()
    ids = await held(source)
    await copy(source, target, quiet)
    worker = Worker(target, works=False)
    async with worker.road as road:
        await road.dead.replay(ids=ids["keyed"][:1])
        await road.run(until_idle=True)
        assert (await road.explain(ids["keyed"][0])).state == "held"
        worker.works = True
        await road.dead.replay(ids=ids["keyed"][:1])
        await road.run(until_idle=True)
        assert worker.seen == [0, 1, 2]


async def test_numbers_of_processes_go_on_after_a_copy(tmp_path: Path, postgres: Template) -> None:
    """A number that an old process had would be taken for that one's, in jobs and in lanes."""
    source, target = f"sqlite:///{tmp_path}/road.db", postgres.server.create_database()
    last = 0
    for _ in range(NUMBER):
        async with Postroad(source) as road:
            last = road.owner
    await copy(source, target, quiet)
    async with Postroad(target) as road:
        assert road.owner > last >= NUMBER


async def test_a_zero_character_in_a_text_does_not_stop_a_copy(
    tmp_path: Path, postgres: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite keeps one, in an error from before they were cleaned; PostgreSQL takes none."""
    monkeypatch.setattr(foreign, "TABLE", {})
    source, target = f"sqlite:///{tmp_path}/road.db", postgres.server.create_database()
    road = Postroad(source)

    @road.handler("bad")
    async def bad(_message: Any) -> None:
        raise Reject("before\0after")

    async with road:
        number = (await road.send("bad", 1)).id
        await road.run(until_idle=True)
        assert "\0" in (await road.dead.show(number)).message.error
    await copy(source, target, quiet)
    async with Postroad(target) as copied:
        letter = await copied.dead.show(number)
        assert letter.message.error == "before\N{REPLACEMENT CHARACTER}after"
