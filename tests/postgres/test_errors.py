"""Bad input and bad servers: each has a name, and says what to do."""

import asyncio
import io
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from urllib.parse import quote

import asyncpg
import pytest

from postroad import Postroad
from postroad.model.errors import (
    AccessRefused,
    BadDsn,
    BadInput,
    NoSuchDatabase,
    SchemaTooNew,
    SchemaTooOld,
    ServerTooOld,
    StoreError,
    StoreUnavailable,
)
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.stores.copying import copy
from postroad.stores.postgres.connections import read_address
from postroad.stores.postgres.migration import VERSION, migrate
from postroad.stores.postgres.store import PostgresStore
from postroad.verbs.parts import Parts
from tests.servers import free_port
from tests.servers.pgbouncer import PrivatePgBouncer
from tests.servers.postgres import PrivatePostgres
from tests.servers.proxy import Proxy

Within = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def dsn(server: PrivatePostgres) -> str:
    """Without a schema: whoever opens it first makes one."""
    return server.create_database()


async def opened(dsn: str) -> None:
    async with Postroad(dsn):
        pass


async def told(dsn: str, error: type[StoreError]) -> str:
    """What opening says."""
    with pytest.raises(error) as caught:
        await opened(dsn)
    assert type(caught.value) is error
    return str(caught.value)


async def run(dsn: str, *statements: str) -> None:
    raw = await asyncpg.connect(dsn)
    try:
        for statement in statements:
            await raw.execute(statement)
    finally:
        await raw.close()


def test_a_wrong_password_is_refused_and_not_repeated(dsn: str, within: Within) -> None:
    text = within(told(dsn.replace("road:", "road:secret"), AccessRefused))
    assert "check user and password" in text
    assert "secret" not in text


def test_a_missing_database_is_named(dsn: str, within: Within) -> None:
    assert "nowhere does not exist" in within(
        told(dsn.rpartition("/")[0] + "/nowhere", NoSuchDatabase)
    )


def test_a_server_that_is_not_there_is_unavailable(within: Within) -> None:
    text = within(told(f"postgresql://road:x@127.0.0.1:{free_port()}/road", StoreUnavailable))
    assert "does not answer" in text


@pytest.mark.parametrize(
    "dsn", ["postgresql://host:port/road", "postgresql://host/road?listen=elsewhere"]
)
def test_a_malformed_address_is_said_so(dsn: str) -> None:
    with pytest.raises(BadDsn):
        Postroad(dsn)


def test_a_user_who_may_not_make_the_schema_is_told_what_to_grant(
    server: PrivatePostgres, dsn: str, within: Within
) -> None:
    name = dsn.rpartition("/")[2]
    own = server._dsn_of("postgres")
    server._psql(own, "create role guest login password 'guest'")
    server._psql(own, f'revoke all on database "{name}" from public')
    server._psql(own, f'grant connect on database "{name}" to guest')
    guest = f"postgresql://guest:guest@127.0.0.1:{server.port}/{name}"
    assert "grant this user CREATE" in within(told(guest, AccessRefused))


def test_a_user_who_may_not_change_a_road_starts_on_one_that_is_up_to_date(
    server: PrivatePostgres, dsn: str, within: Within
) -> None:
    server._psql(server._dsn_of("postgres"), "create role clerk login password 'clerk'")

    async def story() -> None:
        await opened(dsn)
        rights = "select, insert, update, delete on all tables in schema postroad"
        await run(
            dsn,
            "grant usage on schema postroad to clerk",
            f"grant {rights} to clerk",
            "grant usage on all sequences in schema postroad to clerk",
        )
        clerk = f"postgresql://clerk:clerk@127.0.0.1:{server.port}/{dsn.rpartition('/')[2]}"
        assert await migrate(read_address(clerk)) == 0
        async with Postroad(clerk) as road:
            road.handler("h")(print)
            await road.send("h", 1)
        await run(dsn, "update postroad.schema_version set functions = 'others'")
        with pytest.raises(AccessRefused, match="grant this user"):
            await migrate(read_address(clerk))

    within(story())


def test_an_old_server_is_told_from_a_new_one(within: Within) -> None:
    async def story() -> str:
        gone = asyncio.Event()

        async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(8)
            writer.write(b"N")  # no TLS here
            await reader.read(1024)
            version = b"server_version\0" + b"14.9\0"
            writer.write(b"R" + bytes([0, 0, 0, 8, 0, 0, 0, 0]))
            writer.write(b"S" + (4 + len(version)).to_bytes(4, "big") + version)
            writer.write(b"K" + bytes([0, 0, 0, 12]) + bytes(8) + b"Z" + bytes([0, 0, 0, 5]) + b"I")
            await reader.read(1024)
            writer.close()
            gone.set()

        async with await asyncio.start_server(greet, "127.0.0.1", 0) as old:
            port = old.sockets[0].getsockname()[1]
            text = await told(f"postgresql://road:x@127.0.0.1:{port}/road", ServerTooOld)
            await gone.wait()
            return text

    assert "is PostgreSQL 14: Postroad needs 15" in within(story())


