"""The next release: a copy of this one in which a table is changed by a migration, every function is
replaced, and one of them writes the new column. Its processes and ours work on one road."""

import shutil
from pathlib import Path

import psycopg
from msgspec import Struct

from tests.upgrades.crew import OURS, Crew, Member, command, crew_at, until

COLUMN = "colour text not null default 'red'"
KINDS = ("sender", "in", "http", "hook")


def make_next(folder: Path, *, oldest: int = 100) -> Path:
    """Copy this release into a folder, and make it the next one; `oldest`: what its road still
    works with."""
    copy = folder / "postroad"
    shutil.copytree(OURS, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for store, table, path in (
        ("sqlite", "token", "schema/tokens.sql"),
        ("postgres", "attempt", "schema/tables/delivery.sql"),
    ):
        place = copy / "stores" / store
        (place / "migrations" / "101_colour.sql").write_text(
            f"alter table {table} add column {COLUMN};\n"
        )
        before, mark, after = (place / path).read_text().partition(f"create table {table} (")
        (place / path).write_text(before + mark + after.replace("\n)", f",\n  {COLUMN}\n)", 1))
    functions = copy / "stores" / "postgres" / "schema" / "functions"
    for file in functions.glob("*.sql"):
        if "\nbegin\n" in file.read_text():
            _edit(file, "\nbegin\n", "\nbegin\n  -- the next release\n")
    tried = (
        "insert into attempt (message_id, number, started_at, level, kind, status, took_ms, error"
    )
    _edit(functions / "record.sql", f"{tried})", f"{tried}, colour)")
    took = "select id, tries + 1, started, was, kind, status, took, error from failed"
    _edit(functions / "record.sql", took, took.replace(" from", ", 'green' from"))
    migration = copy / "stores" / "postgres" / "migration.py"
    _edit(migration, "OLDEST: Final = BASELINE", f"OLDEST: Final = {oldest}")
    return folder


def _edit(path: Path, old: str, new: str) -> None:
    before = path.read_text()
    assert old in before, f"{path.name} has no {old!r}"
    path.write_text(before.replace(old, new))


class Upgrade(Struct, frozen=True):
    """What became of an upgrade under load. `twice`: deliveries of what was delivered already.
    `ghosts`: what was delivered though its transaction was rolled back. `colours`: of tries."""

    accepted: int
    missing: int
    twice: int
    ghosts: int
    steps: int
    colours: set[str]
    errors: list[str]


def upgrade_under_load(folder: Path, dsn: str, each: int) -> Upgrade:
    """Migrate a road while a fleet of this release sends and delivers; then run both releases, start
    one of the older again, and end with the newer alone. `each`: how many are sent in each stage."""
    release = make_next(folder / "next")
    assert command(None, "migrate", "--dsn", dsn).returncode == 0
    with psycopg.connect(dsn, autocommit=True) as raw:
        raw.execute("create table orders (body text primary key)")
    with crew_at(folder, dsn) as (crew, receiver):
        old_api, senders = _senders(crew, None, receiver.url)
        old = [crew.start("worker", None), crew.start("worker", None)]
        _more(crew, senders, each)
        moved = command(release, "migrate", "--json", "--dsn", dsn)
        _more(crew, senders, each)
        new_api, newer = _senders(crew, release, receiver.url)
        new = crew.start("worker", release)
        _more(crew, [*senders, *newer], each)
        crew.stop(old.pop())
        old.append(crew.start("worker", None))  # the older may be started again
        _more(crew, [*senders, *newer], each)
        crew.stop(*old)
        _more(crew, [*senders, *newer], each)
        crew.stop(*senders, *newer)
        crew.stop(old_api, new_api)
        sent = {line for sender in (*senders, *newer) for line in sender.said()}
        until(lambda: sent <= set(crew.delivered()) or new.has_ended, "all are delivered")
        crew.stop(new)
        got = crew.delivered()
        return Upgrade(
            accepted=len(sent),
            missing=len(sent - set(got)),
            twice=len(got) - len(set(got)),
            ghosts=sum(body.startswith("never-") for body in got),
            steps=moved.stdout.count('"version":101'),
            colours=_colours(dsn),
            errors=crew.errors() + ([moved.stderr] if moved.returncode else []),
        )


def _senders(crew: Crew, release: Path | None, hook: str) -> tuple[Member, list[Member]]:
    """An API of a release, and its senders of every kind."""
    api, url = crew.start_api(release)
    places = {"http": url, "hook": hook}
    return api, [crew.start(kind, release, places.get(kind, "")) for kind in KINDS]


def _more(crew: Crew, senders: list[Member], each: int) -> None:
    """Every sender sends some more, and something is delivered."""
    goals = [(sender, len(sender.said()) + each) for sender in senders]
    before = len(crew.delivered())
    until(
        lambda: (
            all(len(sender.said()) >= goal or sender.has_ended for sender, goal in goals)
            and len(crew.delivered()) > before
        ),
        "they send and deliver",
    )


def _colours(dsn: str) -> set[str]:
    with psycopg.connect(dsn) as raw:
        return {str(colour) for (colour,) in raw.execute("select colour from postroad.attempt")}
