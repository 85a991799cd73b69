"""The schema is source: each definition once, none that nothing reaches, and a road that was moved on
by `migrate` equals a new one, also while workers run."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import asyncpg
import pytest

import postroad
from postroad import Postroad
from postroad.model.errors import SchemaTooOld, StoreError
from postroad.model.ids import to_number
from postroad.stores.postgres import migration
from postroad.stores.postgres.connections import QUERIES, read_address
from postroad.stores.postgres.migration import FUNCTIONS, TABLES, migrate
from tests.postgres.catalog import catalog
from tests.servers.postgres import PrivatePostgres

Within = Callable[[Coroutine[Any, Any, Any]], Any]
DEFINITION = re.compile(r"^create (?:or replace )?(?:unique )?(\w+) (\w+)", re.MULTILINE)
FUNCTION = re.compile(
    r"((?:^--[^\n]*\n)*)^create or replace function (\w+)(.*?)(?=\n\n|\Z)", re.MULTILINE | re.DOTALL
)
KEPT = "-- Kept until release "
RELEASED = Path(__file__).parents[1] / "contract" / "releases" / "postgres"
SRC = Path(postroad.__file__).parent
WRITTEN = (
    "select max(xmin::text::bigint) from pg_proc where pronamespace = 'postroad'::regnamespace"
)


def definitions(scripts: Mapping[str, str]) -> list[tuple[str, str]]:
    """(kind, name) of everything that the scripts define, in order."""
    return [(m[1], m[2]) for text in scripts.values() for m in DEFINITION.finditer(text)]


def called_by_statements() -> set[str]:
    """Functions that the SQL outside of the schema calls."""
    texts = [path.read_text() for path in SRC.rglob("*.sql") if "schema" not in path.parts]
    made = {name for text in texts for name in re.findall(r"function postroad\.(\w+)", text)}
    return {name for text in texts for name in re.findall(r"postroad\.(\w+)\(", text)} - made


def unreachable(scripts: Mapping[str, str]) -> set[str]:
    """Functions that neither statements, nor triggers, nor functions which those reach would call.
    Those that are kept for processes of the last release are reached by them."""
    bodies: dict[str, str] = {}
    reached: set[str] = set()
    for comment, name, text in FUNCTION.findall("\n\n".join(scripts.values())):
        bodies[name] = re.sub(r"--.*", "", text)
        if KEPT in comment or f"execute function {name}()" in text:
            reached.add(name)
    reached |= called_by_statements()
    todo = reached & bodies.keys()
    while todo:
        called = {word for name in todo for word in re.findall(r"(\w+)\(", bodies[name])}
        todo = (called & bodies.keys()) - reached
        reached |= todo
    return bodies.keys() - reached


def test_no_definition_stands_twice() -> None:
    kinds = Counter(kind for kind, _ in definitions(TABLES))
    assert kinds.keys() == {"table", "index", "view", "type"}
    assert {kind for kind, _ in definitions(FUNCTIONS)} == {"function", "trigger"}
    names = Counter(definitions(TABLES) + definitions(FUNCTIONS))
    assert {name for name, count in names.items() if count > 1} == set()


def test_no_function_is_unreachable() -> None:
    assert unreachable(FUNCTIONS) == set()
    orphan = "create or replace function orphan() returns int language sql as $$ select 1 $$;"
    called = orphan.replace("orphan", "called")
    caller = orphan.replace("orphan", "caller").replace("select 1", "select called()")
    assert unreachable({**FUNCTIONS, "x": f"{called}\n\n{caller}"}) == {"called", "caller"}
    kept = f"{KEPT}0.3: processes of 0.2 call it.\n{caller}"
    assert unreachable({**FUNCTIONS, "x": f"{called}\n\n{kept}"}) == set()


def test_no_statement_calls_a_function_that_is_not_there() -> None:
    there = {name for kind, name in definitions(FUNCTIONS) if kind == "function"}
    assert called_by_statements() - there == set()


def test_a_road_has_all_functions_and_each_is_valid(dsn: str, within: Within) -> None:
    async def story() -> None:
        raw = await asyncpg.connect(dsn)
        query = "select proname from pg_proc where pronamespace = 'postroad'::regnamespace"
        found = sorted(row[0] for row in await raw.fetch(query))
        assert found == sorted(name for kind, name in definitions(FUNCTIONS) if kind == "function")
        # When they are made, each may name what comes after it; now everything is there.
        await raw.execute("set search_path = postroad; set check_function_bodies = on")
        await raw.execute("\n".join(FUNCTIONS.values()))
        await raw.close()

    within(story())


async def made_from(tables: Mapping[str, str], version: int, server: PrivatePostgres) -> str:
    """A road with the tables of some release, and none of the functions."""
    dsn = server.create_database()
    raw = await asyncpg.connect(dsn)
    stamp = QUERIES["schema_stamp"].format(version, 100, "", migration.tables_digest())
    path = "set search_path = postroad"
    for script in (QUERIES["schema_create"], path, *tables.values(), stamp):
        await raw.execute(script)
    await raw.close()
    return dsn


async def moved_on(tables: Mapping[str, str], version: int, server: PrivatePostgres) -> list[str]:
    """What such a road has when this release has moved it on."""
    dsn = await made_from(tables, version, server)
    assert await migrate(read_address(dsn)) > 0
    return await catalog(dsn)


async def new(dsn: str) -> list[str]:
    """What a new road has."""
    assert await migrate(read_address(dsn)) == 2
    return await catalog(dsn)


def test_a_road_of_every_release_is_moved_on_to_what_a_new_one_has(
    server: PrivatePostgres, within: Within
) -> None:
    async def story() -> None:
        whole = await new(server.create_database())
        assert await moved_on(TABLES, migration.VERSION, server) == whole
        for path in sorted(RELEASED.glob("*.sql")):
            tables = {"all": path.read_text()}
            assert await moved_on(tables, int(path.stem), server) == whole, path.name

    within(story())


def test_a_table_that_is_changed_without_a_migration_is_noticed(
    server: PrivatePostgres, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next release adds a column: with its migration both roads are the same, without it not."""
    column = "colour text not null default 'red'"
    delivery = TABLES["delivery"].replace("create table lane (", f"create table lane ({column},")
    monkeypatch.setattr(migration, "TABLES", {**TABLES, "delivery": delivery})
    monkeypatch.setattr(migration, "VERSION", 101)

    async def story() -> None:
        script = {"101_colour": f"alter table lane add column {column}"}
        monkeypatch.setattr(migration, "MIGRATIONS", script)
        assert await moved_on(TABLES, 100, server) == await new(server.create_database())
        monkeypatch.setattr(migration, "MIGRATIONS", {"101_forgotten": "-- nothing"})
        assert await moved_on(TABLES, 100, server) != await new(server.create_database())

    within(story())


