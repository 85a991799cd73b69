"""The private servers do what the fault tests will ask of them."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import asyncpg
import pytest

from tests.servers.pgbouncer import PrivatePgBouncer
from tests.servers.postgres import ELSEWHERE, NotPrivate, PrivatePostgres
from tests.servers.proxy import Proxy


@pytest.fixture(scope="module")
def pg() -> Iterator[PrivatePostgres]:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv(ELSEWHERE, raising=False)  # these tests stop their server
        with PrivatePostgres() as server:
            yield server


@pytest.fixture(scope="module")
def dsn(pg: PrivatePostgres) -> str:
    return pg.create_database()


async def run(dsn: str, *statements: str) -> object:
    conn = await asyncpg.connect(dsn, statement_cache_size=0)
    try:
        for statement in statements[:-1]:
            await conn.execute(statement)
        return await conn.fetchval(statements[-1])
    finally:
        await conn.close(timeout=60)


def test_serves_a_fresh_durable_database_to_an_ordinary_user(pg: PrivatePostgres, dsn: str) -> None:
    assert pg.version >= 150000
    assert asyncio.run(run(dsn, "CREATE TABLE t (i int)", "SHOW fsync")) == "on"
    assert (
        asyncio.run(run(dsn, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user")) is False
    )
    assert asyncio.run(
        run(dsn, "SELECT pg_stat_statements_reset()", "SELECT count(*) FROM pg_stat_statements")
    )


def test_refuses_a_wrong_password(pg: PrivatePostgres) -> None:
    with pytest.raises(asyncpg.InvalidPasswordError):
        asyncio.run(run(pg.dsn().replace("road:", "road:x"), "SELECT 1"))


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_keeps_committed_rows_over_a_stop(pg: PrivatePostgres, dsn: str, mode: str) -> None:
    pid = pg.pid
    asyncio.run(
        run(dsn, f"CREATE TABLE {mode} (i int)", f"INSERT INTO {mode} VALUES (7) RETURNING i")
    )
    pg.stop("immediate" if mode == "immediate" else "fast")
    with pytest.raises(ConnectionRefusedError):
        asyncio.run(run(dsn, "SELECT 1"))
    pg.start()
    assert pg.pid != pid
    assert asyncio.run(run(dsn, f"SELECT i FROM {mode}")) == 7


@pytest.mark.usefixtures("pg")
def test_does_not_outlive_the_process_that_started_it() -> None:
    script = "import os; from tests.servers.postgres import *; p = PrivatePostgres(); p.start()"
    script += "; print(p.pid, p.folder, flush=True); os.kill(os.getpid(), 9)"
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    ).stdout
    pid, folder = out.split()
    deadline = (
        "for i in $(seq 1200); do kill -0 $0 2>/dev/null || break; sleep 0.05; done; ! kill -0 $0"
    )
    subprocess.run(["sh", "-c", deadline, pid], check=True, capture_output=True)
    subprocess.run(["rm", "-r", folder], check=True)


def test_leaves_a_server_elsewhere_running(
    monkeypatch: pytest.MonkeyPatch, pg: PrivatePostgres
) -> None:
    monkeypatch.setenv(ELSEWHERE, pg.dsn())
    with PrivatePostgres() as other:
        dsn = other.create_database()
        assert asyncio.run(run(dsn, "SELECT 1")) == 1
        for verb in (other.start, other.stop, other.restart):
            with pytest.raises(NotPrivate):
                verb()
    with pytest.raises(asyncpg.InvalidCatalogNameError):
        asyncio.run(run(dsn, "SELECT 1"))


def test_pgbouncer_pools_by_transaction(pg: PrivatePostgres, dsn: str) -> None:
    with PrivatePgBouncer(dsn) as bouncer:
        assert asyncio.run(run(bouncer.dsn(), "SHOW server_version_num")) == str(pg.version)

        async def sessions_share_a_backend() -> bool:
            first, second = [
                await asyncpg.connect(bouncer.dsn(), statement_cache_size=0) for _ in range(2)
            ]
            pids = [await conn.fetchval("SELECT pg_backend_pid()") for conn in (first, second)]
            await first.close()
            await second.close()
            return bool(pids[0] == pids[1])

        assert asyncio.run(sessions_share_a_backend())


def test_a_commit_whose_answer_is_cut_off_is_done(dsn: str) -> None:
    async def ambiguous(proxy: Proxy) -> object:
        conn = await asyncpg.connect(proxy.dsn())
        await conn.execute("CREATE TABLE cut (i int)")
        sprung = proxy.cut_after_next(b"COMMIT")
        with pytest.raises((asyncpg.PostgresConnectionError, OSError)):
            async with conn.transaction():
                await conn.execute("INSERT INTO cut VALUES (1)")
        assert sprung.wait(60)
        assert await run(proxy.dsn(), "SELECT 1") == 1  # only that connection was cut
        return await run(dsn, "SELECT count(*) FROM cut")

    with Proxy(dsn) as proxy:
        assert asyncio.run(ambiguous(proxy)) == 1


def test_the_proxy_holds_releases_and_cuts(pg: PrivatePostgres) -> None:
    async def scene(proxy: Proxy) -> None:
        conn = await asyncpg.connect(proxy.dsn())
        proxy.hold()
        asking = asyncio.ensure_future(conn.fetchval("SELECT 5"))
        done, _ = await asyncio.wait([asking], timeout=0.2)
        assert not done
        proxy.release()
        assert await asyncio.wait_for(asking, 60) == 5
        proxy.cut()
        with pytest.raises((asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError)):
            await conn.fetchval("SELECT 6")

    with Proxy(pg.dsn()) as proxy:
        asyncio.run(scene(proxy))
