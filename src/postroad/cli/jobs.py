"""`postroad message result` and `watch`, and `postroad jobs`."""

from datetime import timedelta
from typing import Annotated, Any

import msgspec
from click.exceptions import Exit

from postroad.cli.command import Invocation, Limit, Listing, MessageId
from postroad.cli.options import Option
from postroad.remote.api_request import part

ENDS = ("delivered", "dead", "cancelled")
WATCH_S = 1.0
NONE_RUNS = "no job that tells how far it has come runs now"
ASK_S = 30.0
"""How long one request waits; then the next one is made."""


def watch(call: Invocation, id: MessageId) -> None:  # noqa: A002
    """Print how far a job has come, whenever that changes, until it has ended."""
    before: object = None
    while True:
        said = call.ask("GET", f"/v1/messages/{part(id)}/result", {"wait_s": WATCH_S})
        come = said.get("progress")
        if come and come != before:
            done, _, note = come_cells(come)
            call.reply(said, f"{done} {note}".rstrip())
            before = come
        if said["state"] in ENDS:
            call.reply(said, f"{said['id']}: {said['state']}")
            return


def running(call: Listing, limit: Limit = 100) -> None:
    """List jobs that run and have told how far they have come (`message.progress`)."""
    said = call.ask("GET", "/v1/jobs", {"limit": limit})
    if call.printed(said):
        return
    rows = [(one["id"], one["queue"], *come_cells(one["progress"])) for one in said]
    call.table(("id", "queue~~", "done#", "%#", "note~"), rows, NONE_RUNS)


def come_cells(come: dict[str, Any]) -> tuple[str, str, str]:
    """How far a job has come: as it said it, in hundredths of the whole, and its note."""
    total = come["total"]
    done = f"{come['done']:g} of {total:g}" if total else f"{come['done']:g}"
    return done, f"{100 * come['done'] / total:.0f}" if total else "", come["note"]


def result(
    call: Invocation,
    id: MessageId,  # noqa: A002
    wait: Annotated[
        timedelta, Option(help="Wait so long for its end, as 30s or 5m.")
    ] = timedelta(),
) -> None:
    """Print what a job returned, as JSON. It fails if the job is dead or cancelled, has not ended
    yet, or keeps no result."""
    left_s = wait.total_seconds()
    while True:
        asked = {"wait_s": min(left_s, ASK_S)}
        said = call.ask("GET", f"/v1/messages/{part(id)}/result", asked)
        left_s -= ASK_S
        if left_s <= 0 or said["state"] in ENDS:
            break
    if said["state"] == "delivered" and said.get("kept") and not said.get("hidden"):
        call.reply(said, msgspec.json.encode(said.get("result")).decode())
        return
    why = (
        said.get("error")
        or said.get("hidden")
        or ("no result is kept" if said["state"] == "delivered" else "")
    )
    call.reply(said, f"{said['id']}: {said['state']}{': ' if why else ''}{why}")
    raise Exit(1)
