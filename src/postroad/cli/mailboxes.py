"""`postroad mailbox`: the hub's mailboxes."""

from datetime import timedelta
from typing import Annotated, Any

from postroad.cli.command import After, Commands, Invocation, Limit, Listing, add_group
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import err, out
from postroad.remote.api_request import part

Box = Annotated[str, Argument(help="The mailbox's name.")]


def add(app: Group) -> None:
    """Add the commands for mailboxes."""
    commands: Commands = {"create": create, "list": list_mailboxes, "explain": explain}
    commands |= {"delete": delete, "stats": stats}
    text = "Mailboxes of the hub: create, list, explain, delete."
    add_group(app, "mailbox", "Look after it", text, commands)


def create(
    call: Invocation,
    quota: Annotated[int, Option(help="How many messages it may hold; 128 unless given.")] = 0,
    ttl: Annotated[
        timedelta | None, Option(help="How long a message is kept, as 7d; 21d unless given.")
    ] = None,
) -> None:
    """Make a mailbox. Its two tokens are printed only now: they are not stored."""
    data: dict[str, Any] = {}
    if quota:
        data["quota"] = quota
    if ttl is not None:
        data["ttl_s"] = int(ttl.total_seconds())
    said = call.ask("POST", "/v1/mailboxes", data=data)
    if call.printed(said):
        return
    for name in ("box", "sender_token", "recipient_token"):
        out().print(f"{name:<16} {said[name]}")
    err().print("keep the tokens: they are shown only now")


def list_mailboxes(
    call: Listing,
    limit: Limit = 100,
    after: After = "",
) -> None:
    """List mailboxes by name, with how many messages wait in each."""
    call.listed(
        "/v1/mailboxes",
        ("mailbox", "waiting#", "because~"),
        lambda row: (row["box"], row["waiting"], "over its quota" if row["over_quota"] else ""),
        "no mailboxes: `postroad mailbox create`",
        limit=limit,
        after=after,
    )


def explain(call: Invocation, box: Box) -> None:
    """Explain why messages of a mailbox are delivered or not."""
    said = call.ask("GET", f"/v1/mailboxes/{part(box)}")
    call.reply(said, f"{said['state']}: {said['text']}")


def delete(call: Invocation, box: Box) -> None:
    """Delete a mailbox and its messages."""
    call.delete(f"/v1/mailboxes/{part(box)}", box)


def stats(call: Listing) -> None:
    """Show the hub's connections, subscriptions, and messages that wait or are not acknowledged."""
    said = call.ask("GET", "/v1/hub")
    if call.printed(said):
        return
    rows = [(name, value) for name, value in said.items() if name != "busiest"]
    call.table(("of the hub", "now#"), rows)
