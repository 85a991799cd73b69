"""`postroad migrate` and `postroad store`: copy, backup, restored, release."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated

from postroad.cli.command import (
    Commands,
    LocalInvocation,
    SettingsInvocation,
    SettingsListing,
    add_group,
    command,
)
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import as_json, err, out, table, when
from postroad.model.errors import BadInput
from postroad.model.extras import Needing
from postroad.model.restoring import RestoredReport
from postroad.ports.clock import SystemClock
from postroad.ports.restoring import Restorable
from postroad.stores.naming import file_of, make_folder, shown
from postroad.stores.opening import has_road, open_store, open_to_look
from postroad.stores.opening import migrate as migrate_store
from postroad.verbs.restoring import RestoredRoad


def add(app: Group) -> None:
    """Add the commands for stores."""
    command(app, "migrate", panel="Look after it")(migrate)
    text = "Whole roads: copy one to another store, back it up, look at a restored one."
    commands: Commands = {"copy": copy_store, "backup": backup, "restored": restored}
    commands["release"] = release
    add_group(app, "store", "Look after it", text, commands)


def migrate(call: SettingsInvocation) -> None:
    """Migrate the store's schema to this release. Stop a SQLite road first; on PostgreSQL older
    processes may keep running."""
    dsn = call.loaded().settings.dsn
    make_folder(dsn)
    steps, version = asyncio.run(migrate_store(dsn))
    call.reply(
        {"steps": steps, "version": version}, f"{shown(dsn)}: {steps} steps taken, schema {version}"
    )


def copy_store(
    call: LocalInvocation,
    source: Annotated[str, Argument(help="sqlite:///FILE, which no process may have open.")],
    target: Annotated[str, Argument(help="postgresql://…, a database without a road.")],
) -> None:
    """Copy a stopped road from SQLite to PostgreSQL, and compare counts and keys. If the copy is
    interrupted, the same command continues it; no process can use the target before it is
    complete. After that the command only says so."""
    with Needing("a road on PostgreSQL"):
        from postroad.stores.copying import copy  # with the drivers of both stores

    screen = err()

    def told(name: str, done: int, total: int) -> None:
        screen.progress(f"{name} {done:,} of {total:,}")

    done = asyncio.run(copy(source, target, told))
    screen.progress("")
    if call.json:
        already = done.already_ms > 0
        as_json({"copied": done.counts, "already": already, "keys_file": done.keys_file})
        return
    if done.keys_file:
        err().print(
            f"Its secrets are encrypted with the keys in {done.keys_file}: give every process of "
            "the new road the same ones, as POSTROAD_KEYS_FILE; they are not in the database",
        )
    if done.already_ms:
        out().print(f"Copied already: complete since {when(done.already_ms)}; nothing was done.")
        return
    table(("table", "rows#"), [(name, rows) for name, rows in done.counts.items() if rows])
    out().print("Both sides are equal. The file is unchanged; keep it as a backup.")


def backup(
    call: SettingsInvocation,
    path: Annotated[Path, Argument(help="The file to make; there must be none of that name.")],
) -> None:
    """Back up a road on SQLite while it runs: a copy of one moment, verified before it gets its
    name. PostgreSQL has tools of its own; docs/guide/backups.md says how."""
    from postroad.stores.sqlite.backup import back_up

    road = file_of(call.loaded().settings.dsn)
    if road is None:
        raise BadInput("this road is on PostgreSQL: back up its database, with pg_dump for example")
    screen = err()

    def told(done: int, total: int) -> None:
        screen.progress(f"{done:,} of {total:,} pages")

    done = back_up(road, path, SystemClock().now_ms(), told)
    screen.progress("")
    if done.keys_file:
        screen.print(
            f"Its secrets are encrypted with the keys in {done.keys_file}, which are not in the "
            "backup: keep a copy of them elsewhere"
        )
    call.reply(done, f"{done.path}: {done.rows:,} rows, {done.bytes:,} bytes; verified")


def restored(
    call: SettingsListing,
    hold: Annotated[
        bool, Option("--hold", help="Let nothing of this road run until `store release`.")
    ] = False,
    reason: Annotated[str, Option(help="Why it is held, for people who try to run it.")] = "",
    limit: Annotated[int, Option(help="Show at most this many queues.", min=1)] = 20,
) -> None:
    """Tell what a road that was restored from a backup would send again, before it runs. With
    --hold nothing of it runs until it is released."""
    if reason and not hold:
        raise BadInput("--reason belongs to --hold")
    found = asyncio.run(_report(call.loaded().settings.dsn, limit, reason if hold else None))
    if call.printed(found):
        return
    call.facts(_told(found))
    rows = [(q.tenant, q.queue, q.due, q.later, when(q.first_due_ms)) for q in found.queues]
    call.table(("tenant", "queue", "due#", "later#", "first due"), rows, "no messages wait")


def release(call: SettingsInvocation) -> None:
    """Let a held road run."""
    done = asyncio.run(_release(call.loaded().settings.dsn))
    call.reply({"released": done}, "released" if done else "it was not held")


async def _report(dsn: str, limit: int, reason: str | None) -> RestoredReport:
    async with _restorable(dsn, looks=reason is None) as road:
        if reason is not None:
            await road.hold(reason)
        return await road.report(limit)


async def _release(dsn: str) -> bool:
    async with _restorable(dsn) as road:
        return await road.release()


@asynccontextmanager
async def _restorable(dsn: str, *, looks: bool = False) -> AsyncIterator[RestoredRoad]:
    """The store that a road's messages are in, opened; on SQLite nobody else has it then."""
    if dsn.startswith(("amqp://", "amqps://")):
        raise BadInput(
            "the messages of this road are in RabbitMQ, and no backup of its state has them: back "
            "up and restore the broker, as docs/guide/backups.md says"
        )
    if not await has_road(dsn):
        raise BadInput(f"there is no road at {shown(dsn).removeprefix('sqlite:///')}")
    store = (open_to_look if looks else open_store)(dsn, SystemClock())
    if not isinstance(store, Restorable):  # pragma: no cover - both are
        raise BadInput("this store cannot be restored")
    await store.open()
    try:
        yield RestoredRoad(store)
    finally:
        await store.close()


def _told(found: RestoredReport) -> list[tuple[str, object]]:
    at = when(found.backup_at_ms) if found.backup_at_ms else "never at work"
    totals = found.totals
    told: list[tuple[str, object]] = [
        ("backup made" if found.known else "last at work", at),
        ("may be sent again", f"{totals.due:,} messages: they were due, and unfinished then"),
        ("not sent by anybody", f"{totals.later:,} messages: they are not due yet"),
        ("in campaigns", f"{totals.recipients:,} recipients of campaigns that go on"),
        ("in mailboxes", f"{totals.letters:,} letters: some may have been fetched since"),
        ("timetables", f"{totals.timetables:,}: ticks since then come again, by their rule"),
        ("replays", f"{totals.replays:,} that go on"),
        ("not known here", "what was accepted after that: senders have its receipts"),
    ]
    if found.held_at_ms:
        told.append(("held", f"since {when(found.held_at_ms)}: {found.reason}"))
    return told
