"""`postroad privacy`: export and erase what is stored about a tenant or a recipient."""

from typing import Annotated, Any

from postroad.cli.client import RoadClient
from postroad.cli.command import ExportInvocation, Limit, Listing, Yes, add_group, confirmed
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import err, out, pieces, when
from postroad.cli.progress import show_progress
from postroad.model.errors import BadInput, StoreUnavailable

Recipient = Annotated[
    str, Argument(help="A queue's name or URL, a recipient of campaigns, or a mailbox.")
]
Everything = Annotated[bool, Option("--everything", help="All that is stored of the tenant.")]
WAIT_S = 10


def add(app: Group) -> None:
    """Add the commands for privacy."""
    commands: dict[str, Any] = {"export": export, "erase": erase, "list": list_erasures}
    text = "Export and erase what is stored about a tenant or a recipient."
    add_group(app, "privacy", "Look after it", text, commands)


def export(
    call: ExportInvocation, recipient: Recipient = "", *, everything: Everything = False
) -> None:
    """Print as NDJSON all that is stored about a recipient, or with --everything about the
    tenant. Secrets are left out."""
    data = _whose(recipient, everything=everything)
    with call.connect() as road:
        road.pour("/v1/privacy:export", data, lambda piece: pieces([piece]))


def erase(
    call: Listing,
    recipient: Recipient = "",
    *,
    everything: Everything = False,
    yes: Yes = False,
) -> None:
    """Erase all that is stored about a recipient, or with --everything about the tenant. It asks
    first, then waits for the end; if it is interrupted, a running server goes on."""
    data = _whose(recipient, everything=everything)
    whose = f"everything of the tenant {call.tenant}" if everything else repr(recipient)
    if not yes and not confirmed(f"Erase {whose} for good?"):
        raise BadInput("nothing was erased: give --yes, or answer the question")
    with call.connect() as road:
        said = road.ask("POST", "/v1/privacy:erase", data=data)
        said = followed(road, said)
    if not call.printed(said):
        erased(call, said)


def erased(call: Listing, said: dict[str, Any]) -> None:
    """Print what an erasure has deleted, and what it has not."""
    rows = sorted(said["erased"].items())
    call.table(("erased", "rows#"), rows, "there was nothing to erase")
    if said["kept_queues"]:
        out().print(f"queues that stay, because messages are sent to them: {said['kept_queues']}")
    if said["left"]:
        err().print(f"not erased: {said['left']}")


def followed(road: RoadClient, said: dict[str, Any]) -> dict[str, Any]:
    """Wait for the end of an erasure, and show how far it is."""
    path = f"/v1/privacy/erasures/{said['id']}"
    with show_progress("erase") as told:
        while said["ended_at_ms"] is None:
            try:
                said = road.ask("GET", path, {"wait_s": WAIT_S})
            except StoreUnavailable as error:
                goes_on = f"erasure {said['id']} is stored and goes on when a server runs again"
                raise StoreUnavailable(f"{error}; {goes_on}: see `postroad privacy list`") from None
            told(sum(said["erased"].values()))
    return said


def list_erasures(call: Listing, limit: Limit = 100) -> None:
    """List erasures, the newest first."""
    columns = ("id", "tenant", "recipient", "asked", "step", "waits for#", "rows#")
    call.listed(
        "/v1/privacy/erasures",
        columns,
        lambda row: (
            row["id"],
            row["tenant"],
            f"{row['recipient_digest'][:12]}…" if row["recipient_digest"] else "everything",
            when(row["asked_at_ms"]),
            row["step"],
            row["waits_for"] or "",
            sum(row["erased"].values()),
        ),
        "nothing was erased",
        limit=limit,
    )


def _whose(recipient: str, *, everything: bool) -> dict[str, Any]:
    if everything == bool(recipient):
        raise BadInput("say whose: a recipient, or --everything of the tenant; one of them")
    return {"everything": True} if everything else {"recipient": recipient}
