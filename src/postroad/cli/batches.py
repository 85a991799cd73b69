"""`postroad batches`: messages that are sent together, and what follows when all have ended."""

import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import msgspec
from click.exceptions import Exit

from postroad.cli.command import After, Commands, Invocation, Limit, Listing, add_group
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import when
from postroad.model.durations import CENTURY_S
from postroad.model.errors import BadInput
from postroad.remote.api_request import part

ENDS = ("ended", "skipped")
ASK_S, WATCH_S = 30.0, 1.0
"""How long one request waits; then the next one is made."""
Id = Annotated[str, Argument(help="The batch's id: bat_…")]


def add(app: Group) -> None:
    """Add the commands for batches."""
    commands: Commands = {"send": send, "list": list_batches, "show": show}
    commands |= {"wait": wait_for_end, "watch": watch, "cancel": cancel}
    text = "Batches: messages that are counted together, and what is sent when all have ended."
    add_group(app, "batches", "Messages", text, commands)


def send(
    call: Invocation,
    file: Annotated[
        Path, Argument(help="A file with the batch as JSON: members, then, on_failure; - is stdin.")
    ],
) -> None:
    """Send a batch: {"members": [{"queue": …, "body": …}, …], "then": {…}}; or a chain: {"steps":
    […]}."""
    try:
        text = sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
        data = msgspec.json.decode(text, type=dict[str, Any])
    except OSError as error:
        raise BadInput(f"{file} cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{file} is no batch: {error}") from None
    said = call.ask("POST", "/v1/batches", data=data)
    call.reply(said, f"{said['id']}: {said['total']} members are stored")


def list_batches(call: Listing, limit: Limit = 100, after: After = "") -> None:
    """List batches, the newest first."""
    call.listed(
        "/v1/batches",
        ("batch", "state", "ended", "sent"),
        lambda one: (one["id"], one["state"], _counts(one), one["sent"]),
        "there are no batches",
        limit=limit,
        after=after,
    )


def show(call: Listing, id: Id) -> None:  # noqa: A002
    """Show a batch and its counts."""
    said = call.ask("GET", f"/v1/batches/{part(id)}")
    if call.printed(said):
        return
    facts: list[tuple[str, object]] = [("batch", said["id"]), ("state", said["state"])]
    facts += [("ended", _counts(said))]
    facts += [(name, said[name]) for name in ("delivered", "dead", "cancelled", "sent", "parent")]
    facts += [("made", when(said["made_at_ms"]))]
    ended = said["ended_at_ms"]
    call.facts([*facts, ("ended at", when(ended))] if ended else facts)
    call.reply(said, said["sentence"])


def wait_for_end(
    call: Invocation,
    id: Id,  # noqa: A002
    wait: Annotated[
        timedelta | None,
        Option(help="Wait at most so long, as 30s or 5m; else for as long as it takes."),
    ] = None,
) -> None:
    """Wait until a batch has ended, with the steps that follow it. It fails if not all members were
    delivered, or have not ended in time."""
    said = _end(call, id, CENTURY_S if wait is None else wait.total_seconds(), ASK_S)
    _tell_end(call, said)


def watch(call: Invocation, id: Id) -> None:  # noqa: A002
    """Print how many members have ended, whenever that changes, until all have."""
    before = ""
    while True:
        said = call.ask("GET", f"/v1/batches/{part(id)}/end", {"wait_s": WATCH_S})
        if said["state"] in ENDS:
            break
        if before != (before := f"{said['id']}: {_counts(said)}"):
            call.reply(said, before)
    _tell_end(call, said)


def cancel(
    call: Invocation,
    id: Id,  # noqa: A002
    running: Annotated[bool, Option("--running", help="Stop members that run, too.")] = False,
) -> None:
    """Cancel the members of a batch that have not ended. Its on_failure is sent then, and its then
    is not."""
    said = call.ask("DELETE", f"/v1/batches/{part(id)}", {"running": running})
    call.reply(said, f"{said['id']}: {said['cancelled']} cancelled; {said['sentence']}")


def _end(call: Invocation, id: str, left_s: float, ask_s: float) -> dict[str, Any]:  # noqa: A002
    while True:
        asked = {"wait_s": min(left_s, ask_s)}
        said: dict[str, Any] = call.ask("GET", f"/v1/batches/{part(id)}/end", asked)
        left_s -= ask_s
        if left_s <= 0 or said["state"] in ENDS:
            return said


def _tell_end(call: Invocation, said: dict[str, Any]) -> None:
    parts = (f"{said[name]} {name}" for name in ("delivered", "dead", "cancelled") if said[name])
    call.reply(said, f"{said['id']}: {', '.join(parts) or 'none ended'}; {said['sentence']}")
    if said["state"] != "ended" or said["delivered"] < said["total"]:
        raise Exit(1)


def _counts(said: dict[str, Any]) -> str:
    return f"{said['delivered'] + said['dead'] + said['cancelled']} of {said['total']}"
