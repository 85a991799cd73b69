"""A private PostgreSQL, a database of its own for each run, and how durable they are."""

import contextlib
import secrets
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from bench.disk import refuse_memory
from bench.shape import Durability, RunFailed
from tests.servers.postgres import PrivatePostgres

WAITS = {"off": 0, "local": 1, "on": 2, "remote_write": 2, "remote_apply": 2}
"""synchronous_commit as SQLite's synchronous: 2 is on the disk before it is answered."""
NOTE = """
create table if not exists public.noted (what text, waits text);
create or replace function public.note() returns trigger language plpgsql as $$
begin
  insert into public.noted values (tg_argv[0], current_setting('synchronous_commit'));
  return null;
end $$;
"""
# Durable to record as well as to accept: what our functions turn off for results stays on.
ALWAYS = """
select pg_get_functiondef(p.oid) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.nspname = 'postroad' and p.prosrc ~ 'synchronous_commit'
"""
OFF, ON = (
    "set_config('synchronous_commit', 'off', true)",
    "set_config('synchronous_commit', 'on', true)",
)


def start_server() -> PrivatePostgres:
    """A server that ends with this process, on a disk."""
    server = PrivatePostgres()
    server.__enter__()
    if server.folder is not None:
        refuse_memory(server.folder)
    return server


@contextlib.asynccontextmanager
async def database(server: str) -> AsyncIterator[str]:
    """A fresh one on the server of a DSN, dropped afterwards."""
    name = f"bench_{secrets.token_hex(6)}"
    admin = await asyncpg.connect(server)
    try:
        await admin.execute(f'create database "{name}"')
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        await admin.execute(f'drop database "{name}" with (force)')
    finally:
        await admin.close()


async def wait_when_recording(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """From now on this road's results are on the disk before they are answered."""
    changed = 0
    for (text,) in await connection.fetch(ALWAYS):
        if OFF in text:
            await connection.execute(text.replace(OFF, ON))
            changed += 1
    if not changed:
        raise RunFailed("no function turns synchronous_commit off any more: mend bench/databases")


async def note(
    connection: "asyncpg.Connection[asyncpg.Record]", accepts: str, records: str
) -> None:
    """From now on writers of these tables note how they wait; slow, so not while time is taken."""
    await connection.execute(NOTE)
    for what, table in (("accept", accepts), ("record", records)):
        await connection.execute(
            f"create trigger note_{what} after insert on {table} "
            f"for each statement execute function public.note('{what}')"
        )


async def durability(
    connection: "asyncpg.Connection[asyncpg.Record]",
) -> tuple[Durability, int]:
    """What was noted since: the server's, while accepting, and while recording."""
    noted: dict[str, set[str]] = {"accept": set(), "record": set()}
    for what, waits in await connection.fetch("select what, waits from public.noted"):
        noted[what].add(waits)
    if not all(noted.values()):
        raise RunFailed(f"nothing was noted of how it waits for the disk: {noted}")
    server = [await connection.fetchval(f"show {name}") for name in ("fsync", "full_page_writes")]
    mode = f"wal, fsync {server[0]}, full_page_writes {server[1]}"
    accepting, recording = (min(WAITS[w] for w in noted[what]) for what in ("accept", "record"))
    return Durability(mode, accepting), recording
