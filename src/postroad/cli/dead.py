"""`postroad dead`: messages that will not be tried again."""

from typing import Annotated, Any

import msgspec
import typer
from msgspec import structs

from postroad.api.inside import part
from postroad.cli.client import RoadClient
from postroad.cli.command import Invocation, SharedOptions, command
from postroad.cli.messages import show_tries
from postroad.cli.printing import as_json, facts, out, table, when
from postroad.cli.progress import show_progress
from postroad.model.errors import BadInput

Ids = Annotated[list[str] | None, typer.Argument(help="Which; or filters.")]
Count = Annotated[int, typer.Option(help="At most so many, the longest dead first.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only count.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


class Filter(SharedOptions, frozen=True):
    """Which of the dead; all that is given must hold."""

    queue: Annotated[str, typer.Option(help="Of this queue.")] = ""
    reason: Annotated[str, typer.Option(help="rejected, exhausted, expired, …")] = ""
    error: Annotated[str, typer.Option(help="With this in its error.")] = ""
    since: Annotated[str, typer.Option(help="Died then or later, as 2026-01-31T12:00:00Z.")] = ""
    until: Annotated[str, typer.Option(help="Died before.")] = ""


def add(app: typer.Typer) -> None:
    """These commands."""
    group = typer.Typer(no_args_is_help=True, help="The dead set: list, show, replay, purge.")
    app.add_typer(group, name="dead", rich_help_panel="Messages")
    command(group, "list")(dead_list)
    command(group, "show")(dead_show)
    command(group, "replay")(dead_replay)
    command(group, "purge")(dead_purge)


def dead_list(
    call: Invocation,
    *,
    where: Filter,
    limit: Annotated[int, typer.Option(help="How many at most.")] = 100,
    after: Annotated[str, typer.Option(help="The next page.")] = "",
) -> None:
    """The dead, the latest death first."""
    query = structs.asdict(where) | {"limit": limit, "after": after}
    with call.connect() as road:
        said = road.ask("GET", "/v1/dead", query)
    if call.json:
        as_json(said)
        return
    rows = [
        (row["id"], row["queue"], row["reason"], when(row["died_at_ms"]), row["error"][:80])
        for row in said["messages"]
    ]
    table(("id", "queue", "reason", "died", "error"), rows, "nothing is dead here")
    if said["after"]:
        out().print(f"more: --after {said['after']}")


def dead_show(
    call: Invocation,
    id: Annotated[str, typer.Argument(help="msg_…")],  # noqa: A002
) -> None:
    """One dead message with its body, headers and all tries."""
    with call.connect() as road:
        said = road.ask("GET", f"/v1/dead/{part(id)}")
    if call.json:
        as_json(said)
        return
    row = said["message"]
    body = said["body_base64"] or msgspec.json.encode(said["body"]).decode()
    names = ("id", "queue", "reason", "error", "level", "attempts", "order_key", "priority")
    shown: list[tuple[str, object]] = [(name, row[name]) for name in names if row[name] != ""]
    shown += [("died", when(row["died_at_ms"])), ("accepted", when(row["accepted_at_ms"]))]
    facts([*shown, *[(f"header {name}", text) for name, text in said["headers"].items()]])
    out().print(body, soft_wrap=True)
    show_tries(said["tries"])


def dead_replay(
    call: Invocation,
    ids: Ids = None,
    *,
    where: Filter,
    count: Count = 0,
    reset: Annotated[bool, typer.Option("--reset", help="The whole ladder, not one try.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Send the dead again: named ones in one transaction, others in slices."""
    data = _which(ids, where, count) | {"dry_run": dry_run}
    data["mode"] = "reset" if reset else "once"
    with call.connect() as road:
        said = _follow(road, "/v1/dead:replay", data)
    _tell(call, said, "would be sent again" if dry_run else "sent again")


def dead_purge(
    call: Invocation,
    ids: Ids = None,
    *,
    where: Filter,
    count: Count = 0,
    dry_run: DryRun = False,
    yes: Yes = False,
) -> None:
    """Forget the dead, for ever; counts first, and asks."""
    data = _which(ids, where, count)
    with call.connect() as road:
        said = road.ask("POST", "/v1/dead:purge", data={**data, "dry_run": True})
        if not dry_run and said["count"]:
            if not yes and not _sure(said["count"]):
                raise BadInput("nothing was purged: give --yes, or answer the question")
            said = _follow(road, "/v1/dead:purge", data)
    _tell(call, said, "would be purged" if dry_run else "purged")


def _follow(road: RoadClient, path: str, data: dict[str, Any]) -> Any:
    with show_progress(path.rpartition(":")[2]) as told:
        return road.follow(path, data, lambda said: told(said["count"]))


def _sure(count: int) -> bool:
    try:
        return typer.confirm(f"Forget {count} dead messages for ever?", err=True)
    except typer.Abort:
        return False


def _which(ids: list[str] | None, where: Filter, count: int) -> dict[str, Any]:
    given = structs.asdict(where) | {"count": count, "ids": ids}
    found = {name: value for name, value in given.items() if value}
    if not found:
        names = ", ".join(f"--{name}" for name in Filter.__struct_fields__)
        raise BadInput(f"say which: ids, {names}, or --count")
    return found


def _tell(call: Invocation, said: dict[str, Any], word: str) -> None:
    if call.json:
        as_json(said)
    else:
        out().print(f"{said['count']} {word}")
