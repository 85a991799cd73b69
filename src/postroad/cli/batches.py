"""`postroad batches`: messages that are sent together, and what follows when all have ended."""

import sys
from pathlib import Path
from typing import Annotated, Any

import msgspec

from postroad.cli.command import After, Commands, Invocation, Limit, Listing, add_group
from postroad.cli.options import Argument, Group
from postroad.cli.printing import when
from postroad.model.errors import BadInput
from postroad.remote.api_request import part

Id = Annotated[str, Argument(help="The batch's id: bat_…")]


def add(app: Group) -> None:
    """Add the commands for batches."""
    commands: Commands = {"send": send, "list": list_batches, "show": show}
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
    call.page(
        "/v1/batches",
        {"limit": limit, "after": after},
        ("batch", "state", "ended", "sent"),
        lambda one: (one["id"], one["state"], _counts(one), one["sent"]),
        "there are no batches",
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


def _counts(said: dict[str, Any]) -> str:
    return f"{said['delivered'] + said['dead'] + said['cancelled']} of {said['total']}"
