"""`postroad migrate` and `postroad store copy`."""

import asyncio
from typing import Annotated

from postroad.cli.frame import CommandCall, command
from postroad.cli.options import Argument, Group
from postroad.cli.printing import as_json, err, out, table, when
from postroad.model.extras import Needing
from postroad.stores.naming import make_folder, shown
from postroad.stores.opening import migrate as migrate_store


def add(app: Group) -> None:
    """These commands."""
    command(app, "migrate", panel="Look after it")(migrate)
    group = app.subgroup("store", "Look after it", "Move a whole road to another store.")
    command(group, "copy")(copy_store)


def migrate(call: CommandCall) -> None:
    """Bring the store's schema to this release's version. Stop a SQLite road first; on PostgreSQL
    older processes may go on."""
    dsn = call.loaded().settings.dsn
    make_folder(dsn)
    steps, version = asyncio.run(migrate_store(dsn))
    if call.json:
        as_json({"steps": steps, "version": version})
    else:
        out().print(f"{shown(dsn)}: {steps} steps taken, schema {version}")


def copy_store(
    call: CommandCall,
    source: Annotated[str, Argument(help="sqlite:///FILE; nobody may run it.")],
    target: Annotated[str, Argument(help="postgresql://…, without a road in it.")],
) -> None:
    """Move a stopped road from SQLite to PostgreSQL: everything, checked by counts and keys. When
    it breaks off, the same command goes on where it was; before it is complete, nothing runs on
    the target. Once it was complete, the same command says so and does nothing."""
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
            f"Its secrets are sealed with the keys in {done.keys_file}: give every process of the "
            "new road the same ones, as POSTROAD_KEYS_FILE; they are not in the database",
        )
    if done.already_ms:
        out().print(f"Copied already: complete since {when(done.already_ms)}; nothing was done.")
        return
    table(("table", "rows#"), [(name, rows) for name, rows in done.counts.items() if rows])
    out().print("The same on both sides. The file is as it was; keep it as a backup.")
