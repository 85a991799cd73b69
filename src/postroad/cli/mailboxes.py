"""`postroad mailbox`: the hub's mailboxes."""

from typing import Annotated, Any

from postroad.api.in_process import part
from postroad.cli.command import DAYS_MAX, After, Commands, Invocation, Limit, Listing, add_group
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import err, more, out

Box = Annotated[str, Argument(help="The mailbox's name.")]


def add(app: Group) -> None:
    """Add the commands for mailboxes."""
    commands: Commands = {
        "create": create,
        "list": list_mailboxes,
        "explain": explain,
        "delete": delete,
    }
    text = "Mailboxes of the hub: create, list, explain, delete."
    add_group(app, "mailbox", "Look after it", text, commands | {"stats": stats})


def create(
    call: Invocation,
    quota: Annotated[int, Option(help="How many messages it may hold; 128 unless given.")] = 0,
    days: Annotated[
        float, Option(help="How many days a message is kept; 21 unless given.", max=DAYS_MAX)
    ] = 0.0,
) -> None:
    """Make a mailbox. Its two tokens are printed only now: they are not stored."""
    data: dict[str, Any] = {}
    if quota:
        data["quota"] = quota
    if days:
        data["ttl_s"] = int(days * 86_400)
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
    said = call.ask("GET", "/v1/mailboxes", {"limit": limit, "after": after})
    if call.printed(said):
        return
    rows = [
        (row["box"], row["waiting"], "over its quota" if row["over_quota"] else "")
        for row in said["mailboxes"]
    ]
    call.table(("mailbox", "waiting#", ""), rows, "no mailboxes: `postroad mailbox create`")
    more(said["after"])


def explain(call: Invocation, box: Box) -> None:
    """Explain why messages of a mailbox are delivered or not."""
    said = call.ask("GET", f"/v1/mailboxes/{part(box)}")
    call.reply(said, f"{said['state']}: {said['text']}")


def delete(call: Invocation, box: Box) -> None:
    """Delete a mailbox and its messages."""
    _ = call.ask("DELETE", f"/v1/mailboxes/{part(box)}")  # a refusal is raised
    call.reply({"deleted": box}, f"deleted: {box}")


def stats(call: Listing) -> None:
    """Show the hub's connections, subscriptions, and messages that wait or are not acknowledged."""
    said = call.ask("GET", "/v1/hub")
    if call.printed(said):
        return
    rows = [(name, value) for name, value in said.items() if name != "busiest"]
    call.table(("of the hub", "now#"), rows)
