"""Schema versions: made on first use, checked at every start, moved on by `postroad migrate`."""

from typing import Final

import asyncpg
from msgspec import Struct

from postroad.model.errors import CopyUnfinished, SchemaTooNew, SchemaTooOld
from postroad.stores.postgres.connections import QUERIES, Address, Raw, dial
from postroad.stores.postgres.errors import MIGRATE, UNFINISHED, named
from postroad.stores.sql import load, number_of

MIGRATIONS: Final = load("postroad.stores.postgres", "migrations")
VERSION: Final = max(map(number_of, MIGRATIONS))
OLDEST: Final = 1
"""Processes that know only this version can still work with a schema of ours."""
LOCK: Final = 0x526F6164


class Versions(Struct, frozen=True):
    """What a database holds: 0 is no road. `copying`: another road is being copied into it."""

    version: int = 0
    oldest: int = 0
    copying: bool = False


async def check(raw: Raw, where: str) -> None:
    """Whether this release can work with the schema; in an empty database it is made."""
    try:
        async with raw.transaction():
            found = await versions(raw)
        if found.version == 0:
            _ = await move(raw)  # how many steps it took does not matter
            return
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise named(error, where) from error
    if found.copying:
        raise CopyUnfinished(UNFINISHED.format(where=where))
    if found.version < VERSION:
        raise SchemaTooOld(
            f"{where} has schema {found.version}, this release needs {VERSION}: {MIGRATE}"
        )
    if found.oldest > VERSION:
        raise SchemaTooNew(
            f"{where} has schema {found.version}, this release knows {VERSION}: upgrade Postroad"
        )


async def exists(address: Address) -> bool:
    """Whether there is a schema of ours, of whatever version."""
    raw = await dial(address, pooled=True)
    try:
        return (await versions(raw)).version > 0
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise named(error, address.name) from error
    finally:
        raw.terminate()


async def migrate(address: Address) -> int:
    """Bring the schema to this release's version; answers how many steps were taken."""
    raw = await dial(address, pooled=True)
    try:
        if (await versions(raw)).copying:
            raise CopyUnfinished(UNFINISHED.format(where=address.name))
        return await move(raw)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
        raise named(error, address.name) from error
    finally:
        raw.terminate()


async def move(raw: Raw) -> int:
    """The steps that are missing, in one transaction; of several processes one takes them."""
    async with raw.transaction():
        await raw.execute(f"select pg_advisory_xact_lock({LOCK}, 67)")
        found = await versions(raw)
        if found.version == 0:
            await raw.execute(QUERIES["schema_create"])
        await raw.execute("set local search_path = postroad, pg_temp")
        steps = [name for name in sorted(MIGRATIONS) if number_of(name) > found.version]
        for name in steps:
            await raw.execute(MIGRATIONS[name])
        if found.version < VERSION:
            await raw.execute(QUERIES["schema_stamp"].format(VERSION, max(found.oldest, OLDEST)))
    return len(steps)


async def versions(raw: Raw) -> Versions:
    """The schema's version, the oldest release that can use it, and whether it is being copied."""
    if not await raw.fetchval(QUERIES["schema_exists"]):
        return Versions()
    row = await raw.fetchrow(QUERIES["schema_version"])
    return Versions(*row) if row else Versions()
