"""`postroad messages`: list and search messages; `postroad message send-again` and `body`."""

from typing import Annotated, Any

import msgspec
from msgspec import structs

from postroad.cli.command import After, Invocation, Limit, Listing, MessageId, SharedOptions
from postroad.cli.options import Argument, Option
from postroad.cli.printing import err, more, out, when
from postroad.cli.progress import show_progress
from postroad.model.errors import BadInput
from postroad.remote.api_request import part

COLUMNS = ("id", "queue~~", "state", "level#", "accepted", "why~")


class ListOptions(SharedOptions, frozen=True):
    """Which messages: those to which all given options apply."""

    queue: Annotated[str, Option(help="Only of this queue; with * at its end, a prefix.")] = ""
    state: Annotated[
        str,
        Option(help="waiting, held, sending, uncertain, delivered, cancelled or dead."),
    ] = ""
    level: Annotated[int | None, Option(help="Only at this retry level.")] = None
    order_key: Annotated[str, Option(help="Only with this order key.")] = ""
    recipient: Annotated[str, Option(help="Only to this recipient, as mailto:ann@example.com.")] = (
        ""
    )
    text: Annotated[str, Option(help="Only with this text in the last error.")] = ""
    since: Annotated[str, Option(help="Only accepted then or later, as 2026-01-31T12:00:00Z.")] = ""
    until: Annotated[str, Option(help="Only accepted before this time.")] = ""


def messages(
    call: Listing,
    *,
    where: ListOptions,
    order: Annotated[str, Option(help="newest or oldest first, by acceptance.")] = "newest",
    limit: Limit = 100,
    after: After = "",
) -> None:
    """List messages by the time of their acceptance, the newest first."""
    query = _given(where) | {"order": order, "limit": limit, "after": after}
    said = call.ask("GET", "/v1/messages", query)
    if call.printed(said):
        return
    rows = [
        (
            row["id"],
            " ".join(filter(None, (row["queue"], row["recipient"]))),
            row["state"],
            row["level"],
            when(row["accepted_at_ms"]),
            row["because"] or ": ".join(filter(None, (row["reason"], row["error"]))),
        )
        for row in said["messages"]
    ]
    call.table(COLUMNS, rows, "no such messages")
    if said["unindexed"] and said["after"] and len(rows) < limit:
        searched = when(said["searched_until_ms"])
        names = ", ".join(said["unindexed"])
        err().print(
            f"no index serves {names}: {said['looked_at']} messages up to {searched} were looked at"
        )
    if said["note"]:
        err().print(said["note"])
    more(said["after"])


def body(call: Listing, id: MessageId) -> None:  # noqa: A002
    """Show the body and headers of a message, as far as they are stored."""
    said = call.ask("GET", f"/v1/messages/{part(id)}/body")
    if call.printed(said):
        return
    call.facts([(f"header {name}", text) for name, text in said["headers"].items()])
    out().print(said["body_base64"] or msgspec.json.encode(said["body"]).decode())


def send_again(
    call: Invocation,
    ids: Annotated[list[str] | None, Argument(help="Ids of messages; or use the filters.")] = None,
    *,
    where: ListOptions,
    count: Annotated[int, Option(help="At most this many, the oldest first.")] = 0,
    key: Annotated[
        str, Option(help="Idempotency key: the same command again sends nothing twice.")
    ] = "",
    dry_run: Annotated[bool, Option("--dry-run", help="Only count them.")] = False,
) -> None:
    """Send finished messages again, as new ones. Their bodies must be kept: see keep_bodies."""
    data = _given(where) | ({"count": count} if count else {}) | ({"ids": ids} if ids else {})
    if not data:
        names = ", ".join(f"--{name.replace('_', '-')}" for name in ListOptions.__struct_fields__)
        raise BadInput(f"say which: ids, {names}, or --count")
    data |= {"key": key, "dry_run": dry_run}
    with call.connect() as road, show_progress("sending again") as told:
        path = "/v1/messages:send-again"
        said = road.follow(path, data, lambda said: told(said["sent"] + said["repeated"]))
    words = "would be sent again" if dry_run else "sent again"
    more_words = [f"{said['repeated']} were before"] if said["repeated"] else []
    if said["without_body"]:
        more_words.append(f"{said['without_body']} have no body: it was not kept")
    call.reply(said, "; ".join([f"{said['sent']} {words}", *more_words, *said["ids"]]))


def settle_all(
    call: Invocation,
    queue: Annotated[str, Argument(help="The queue; with * at its end, a prefix.")],
    outcome: Annotated[str, Argument(help="sent, or unsent: to be tried again.")],
) -> None:
    """Settle all uncertain messages of a queue."""
    said = call.ask("POST", "/v1/messages:settle", data={"queue": queue, "outcome": outcome})
    call.reply(said, f"settled: {said['settled']}")


def _given(where: ListOptions) -> dict[str, Any]:
    values = structs.asdict(where)
    return {name: value for name, value in values.items() if value not in ("", None)}
