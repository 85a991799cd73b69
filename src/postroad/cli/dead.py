"""`postroad dead`: messages that will not be tried again."""

from typing import Annotated, Any

import msgspec
from msgspec import structs

from postroad.cli.client import RoadClient
from postroad.cli.command import (
    After,
    Commands,
    Invocation,
    Limit,
    Listing,
    MessageId,
    SharedOptions,
    Yes,
    add_group,
    confirmed,
)
from postroad.cli.messages import show_tries
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import out, when
from postroad.cli.progress import show_progress
from postroad.model.errors import BadInput
from postroad.remote.api_request import part

Ids = Annotated[list[str] | None, Argument(help="Ids of messages; or use the filters.")]
Count = Annotated[int, Option(help="At most this many, the longest dead first.")]
DryRun = Annotated[bool, Option("--dry-run", help="Only count them.")]


class Filter(SharedOptions, frozen=True):
    """Which dead messages: those to which all given options apply."""

    queue: Annotated[str, Option(help="Only of this queue.")] = ""
    reason: Annotated[
        str, Option(help="Only with this reason: rejected, exhausted, expired, …")
    ] = ""
    error: Annotated[str, Option(help="Only with this text in the error.")] = ""
    since: Annotated[
        str, Option(help="Only those that died then or later, as 2026-01-31T12:00:00Z.")
    ] = ""
    until: Annotated[str, Option(help="Only those that died before this time.")] = ""


def add(app: Group) -> None:
    """Add the commands for the dead set."""
    commands: Commands = {"list": dead_list, "show": dead_show}
    commands |= {"replay": dead_replay, "purge": dead_purge}
    add_group(app, "dead", "Messages", "Dead messages: list, show, replay, purge.", commands)


def dead_list(
    call: Listing,
    *,
    where: Filter,
    limit: Limit = 100,
    after: After = "",
) -> None:
    """List dead messages, the latest death first."""
    query = structs.asdict(where) | {"limit": limit, "after": after}
    call.listed(
        "/v1/dead",
        ("id", "queue~~", "reason", "died", "error~"),
        lambda row: (row["id"], row["queue"], row["reason"], when(row["died_at_ms"]), row["error"]),
        "no dead messages",
        **query,
    )


def dead_show(call: Listing, id: MessageId) -> None:  # noqa: A002
    """Show a dead message with its body, headers and all tries."""
    said = call.ask("GET", f"/v1/dead/{part(id)}")
    if call.printed(said):
        return
    row = said["message"]
    body = said["body_base64"] or msgspec.json.encode(said["body"]).decode()
    names = ("id", "queue", "reason", "error", "level", "attempts", "order_key", "priority")
    shown: list[tuple[str, object]] = [(name, row[name]) for name in names if row[name] != ""]
    shown += [("died", when(row["died_at_ms"])), ("accepted", when(row["accepted_at_ms"]))]
    call.facts([*shown, *[(f"header {name}", text) for name, text in said["headers"].items()]])
    out().print(body)
    show_tries(call, said["tries"])


def dead_replay(
    call: Invocation,
    ids: Ids = None,
    *,
    where: Filter,
    count: Count = 0,
    mode: Annotated[
        str, Option(help="once: one more try; reset: start at retry level 0 again.")
    ] = "once",
    dry_run: DryRun = False,
) -> None:
    """Send dead messages again: named ones in one transaction, those found by filters in slices."""
    data = _which(ids, where, count) | {"dry_run": dry_run, "mode": mode}
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
    """Delete dead messages for good. It counts them first, and asks."""
    data = _which(ids, where, count)
    with call.connect() as road:
        said = road.ask("POST", "/v1/dead:purge", data={**data, "dry_run": True})
        if not dry_run and said["count"]:
            if not yes and not confirmed(f"Delete {said['count']} dead messages for good?"):
                raise BadInput("nothing was purged: give --yes, or answer the question")
            said = _follow(road, "/v1/dead:purge", data)
    _tell(call, said, "would be purged" if dry_run else "purged")


def _follow(road: RoadClient, path: str, data: dict[str, Any]) -> Any:
    with show_progress(path.rpartition(":")[2]) as told:
        return road.follow(path, data, lambda said: told(said["count"]))


def _which(ids: list[str] | None, where: Filter, count: int) -> dict[str, Any]:
    given = structs.asdict(where) | {"count": count, "ids": ids}
    found = {name: value for name, value in given.items() if value}
    if not found:
        names = ", ".join(f"--{name}" for name in Filter.__struct_fields__)
        raise BadInput(f"say which: ids, {names}, or --count")
    return found


def _tell(call: Invocation, said: dict[str, Any], word: str) -> None:
    call.reply(said, f"{said['count']} {word}")
