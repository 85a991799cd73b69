"""`postroad send`, `message` and `cancel-all`."""

from datetime import timedelta
from typing import Annotated, Any

from click.exceptions import Exit
from msgspec import structs

from postroad.cli import jobs, lists
from postroad.cli.bodies import BodyFlags
from postroad.cli.command import (
    Commands,
    Invocation,
    Listing,
    MessageId,
    SharedOptions,
    Yes,
    add_group,
    command,
    confirmed,
    named_value,
)
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import out, status_text, styled, when
from postroad.cli.progress import show_progress
from postroad.cli.queues import holds
from postroad.model.errors import BadInput
from postroad.model.replacing import REPLACED, STARTED
from postroad.remote.api_request import part

EARLIER = {
    REPLACED: "; the earlier one is cancelled",
    STARTED: "; the earlier one has started, and is sent, too",
}
"""What became of the message before it, with the same `replace`."""
MORE = "priority, deliver_at, expires_at, replace, at_most, unique_for or header.NAME"


def add(app: Group) -> None:
    """Add the commands for messages."""
    command(app, "send", panel="Messages")(send)
    commands: Commands = {"show": show, "explain": explain, "cancel": cancel, "settle": settle}
    text = "One message: show, explain, cancel, settle, send again."
    commands |= {"body": lists.body, "send-again": lists.send_again}
    commands |= {"settle-all": lists.settle_all, "result": jobs.result, "watch": jobs.watch}
    add_group(app, "message", "Messages", text, commands)
    command(app, "messages", panel="Messages")(lists.messages)
    command(app, "jobs", panel="Messages")(jobs.running)
    command(app, "cancel-all", panel="Messages")(cancel_all)


class SendFields(SharedOptions, frozen=True):
    """How a message is sent."""

    key: Annotated[
        str | None, Option(help="Idempotency key: within a day the same key is stored once.")
    ] = None
    order_key: Annotated[
        str | None, Option(help="Deliver in order with other messages of this key.")
    ] = None
    delay: Annotated[
        timedelta, Option(help="Wait so long before the first try, as 90s or 12h.")
    ] = timedelta()
    credential: Annotated[
        str, Option(help="The credential that a text message or a mail is sent with.")
    ] = ""
    zone: Annotated[str, Option(help="The recipient's time zone, by which allowed hours go.")] = ""
    check: Annotated[
        bool, Option("--check", help="Refuse the message if its server has no address now.")
    ] = False


def send(
    call: Invocation,
    queue: Annotated[
        str, Argument(help="A handler's name or an address: https://…, mailto:…, sms:+65…")
    ],
    body: Annotated[
        str, Argument(help="The body as JSON; - reads it from standard input.", empty=True)
    ] = "-",
    *,
    kind: BodyFlags,
    how: SendFields,
    more: Annotated[
        list[str] | None,
        Option("--with", help=f"More, as NAME=VALUE: {MORE}."),
    ] = None,
) -> None:
    """Send a message. It is stored when the command ends."""
    data: dict[str, Any] = {"queue": queue, **kind.read(body)}
    data |= structs.asdict(how) | {"delay": how.delay.total_seconds()} | _more(more or ())
    receipt = call.ask("POST", "/v1/messages", data=data)
    if call.printed(receipt):
        return
    word = "was stored before, under the same key" if receipt["duplicate"] else "is stored"
    said = EARLIER.get(receipt.get("earlier", ""), "")
    out().print(styled((receipt["id"], "bold"), f" {word}{said}"))