def test_a_migration_that_fails_halfway_changes_nothing(
    server: PrivatePostgres, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story() -> None:
        dsn = server.create_database()
        before = await new(dsn)
        with monkeypatch.context() as broken:
            broken.setattr(migration, "VERSION", 101)
            script = {"101_half": "drop table token; create table half (one int); oops"}
            broken.setattr(migration, "MIGRATIONS", script)
            with pytest.raises(StoreError, match="oops"):
                await migrate(read_address(dsn))
        assert await catalog(dsn) == before
        async with Postroad(dsn):
            assert await migrate(read_address(dsn)) == 0

    within(story())


def changed_since(releases: Mapping[int, str]) -> list[int]:
    """Releases of this version that had other functions, by the first line of their tables."""
    same = f"-- functions: {migration.digest()}\n"
    now = [text for version, text in releases.items() if version == migration.VERSION]
    return [migration.VERSION for text in now if not text.startswith(same)]


def test_functions_that_are_changed_without_a_number_are_noticed() -> None:
    """Two releases of one version would each refuse the road that the other one migrated."""
    assert (
        changed_since({int(path.stem): path.read_text() for path in RELEASED.glob("*.sql")}) == []
    )
    assert changed_since({migration.VERSION: "-- functions: other\n"}) == [migration.VERSION]


def test_of_several_who_migrate_one_does_and_no_start_writes_functions(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        raw = await asyncpg.connect(dsn)
        await raw.execute("update postroad.schema_version set functions = 'others'")
        address = read_address(dsn)
        taken = await asyncio.gather(*[migrate(address) for _ in range(4)])
        assert sorted(taken) == [0, 0, 0, 1]
        written = await raw.fetchval(WRITTEN)
        async with Postroad(dsn):
            assert await migrate(address) == 0
        assert await raw.fetchval(WRITTEN) == written
        await raw.close()

    within(story())


@pytest.mark.parametrize("commented", [False, True])
def test_tables_from_between_two_releases_are_refused_by_name(
    dsn: str, within: Within, monkeypatch: pytest.MonkeyPatch, commented: object
) -> None:
    """They have the number of the next release alone. A comment makes no other tables."""
    token = TABLES["tokens"]
    other = "-- Another comment.\n" + token if commented else token.replace("not null", "", 1)

    async def story() -> None:
        monkeypatch.setattr(migration, "TABLES", {**TABLES, "tokens": other})
        if commented:
            async with Postroad(dsn):
                return
        said = "between two releases.*drop the schema `postroad`"
        with pytest.raises(SchemaTooOld, match=said):
            await Postroad(dsn).__aenter__()
        with pytest.raises(SchemaTooOld, match=said):
            await migrate(read_address(dsn))

    within(story())


def test_workers_go_on_while_their_functions_are_replaced(dsn: str, within: Within) -> None:
    async def story() -> None:
        raw = await asyncpg.connect(dsn)
        seen = asyncio.Semaphore(0)
        road = Postroad(dsn)

        @road.handler("good")
        async def good(_message: Any) -> None:
            seen.release()

        async def sent(count: int) -> list[int]:
            receipts = await road.send_many([("good", n) for n in range(count)])
            for _ in receipts:
                await seen.acquire()
            return [to_number(receipt.id) for receipt in receipts]

        async with road:
            running = asyncio.create_task(road.run())
            ids = await sent(20)  # from now on its connections have plans
            for _ in range(3):
                await raw.execute("update postroad.schema_version set functions = 'others'")
                steps, more = await asyncio.gather(migrate(read_address(dsn)), sent(20))
                assert steps == 1
                ids += more
            road.stop()
            await running
        found = "select count(*) from postroad.finished($1)"
        await raw.execute("set search_path = postroad")
        assert await raw.fetchval(found, ids) == 80
        await raw.close()

    within(story())
