"""The tables of a road: made from `schema/`, or brought there by `migrations/`."""

from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final

import apsw

from postroad.model.errors import SchemaTooNew, SchemaTooOld
from postroad.stores.sql import BETWEEN, number_of, plain, read_scripts, shared_views
from postroad.stores.sqlite.database import APPLICATION_ID, Database, named_errors

SCHEMA: Final = read_scripts("postroad.stores.sqlite", "schema") | shared_views()
"""The tables as they are now, by topic."""
MIGRATIONS: Final = read_scripts("postroad.stores.sqlite", "migrations")
"""What changes the tables of earlier releases, in order."""
BASELINE: Final = 100
"""The version of a road that no migration has changed. Lower ones are older than any release."""
VERSION: Final = max([BASELINE, *map(number_of, MIGRATIONS)])


def migrate(db: Database) -> int:
    """Bring the tables to this release's version, each step in a transaction; answers how many
    steps it took."""
    with named_errors(db.path):
        found = db.pragma("user_version")
        _check_version(db.path, found)
        if found == 0:
            _run(db, "\n".join(SCHEMA.values()), VERSION)
            return 1
        if found == VERSION:
            _check_tables(db)
        steps = [name for name in sorted(MIGRATIONS) if number_of(name) > found]
        for name in steps:
            _run(db, MIGRATIONS[name], number_of(name))
        return len(steps)


def check(db: Database) -> None:
    """Refuse a road whose tables are not those of this release; nothing is changed."""
    with named_errors(db.path):
        found = db.pragma("user_version")
        _check_version(db.path, found)
        if found != VERSION:
            raise SchemaTooOld(
                f"{db.path} has schema {found}, and this Postroad {VERSION}: run "
                "`postroad migrate`, on a copy if this is a backup that is to stay as it is"
            )
        _check_tables(db)


def _check_version(path: Path, found: int) -> None:
    if found > VERSION:
        raise SchemaTooNew(
            f"{path} has schema {found}, this Postroad knows up to {VERSION}: "
            "upgrade Postroad, or name another file"
        )
    if 0 < found < BASELINE:
        raise SchemaTooOld(
            f"{path} was made before Postroad's first release (schema {found}), and cannot be "
            "read any more: deliver what waits in it with the Postroad that made it, then name "
            "another file"
        )


def _check_tables(db: Database) -> None:
    """Refuse a road whose tables are not those of its version: it has the number alone."""
    ours, found = _expected("\n".join(SCHEMA.values())), _definitions(db.connection)
    other = {name for name, sql in ours.items() if found.get(name) != sql}
    # A comment or the layout may have changed.
    if any(plain(ours[name]) != plain(found.get(name, "")) for name in other):
        raise SchemaTooOld(BETWEEN.format(where=db.path, then="name another file"))


@cache
def _expected(script: str) -> dict[str, str]:
    with closing(apsw.Connection(":memory:")) as connection:
        connection.execute(script)
        return _definitions(connection)


def _definitions(connection: apsw.Connection) -> dict[str, str]:
    rows = connection.execute("select name, sql from sqlite_master where sql is not null")
    return {str(name): str(sql) for name, sql in rows}


def _run(db: Database, script: str, version: int) -> None:
    db.connection.execute("begin immediate")
    db.connection.execute(script)
    db.connection.execute(f"pragma user_version = {version}")
    db.connection.execute(f"pragma application_id = {APPLICATION_ID}")
    db.connection.execute("commit")