def _more(pairs: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        name, value = named_value("--with", pair)
        if name.startswith("header."):
            found.setdefault("headers", {})[name.removeprefix("header.")] = value
        elif name == "priority":
            try:
                found[name] = int(value)
            except ValueError:
                raise BadInput(f"--with {pair}: a priority is a number from -9 to 9") from None
        elif name in ("deliver_at", "expires_at", "replace"):
            found[name] = value
        elif name in ("at_most", "unique_for"):
            try:
                found[name] = float(value)
            except ValueError:
                raise BadInput(f"--with {pair}: give seconds") from None
        else:
            raise BadInput(f"--with {name}: give {MORE}")
    return found


def show(call: Listing, id: MessageId) -> None:  # noqa: A002 - the word that receipts use
    """Show the state of a message and all tries."""
    said = call.ask("GET", f"/v1/messages/{part(id)}")
    if call.printed(said):
        return
    why = said["reason"] or said["because"]
    state = f"{said['state']} ({why})" if why else said["state"]
    call.facts(
        [
            ("id", said["id"]),
            ("queue", said["queue"]),
            *((("recipient", said["recipient"]),) if said["recipient"] else ()),
            ("state", state),
            ("level", f"{said['level']} of {said['retries']}"),
            ("accepted", when(said["accepted_at_ms"])),
            ("finished", when(said["finished_at_ms"])),
            ("expires", when(said["expires_at_ms"])),
        ]
    )
    show_tries(call, said["tries"])


def show_tries(call: Listing, tries: list[dict[str, Any]]) -> None:
    """Print a table of tries."""
    if tries:
        columns = ("try#", "at", "level#", "outcome", "status#", "took ms#", "error~")
        names = ("number", "started_at_ms", "level", "outcome", "status", "took_ms", "error")
        forms = {"started_at_ms": when, "status": status_text}
        rows = [[forms.get(name, str)(each.get(name, "")) for name in names] for each in tries]
        call.table(columns, rows)


def explain(call: Listing, id: MessageId) -> None:  # noqa: A002
    """Explain a message: what happened, what holds it back, what comes next."""
    said = call.ask("GET", f"/v1/messages/{part(id)}/explain")
    if call.printed(said):
        return
    out().print("\n".join([said["sentence"], *holds(said)]))
    show_tries(call, said["tries"])


def cancel(
    call: Invocation,
    id: MessageId,  # noqa: A002
    wait: Annotated[
        timedelta, Option(help="Wait so long for the process that may be sending it; 10s.")
    ] = timedelta(seconds=10),
    running: Annotated[bool, Option("--running", help="Stop the job if it runs.")] = False,
) -> None:
    """Cancel a message. Once the answer is `cancelled`, no try of it starts."""
    asked = {"wait_s": wait.total_seconds()} | ({"running": "true"} if running else {})
    said = call.ask("DELETE", f"/v1/messages/{part(id)}", asked)
    call.reply(said, f"{said['id']}: {said['state']}")
    if said["state"] == "pending":
        raise Exit(1)


def settle(
    call: Invocation,
    id: MessageId,  # noqa: A002
    outcome: Annotated[str, Argument(help="sent or unsent.")],
) -> None:
    """Settle an uncertain message: `sent` makes it delivered, `unsent` has it tried again."""
    said = call.ask("POST", f"/v1/messages/{part(id)}/settle", data={"outcome": outcome})
    call.reply(said, f"{said['id']}: {said['state']}")


def cancel_all(
    call: Invocation,
    queue: Annotated[str, Argument(help="The queue.")] = "",
    order_key: Annotated[str, Option(help="Only messages of this order key.")] = "",
    yes: Yes = False,
) -> None:
    """Cancel all unfinished messages of a queue or an order key that are stored now."""
    if not queue and not order_key:
        raise BadInput("say which: a queue, or --order-key")
    if not yes and not confirmed(f"Cancel everything of {queue or order_key}?"):
        raise BadInput("nothing was cancelled: give --yes, or answer the question")
    data = {"queue": queue, "order_key": order_key}
    with call.connect() as road, show_progress("cancelling") as told:
        path = "/v1/messages:cancel"
        said = road.follow(path, data, lambda said: told(sum(said.values())))
    words = [f"{count} {state}" for state, count in said.items() if count]
    call.reply(said, ", ".join(words) or "nothing to cancel")