def test_other_functions_of_the_same_version_ask_for_migrate_which_replaces_them(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        await opened(dsn)
        await run(dsn, "update postroad.schema_version set functions = 'others'")
        assert "postroad migrate" in await told(dsn, SchemaTooOld)
        assert await migrate(read_address(dsn)) == 1
        await opened(dsn)
        assert await migrate(read_address(dsn)) == 0

    within(story())


def test_a_layout_from_before_the_first_release_is_refused_and_left_alone(
    dsn: str, tmp_path: Path, within: Within
) -> None:
    """By whoever would open it, move it on or copy into it."""

    async def story() -> None:
        made = "create table postroad.schema_version (version int, oldest int)"
        stamp = "insert into postroad.schema_version values (42, 1)"
        await run(dsn, "create schema postroad", made, stamp)
        assert "from before the first release" in await told(dsn, SchemaTooOld)
        with pytest.raises(SchemaTooOld, match="drop the schema `postroad` there"):
            await migrate(read_address(dsn))
        source = f"sqlite:///{tmp_path}/road.db"
        await opened(source)
        with pytest.raises(SchemaTooOld, match="name another database"):
            await copy(source, dsn, lambda *_: None)

    within(story())


def test_a_newer_schema_that_dropped_us_is_refused(dsn: str, within: Within) -> None:
    async def story() -> None:
        await opened(dsn)
        newer = f"version = {VERSION + 5}, functions = 'newer'"
        await run(dsn, f"update postroad.schema_version set {newer}")
        await opened(dsn)  # it still has our functions
        assert await migrate(read_address(dsn)) == 0
        await run(dsn, f"update postroad.schema_version set oldest = {VERSION + 1}")
        assert "upgrade Postroad" in await told(dsn, SchemaTooNew)

    within(story())


def test_a_stricter_isolation_would_break_the_locks_and_is_refused(
    dsn: str, within: Within
) -> None:
    async def story() -> None:
        name = dsn.rpartition("/")[2]
        level = "default_transaction_isolation"
        await run(dsn, f'alter database "{name}" set {level} = "repeatable read"')
        assert "read committed" in await told(dsn, StoreError)
        await run(dsn, f'alter database "{name}" reset {level}')
        await opened(dsn)

    within(story())


def test_a_text_that_postgresql_cannot_store_takes_nobody_with_it(dsn: str, within: Within) -> None:
    async def story() -> None:
        async with Postroad(dsn) as road:
            road.handler("h")(print)
            sends = [
                road.send("h", 1),
                road.send("h", 2, order_key="a\0b"),
                road.send("h", 3),
            ]
            one, two, three = await asyncio.gather(*sends, return_exceptions=True)
            assert isinstance(two, BadInput)
            assert not isinstance(one, BaseException)
            assert not isinstance(three, BaseException)
            assert (await road.store.counts())["waiting"] == 2

    within(story())


# PgBouncer in transaction mode


async def drained(dsn: str, log: io.StringIO) -> tuple[int, bool]:
    """How many of ten messages were delivered, and whether the bell could be heard."""
    store = PostgresStore(dsn, SystemClock(), make_log("info", log))
    await store.open()
    road = Postroad(parts=Parts(store=store, log=make_log("error", log)))
    done: list[int] = []

    @road.handler("h")
    async def handle(message: Any) -> None:
        done.append(message.body)

    try:
        async with road:
            await road.send_many([("h", number) for number in range(10)])
            await road.run(until_idle=True)
    finally:
        await store.close()
    return len(done), store.bell.alive


def test_pgbouncer_works_and_says_that_the_bell_needs_an_address_of_its_own(
    dsn: str, within: Within
) -> None:
    log = io.StringIO()
    with PrivatePgBouncer(dsn) as bouncer:
        delivered, _ = within(drained(bouncer.dsn(), log))
    assert delivered == 10
    assert "?listen=" in log.getvalue()


def test_pgbouncer_with_a_direct_address_for_the_bell(dsn: str, within: Within) -> None:
    log = io.StringIO()

    async def story(pooled: str) -> bool:
        store = PostgresStore(pooled, SystemClock(), make_log("info", log))
        await store.open()
        alive = store.bell.alive
        await store.close()
        return alive

    with PrivatePgBouncer(dsn) as bouncer:
        assert within(story(f"{bouncer.dsn()}?listen={quote(dsn, safe='')}"))
        assert not within(story(bouncer.dsn()))


# Connections that are lost


def test_a_lost_answer_is_unavailable_and_the_next_statement_finds_its_way(
    dsn: str, within: Within
) -> None:
    async def story(proxy: Proxy) -> None:
        async with Postroad(proxy.dsn()) as road:
            road.handler("h")(print)
            await road.send("h", "first")
            sprung = proxy.cut_after_next(b"second")
            with pytest.raises(StoreUnavailable):
                await road.send("h", "second")
            assert sprung.is_set()
            await road.send("h", "third")
            assert (await road.store.counts())["waiting"] == 3  # it was stored after all

    with Proxy(dsn) as proxy:
        within(story(proxy))


def test_a_server_that_was_restarted_costs_an_idle_road_nothing(within: Within) -> None:
    async def story(server: PrivatePostgres, dsn: str) -> None:
        async with Postroad(dsn) as road:
            road.handler("h")(print)
            await road.send("h", 1)
            await asyncio.to_thread(server.restart)
            await asyncio.sleep(0.1)  # its connections have ended
            await road.send("h", 2)
            assert (await road.store.counts())["waiting"] == 2

    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("POSTROAD_TEST_POSTGRES", raising=False)
        with PrivatePostgres() as server:
            within(story(server, server.create_database()))
