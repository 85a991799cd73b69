"""`postroad migrate` and `postroad store copy`."""

import asyncio
from typing import Annotated

import typer
from rich.progress import Progress

from postroad.cli.command import Invocation, command
from postroad.cli.printing import as_json, err, out, table, when
from postroad.stores.naming import make_folder, shown
from postroad.stores.opening import migrate as migrate_store


def add(app: typer.Typer) -> None:
    """These commands."""
    command(app, "migrate", rich_help_panel="Look after it")(migrate)
    group = typer.Typer(no_args_is_help=True, help="Move a whole road to another store.")
    app.add_typer(group, name="store", rich_help_panel="Look after it")
    command(group, "copy")(copy_store)


def migrate(call: Invocation) -> None:
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
    call: Invocation,
    source: Annotated[str, typer.Argument(help="sqlite:///FILE; nobody may run it.")],
    target: Annotated[str, typer.Argument(help="postgresql://…, without a road in it.")],
) -> None:
    """Move a stopped road from SQLite to PostgreSQL: everything, checked by counts and keys. When
    it breaks off, the same command goes on where it was; before it is complete, nothing runs on
    the target. Once it was complete, the same command says so and does nothing."""
    from postroad.stores.copying import copy  # with the drivers of both stores

    with Progress(console=err(), disable=not err().is_terminal) as bar:
        tasks = {}

        def told(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=done)

        done = asyncio.run(copy(source, target, told))
    if call.json:
        already = done.already_ms > 0
        as_json({"copied": done.counts, "already": already, "keys_file": done.keys_file})
        return
    if done.keys_file:
        err().print(
            f"Its secrets are sealed with the keys in {done.keys_file}: give every process of the "
            "new road the same ones, as POSTROAD_KEYS_FILE; they are not in the database",
            soft_wrap=True,
        )
    if done.already_ms:
        out().print(f"Copied already: complete since {when(done.already_ms)}; nothing was done.")
        return
    table(("table", "rows#"), [(name, rows) for name, rows in done.counts.items() if rows])
    out().print("The same on both sides. The file is as it was; keep it as a backup.")
