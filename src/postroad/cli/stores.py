"""`postroad migrate` and `postroad store copy`."""

import asyncio
from typing import Annotated

from postroad.cli.command import LocalInvocation, SettingsInvocation, add_group, command
from postroad.cli.options import Argument, Group
from postroad.cli.printing import as_json, err, out, table, when
from postroad.model.extras import Needing
from postroad.stores.naming import make_folder, shown
from postroad.stores.opening import migrate as migrate_store


def add(app: Group) -> None:
    """Add the commands for stores."""
    command(app, "migrate", panel="Look after it")(migrate)
    text = "Move a whole road to another store."
    add_group(app, "store", "Look after it", text, {"copy": copy_store})


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
