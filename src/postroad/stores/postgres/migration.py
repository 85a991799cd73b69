"""The schema of a road: made on first use, checked at every start, brought up to date by `migrate`.

`schema/README.md` says how tables and functions are changed."""

from functools import cache
from hashlib import blake2b
from typing import Final

from msgspec import Struct

from postroad.model.errors import CopyUnfinished, SchemaTooNew, SchemaTooOld
from postroad.stores.postgres.connections import QUERIES, DatabaseAddress, Raw, connected
from postroad.stores.postgres.errors import MIGRATE, UNFINISHED
from postroad.stores.sql import BETWEEN, number_of, plain, read_scripts, shared_views

TABLES: Final = read_scripts("postroad.stores.postgres", "schema/tables") | shared_views()
FUNCTIONS: Final = read_scripts("postroad.stores.postgres", "schema/functions")
MIGRATIONS: Final = read_scripts("postroad.stores.postgres", "migrations")
BASELINE: Final = 100
"""The version of a road that no migration has changed. Lower ones are older than any release."""
VERSION: Final = max([BASELINE, *map(number_of, MIGRATIONS)])
OLDEST: Final = BASELINE
"""Processes that know only this version can still work with a schema of ours."""
LOCK: Final = 0x526F6164
UNRELEASED: Final = (
    "{where} has a road of a layout from before the first release, which cannot be migrated: let "
    "the program that made it deliver what is left, then drop the schema `postroad` there, or name "
    "another database"
)


class Versions(Struct, frozen=True):
    """What a database holds; version 0 is no road. `functions` is the digest of its functions,
    `tables` that of its tables. `copying`: another road is being copied into it."""

    version: int = 0
    oldest: int = 0
    functions: str | None = None
    tables: str | None = None
    copying: bool = False


def digest() -> str:
    """Identifies this release's set of functions."""
    text = "\0".join(FUNCTIONS[topic] for topic in sorted(FUNCTIONS))
    return blake2b(text.encode(), digest_size=16).hexdigest()


def tables_digest() -> str:
    """Identifies this release's tables, whatever their comments and layout."""
    return _digest_of("\n".join(TABLES.values()))


@cache
def _digest_of(script: str) -> str:
    return blake2b(plain(script).encode(), digest_size=16).hexdigest()


async def check(raw: Raw, where: str) -> None:
    """Refuse a schema that this release cannot work with; in an empty database, make it."""
    found = await versions(raw)
    if found.version == 0:
        _ = await move(raw, where)  # how many steps it took does not matter
        found = await versions(raw)  # another process may have made it
    check_released(found, where)
    if found.copying:
        raise CopyUnfinished(UNFINISHED.format(where=where))
    if steps(found):
        raise SchemaTooOld(
            f"{where} has schema {found.version}, this release needs {VERSION} with its own "
            f"functions: {MIGRATE}"
        )
    if found.oldest > VERSION:
        raise SchemaTooNew(
            f"{where} has schema {found.version}, this release knows {VERSION}: upgrade Postroad"
        )


def check_released(found: Versions, where: str) -> None:
    """Refuse a schema that is older than any release, or from between two."""
    if 0 < found.version < BASELINE:
        raise SchemaTooOld(UNRELEASED.format(where=where))
    if found.version == VERSION and found.tables != tables_digest():
        then = "drop the schema `postroad` there, or name another database"
        raise SchemaTooOld(BETWEEN.format(where=where, then=then))


async def exists(address: DatabaseAddress) -> bool:
    """Whether there is a schema of ours, of whatever version."""
    async with connected(address) as raw:
        return (await versions(raw)).version > 0


async def migrate(address: DatabaseAddress) -> int:
    """Bring the schema to this release's version; returns how many steps were taken."""
    async with connected(address) as raw:
        if (await versions(raw)).copying:
            raise CopyUnfinished(UNFINISHED.format(where=address.name))
        return await move(raw, address.name)


async def move(raw: Raw, where: str) -> int:
    """Take the steps that are missing, in one transaction; of several processes one does."""
    async with raw.transaction():
        await raw.execute(f"select pg_advisory_xact_lock({LOCK}, 67)")
        found = await versions(raw)
        check_released(found, where)
        missing = steps(found)
        if found.version == 0:
            await raw.execute(QUERIES["schema_create"])
        if missing:
            values = (VERSION, max(found.oldest, OLDEST), digest(), tables_digest())
            stamp = QUERIES["schema_stamp"].format(*values)
            # Together: asyncpg cannot run a script that is nothing but a comment.
            await raw.execute("\n;\n".join((QUERIES["schema_begin"], *missing, stamp)))
    return len(missing)


def steps(found: Versions) -> list[str]:
    """The scripts that bring a schema to this release: all tables or the changes of tables since
    its version, then all functions. A schema of a newer release stays as it is."""
    functions = "\n".join(FUNCTIONS.values())
    if found.version == 0:
        return ["\n".join(TABLES.values()), functions]
    later = [name for name in sorted(MIGRATIONS) if number_of(name) > found.version]
    if later or (found.version == VERSION and found.functions != digest()):
        return [*(MIGRATIONS[name] for name in later), functions]
    return []


async def versions(raw: Raw) -> Versions:
    """The versions that the schema was stamped with, and whether it is being copied."""
    async with raw.transaction():  # there may be a pooler
        if not await raw.fetchval(QUERIES["schema_exists"]):
            return Versions()
        row = await raw.fetchrow(QUERIES["schema_version"])
        return Versions(*row) if row else Versions()
