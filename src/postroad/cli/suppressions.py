"""`postroad suppression`: recipients that are not sent to."""

import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from postroad.cli.client import FileImport
from postroad.cli.command import After, ExportInvocation, Invocation, Limit, Listing, add_group
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import err, pieces, when
from postroad.model.errors import BadInput
from postroad.model.mail_report import BYTES_MAX

if TYPE_CHECKING:
    from postroad.app import Postroad

Recipient = Annotated[str, Argument(help="A mail address or a telephone number.")]
Reason = Annotated[str, Option(help="hard_bounce, complaint, unsubscribed or by_hand.")]
Everywhere = Annotated[
    bool, Option("--everywhere", help="The list that holds for all tenants, not the tenant's.")
]
Form = Annotated[str, Option("--format", help="csv or ndjson.")]
NDJSON_NAMES: Final = (".ndjson", ".jsonl", ".json")


def add(app: Group) -> None:
    """Add the commands for suppression lists."""
    commands: dict[str, Any] = {"add": put, "remove": remove, "list": list_entries}
    commands |= {"import": import_file, "export": export, "report": report}
    text = "Suppression lists: recipients that are not sent to."
    add_group(app, "suppression", "Campaigns", text, commands, otherwise="list")


def put(
    call: Invocation,
    recipient: Recipient,
    reason: Reason = "by_hand",
    note: Annotated[str, Option(help="Why, in your words.")] = "",
    *,
    everywhere: Everywhere = False,
) -> None:
    """Send no more to a mail address or telephone number."""
    data = {"recipient": recipient, "reason": reason, "note": note, "everywhere": everywhere}
    said = call.ask("POST", "/v1/suppressions", data=data)
    call.reply(said, f"suppressed: {said['recipient']} ({said['reason']})")


def remove(
    call: Invocation, recipient: Recipient, reason: Reason = "", *, everywhere: Everywhere = False
) -> None:
    """Take a recipient off the list, for one reason or for all."""
    query = _query(recipient=recipient, reason=reason, everywhere=everywhere)
    said = call.ask("DELETE", "/v1/suppressions", query)
    call.reply(said, f"removed: {said['count']}")


def list_entries(
    call: Listing,
    reason: Reason = "",
    recipient: Annotated[str, Option(help="Only this one.")] = "",
    limit: Limit = 100,
    after: After = "",
    *,
    everywhere: Everywhere = False,
) -> None:
    """List who is not sent to, the newest first."""
    which = _query(reason=reason, recipient=recipient, after=after, everywhere=everywhere)
    call.listed(
        "/v1/suppressions",
        ("recipient~", "reason", "since", "from~", "note~"),
        lambda row: (
            row["recipient"],
            row["reason"],
            when(row["at_ms"]),
            f"{row['campaign']} {row['message']}".strip(),
            row["note"],
        ),
        "nobody is on this list",
        limit=limit,
        **which,
    )


def import_file(
    call: Invocation,
    file: Annotated[Path, Argument(help="A CSV file with a column `recipient`, or NDJSON.")],
    form: Form = "",
    skip_invalid: Annotated[bool, Option(help="Skip invalid lines.")] = False,
    *,
    everywhere: Everywhere = False,
) -> None:
    """Add all entries of a file. If a line is invalid, none is added."""
    if not file.is_file():
        raise BadInput(f"there is no file {file}")
    kind = form or ("ndjson" if file.suffix in NDJSON_NAMES else "csv")

    def here(road: "Postroad", tenant: str) -> Awaitable[object]:
        whose = "*" if everywhere else tenant
        return road.suppressions.import_(file, kind, skip_invalid=skip_invalid, tenant=whose)

    query = _query(format=kind, skip_invalid=skip_invalid, everywhere=everywhere)
    what = FileImport("/v1/suppressions:import", query, here, "suppression_import", {})
    screen = err()
    with call.connect() as road:
        said = road.import_file(
            what, file, lambda step, done, size: screen.progress(f"{step} {done * 100 // size} %")
        )
    screen.progress("")
    call.reply(said, f"{said['added']} added, {said['rows'] - said['added']} known before")
    for one in () if call.json else said["problems"]:
        err().print(f"line {one['line']}: {one['reason']}")


def export(
    call: ExportInvocation,
    form: Form = "csv",
    reason: Reason = "",
    *,
    everywhere: Everywhere = False,
) -> None:
    """Print the list as a file that `suppression import` reads."""
    data = _query(format=form, reason=reason, everywhere=everywhere)
    with call.connect() as road:
        road.pour("/v1/suppressions:export", data, lambda piece: pieces([piece]))


def report(
    call: Invocation,
    file: Annotated[Path, Argument(help="The mail as it came; - is standard input.")],
    to: Annotated[str, Option(help="The address that it was sent to.")] = "",
) -> None:
    """Take a mail that came back: a bounce or a complaint. Mail servers can pipe them here."""
    try:
        mail = sys.stdin.buffer.read(BYTES_MAX) if str(file) == "-" else file.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from None
    said = call.ask("POST", "/v1/suppressions:report", _query(to=to), mail[:BYTES_MAX])
    text = f"{said['reports']} reports, {said['suppressed']} suppressed, {said['ignored']} ignored"
    call.reply(said, text)


def _query(**given: Any) -> dict[str, Any]:
    """What was given; an empty text or False says nothing."""
    return {name: value for name, value in given.items() if value}
