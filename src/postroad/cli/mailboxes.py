"""`postroad mailbox`: the hub's mailboxes."""

from typing import Annotated, Any

import typer

from postroad.api.inside import part
from postroad.cli.command import Invocation, command
from postroad.cli.printing import as_json, err, out, table

Box = Annotated[str, typer.Argument(help="The mailbox's name.")]


def add(app: typer.Typer) -> None:
    """These commands."""
    group = typer.Typer(no_args_is_help=True, help="The hub's mailboxes.")
    app.add_typer(group, name="mailbox", rich_help_panel="Look after it")
    command(group, "create")(create)
    command(group, "list")(list_mailboxes)
    command(group, "explain")(explain)
    command(group, "delete")(delete)
    command(group, "stats")(stats)


def create(
    call: Invocation,
    quota: Annotated[int, typer.Option(help="Messages it holds; 128 unless told.")] = 0,
    days: Annotated[float, typer.Option(help="How long a message waits; 21 unless told.")] = 0.0,
) -> None:
    """Make a mailbox. Its two tokens are printed this once and kept nowhere."""
    data: dict[str, Any] = {}
    if quota:
        data["quota"] = quota
    if days:
        data["ttl_s"] = int(days * 86_400)
    with call.connect() as road:
        said = road.ask("POST", "/v1/mailboxes", data=data)
    if call.json:
        as_json(said)
        return
    for name in ("box", "sender_token", "recipient_token"):
        out().print(f"{name:<16} {said[name]}", soft_wrap=True)
    err().print("the tokens are shown this once")


def list_mailboxes(
    call: Invocation,
    limit: Annotated[int, typer.Option(help="How many at most.")] = 100,
    after: Annotated[str, typer.Option(help="From behind this one on.")] = "",
) -> None:
    """Mailboxes by name, with what lies in each."""
    with call.connect() as road:
        said = road.ask("GET", "/v1/mailboxes", {"limit": limit, "after": after})
    if call.json:
        as_json(said)
        return
    rows = [
        (row["box"], row["waiting"], "over its quota" if row["over_quota"] else "")
        for row in said["mailboxes"]
    ]
    table(("mailbox", "waiting#", ""), rows, "no mailboxes: `postroad mailbox create`")
    if said["after"]:
        out().print(f"more: --after '{said['after']}'")


def explain(call: Invocation, box: Box) -> None:
    """Why does a mailbox's subscriber get nothing?"""
    with call.connect() as road:
        said = road.ask("GET", f"/v1/mailboxes/{part(box)}")
    if call.json:
        as_json(said)
    else:
        out().print(f"{said['state']}: {said['text']}", soft_wrap=True)


def delete(call: Invocation, box: Box) -> None:
    """Delete a mailbox with all that is in it."""
    with call.connect() as road:
        _ = road.ask("DELETE", f"/v1/mailboxes/{part(box)}")  # a refusal is raised
    if call.json:
        as_json({"deleted": box})
    else:
        out().print(f"deleted: {box}", soft_wrap=True)


def stats(call: Invocation) -> None:
    """How the hub stands: connections, subscriptions, what is pending, what is not acked."""
    with call.connect() as road:
        said = road.ask("GET", "/v1/hub")
    if call.json:
        as_json(said)
        return
    rows = [(name, value) for name, value in said.items() if name != "busiest"]
    table(("of the hub", "now#"), rows)
