"""An import and others at the same time: nothing is ever half-imported."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from postroad import Postroad
from postroad.campaigns.reading import BadFile
from postroad.model.campaign import Verb, WrongState
from postroad.ports.campaigns import Import, NewRows
from tests.campaigns.provider import Provider
from tests.campaigns.stories import local, numbers, prepare, until, write_csv
from tests.campaigns.test_importing import in_batches_of, make
from tests.servers.postgres import PrivatePostgres

Within = Callable[[Any], Any]
FILE = Import(1, "digest", ("recipient", "name"))


def some(count: int, first: int = 0) -> NewRows:
    people = numbers(first + count)[first:]
    return NewRows(range(first + 2, first + count + 2), people, ["[]"] * count)


@pytest.fixture
def tell(dsn: str, provider: Provider, tmp_path: Path, within: Within) -> Callable[..., None]:
    """Runs a story on a draft with one recipient, whose import of ten more stands at line 11."""

    def run(story: Callable[[Postroad, Import], Any]) -> None:
        async def whole() -> None:
            async with local(dsn) as road:
                await prepare(road, provider, tmp_path, ["+1999123456"])
                store = road.campaign_service.store
                await store.open_import(FILE)
                assert await store.load(FILE, some(10)) == []
                at = await store.importing(1)
                assert at is not None
                assert (at.line, at.rows) == (11, 10)
                await story(road, at)

        within(whole())

    return run


async def adds_up(road: Postroad, total: int) -> None:
    shown, exact = (await road.campaigns.show("c")).counts, await road.campaigns.exact("c")
    assert shown == exact
    assert exact.total == total


def test_a_discarded_import_loads_no_more(tell: Callable[..., None]) -> None:
    async def story(road: Postroad, at: Import) -> None:
        await road.campaigns.discard_import("c")
        with pytest.raises(WrongState, match="discarded"):
            await road.campaign_service.store.load(at, some(10, 10))
        assert not await road.campaign_service.store.end_import(1, keep=True)
        await adds_up(road, 1)

    tell(story)


def test_of_two_that_load_the_same_file_one_goes_on(tell: Callable[..., None]) -> None:
    async def story(road: Postroad, at: Import) -> None:
        loads = [road.campaign_service.store.load(at, some(10, 10)) for _ in range(2)]
        first, second = sorted(await asyncio.gather(*loads, return_exceptions=True), key=str)
        assert first == []
        assert isinstance(second, WrongState)
        await adds_up(road, 21)

    tell(story)


def test_a_campaign_is_not_started_between_two_batches(tell: Callable[..., None]) -> None:
    async def story(road: Postroad, at: Import) -> None:
        campaign = await road.campaign_service.store.campaign("default", "c")
        assert campaign is not None
        for verb in (Verb.start, Verb.schedule):
            assert not await road.campaign_service.store.move(campaign, verb)
        with pytest.raises(WrongState, match="stands at line 11"):
            await road.campaigns._move(campaign, Verb.start)
        await road.campaign_service.store.load(at, some(10, 10))
        assert await road.campaign_service.store.end_import(1, keep=True)
        assert (await road.campaigns.start("c")).state == "running"

    tell(story)


def test_a_campaign_that_started_meanwhile_takes_no_import(tell: Callable[..., None]) -> None:
    async def story(road: Postroad, _at: Import) -> None:
        await road.campaign_service.store.end_import(1, keep=True)
        await road.campaigns.start("c")
        with pytest.raises(WrongState, match="draft"):
            await road.campaign_service.store.open_import(FILE)
        await adds_up(road, 11)

    tell(story)


def test_other_columns_that_were_read_before_the_first_came_are_refused(
    tell: Callable[..., None],
) -> None:
    async def story(road: Postroad, _at: Import) -> None:
        await road.campaign_service.store.end_import(1, keep=True)
        with pytest.raises(WrongState, match="other columns"):
            await road.campaign_service.store.open_import(Import(1, "b", ("recipient", "amount")))
        again = await road.campaign_service.store.open_import(Import(1, "b", FILE.columns))
        assert (again.digest, again.rows) == ("b", 0)

    tell(story)


def test_a_cancelled_campaign_loads_no_more(tell: Callable[..., None]) -> None:
    async def story(road: Postroad, at: Import) -> None:
        await road.campaigns.cancel("c")
        with pytest.raises(WrongState, match="discarded"):
            await road.campaign_service.store.load(at, some(10, 10))
        await adds_up(road, 11)

    tell(story)


def test_a_file_that_changes_while_it_is_imported_is_not_taken(
    dsn: str, provider: Provider, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_csv(tmp_path / "a.csv", numbers(50))
    in_batches_of(20, monkeypatch)

    def told(step: str, _done: int, _size: int) -> None:
        if step == "load":
            write_csv(path, numbers(51))

    async def story() -> None:
        async with local(dsn) as road:
            await make(road, provider)
            with pytest.raises(BadFile, match="changed while it was imported"):
                await road.campaigns.import_file("c", path, progress=told)
            with pytest.raises(WrongState, match="stands at line"):
                await road.campaigns.start("c")
            await road.campaigns.discard_import("c")
            await adds_up(road, 0)

    within(story())


WAITS = "select exists (select from pg_stat_activity where wait_event_type = 'Lock')"
LOADS = """
begin;
select from postroad.campaign c join postroad.campaign_import i on i.campaign_id = c.id for update;
insert into postroad.campaign_message (campaign_id, n, line, recipient, fields)
values (1, 12, 12, '+1600', '[]');
update postroad.campaign_import set line = 12, loaded = loaded + 1;
update postroad.campaign set last_n = 12, total = total + 1;
"""


def test_a_discard_that_waits_for_a_batch_undoes_that_batch_too(
    server: PrivatePostgres, provider: Provider, tmp_path: Path, within: Within
) -> None:
    dsn = server.create_road()

    async def story() -> None:
        async with local(dsn) as road:
            await prepare(road, provider, tmp_path, ["+1999123456"])
            await road.campaign_service.store.open_import(FILE)
            await road.campaign_service.store.load(FILE, some(10))
            loader, watcher = await asyncpg.connect(dsn), await asyncpg.connect(dsn)
            await loader.execute(LOADS)
            discard = asyncio.create_task(road.campaigns.discard_import("c"))
            await until(lambda: watcher.fetchval(WAITS))
            await loader.execute("commit")
            await discard
            await adds_up(road, 1)
            for connection in (loader, watcher):
                await connection.close()

    within(story())
