"""A SQLite road's tables: the same whether a road is new or comes from an earlier release."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import apsw
import pytest

from postroad.model.errors import SchemaTooOld, StoreError
from postroad.stores.sql import plain
from postroad.stores.sqlite import migration
from postroad.stores.sqlite.database import APPLICATION_ID, Database
from postroad.stores.sqlite.store import SqliteStore
from tests.contract.clock import ManualClock

RELEASES = Path(__file__).parent / "releases" / "sqlite"
"""The schema of each release, in one file, as `VERSION.sql`."""
DEFINED = re.compile(r"^create (?:unique )?(?:table|index|view) (\w+)", re.MULTILINE)


def dump(connection: apsw.Connection) -> dict[str, str]:
    ours = "sql is not null and name not glob 'sqlite_*'"
    rows = connection.execute(f"select name, sql from sqlite_master where {ours}")
    return {str(name): plain(str(sql)) for name, sql in rows}


def made_of(scripts: Iterable[str]) -> dict[str, str]:
    connection = apsw.Connection(":memory:")
    for script in scripts:
        connection.execute(script)
    return dump(connection)


def grown(path: Path) -> dict[str, str]:
    """The tables of a road after `migrate`."""
    db = Database(path)
    try:
        migration.migrate(db)
        assert db.pragma("user_version") == migration.VERSION
        return dump(db.connection)
    finally:
        db.close()


def old_road(path: Path, script: str, version: int) -> Path:
    connection = apsw.Connection(str(path))
    connection.execute("pragma journal_mode = wal")
    connection.execute(script)
    connection.execute(f"pragma user_version = {version}")
    connection.execute(f"pragma application_id = {APPLICATION_ID}")
    connection.close()
    return path


async def test_a_new_road_has_the_tables_of_the_schema(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "road.db", ManualClock())
    await store.open()
    found = await store.read("test", lambda db: dump(db.connection))
    await store.close()
    assert found == made_of(migration.SCHEMA.values())


def test_every_release_and_the_migrations_since_give_the_tables_of_the_schema(
    tmp_path: Path,
) -> None:
    releases = {int(file.stem): file.read_text("utf-8") for file in RELEASES.glob("*.sql")}
    # Without a release there is nothing to migrate from.
    assert bool(releases) or not migration.MIGRATIONS
    now = made_of(migration.SCHEMA.values())
    for version, script in releases.items():
        assert grown(old_road(tmp_path / f"{version}.db", script, version)) == now


@pytest.mark.parametrize("forgotten", [False, True])
def test_a_road_of_an_earlier_version_gets_what_a_new_one_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: object
) -> None:
    """And a change that was written as a migration alone is told from one that is in both."""
    baseline = "\n".join(migration.SCHEMA.values())
    path = old_road(tmp_path / "road.db", baseline, migration.BASELINE)
    column = ",\n  colour text not null default ''\n) strict, without rowid;"
    tokens = migration.SCHEMA["tokens"].replace("\n) strict, without rowid;", column)
    later = {
        "901_colour": "alter table token add column colour text not null default ''",
        "902_colours": "create index token_colour on token (colour)",
    }
    tokens += later["902_colours"] + ";\n"
    monkeypatch.setattr(migration, "MIGRATIONS", migration.MIGRATIONS | later)
    monkeypatch.setattr(migration, "VERSION", 902)
    if not forgotten:
        monkeypatch.setattr(migration, "SCHEMA", migration.SCHEMA | {"tokens": tokens})
    assert (grown(path) == grown(tmp_path / "new.db")) is not forgotten


def test_a_start_that_fails_halfway_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "road.db"
    with monkeypatch.context() as broken:
        broken.setattr(
            migration, "SCHEMA", migration.SCHEMA | {"zz": "create table half (one); oops"}
        )
        with pytest.raises(StoreError, match="oops"):
            grown(path)
    assert grown(path) == made_of(migration.SCHEMA.values())


def test_no_table_or_index_is_defined_twice() -> None:
    defined = Counter(DEFINED.findall("\n".join(migration.SCHEMA.values())))
    assert [name for name, times in defined.items() if times > 1] == []
    assert defined.keys() == made_of(migration.SCHEMA.values()).keys()


async def opened(path: Path) -> None:
    store = SqliteStore(path, ManualClock())
    await store.open()
    await store.close()


@pytest.mark.parametrize(
    "change",
    [
        ("not null", ""),
        ("create index", "-- create index"),
        ("create table endpoint_rules (", "create table rules_of_old ("),
    ],
)
async def test_a_road_from_between_two_releases_is_refused_and_left_alone(
    tmp_path: Path, change: tuple[str, str]
) -> None:
    """It has the number of the next release, and other tables."""
    tables = "\n".join(migration.SCHEMA.values())
    tables = tables.replace(*change, 1)
    path = old_road(tmp_path / "road.db", tables, migration.VERSION)
    before = path.read_bytes()
    with pytest.raises(SchemaTooOld, match=r"between two releases.*name another file"):
        await opened(path)
    assert path.read_bytes() == before


async def test_comments_layout_and_what_users_add_make_no_other_road(tmp_path: Path) -> None:
    tables = "\n".join(migration.SCHEMA.values()).replace(
        "create table token (", "create table token ( -- ours\n"
    )
    path = old_road(
        tmp_path / "road.db", tables + "create index mine on token (id);", migration.VERSION
    )
    await opened(path)


@pytest.mark.parametrize("version", [1, 16, migration.BASELINE - 1])
async def test_a_road_from_before_the_first_release_is_refused_and_left_alone(
    tmp_path: Path, version: int
) -> None:
    path = old_road(tmp_path / "road.db", "create table message (id integer primary key)", version)
    before = path.read_bytes()
    store = SqliteStore(path, ManualClock())
    with pytest.raises(SchemaTooOld, match=rf"schema {version}.*name another file"):
        await store.open()
    assert path.read_bytes() == before
