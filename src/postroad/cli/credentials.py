"""`postroad credential`: who sends, at which provider, how fast."""

import os
import sys
from typing import Annotated, Any

import typer

from postroad.api.inside import part
from postroad.cli.command import Invocation, command
from postroad.cli.printing import as_json, out, table, when
from postroad.model.errors import BadInput

Name = Annotated[str, typer.Argument(help="The credential's name.")]


def add(app: typer.Typer) -> None:
    """These commands."""
    group = typer.Typer(no_args_is_help=True, help="Credentials of campaigns.")
    app.add_typer(group, name="credential", rich_help_panel="Campaigns")
    command(group, "put")(put)
    command(group, "list")(list_credentials)
    command(group, "check")(check)
    command(group, "delete")(delete)


def put(
    call: Invocation,
    name: Name,
    kind: Annotated[str, typer.Option(help="twilio or webhook.")] = "twilio",
    provider: Annotated[str, typer.Option(help="As https://api.twilio.com.")] = "",
    account: Annotated[str, typer.Option(help="The account's id.")] = "",
    sender: Annotated[str, typer.Option(help="The number that sends.")] = "",
    rate: Annotated[str, typer.Option(help="50/s; several with commas.")] = "",
    more: Annotated[
        list[str] | None,
        typer.Option("--with", help="segments_max, price, callback, expires_at, as NAME=VALUE."),
    ] = None,
) -> None:
    """Keep a credential, tested and sealed. Its secret is read from POSTROAD_SECRET, or asked."""
    secret = os.environ.get("POSTROAD_SECRET") or _asked()
    data: dict[str, Any] = {
        "name": name,
        "secret": secret,
        "kind": kind,
        "server": provider,
        "account": account,
        "sender": sender,
        "rate": rate,
        **dict(_pair(each) for each in more or ()),
    }
    with call.connect() as road:
        said = road.ask("POST", "/v1/credentials", data=data)
    if call.json:
        as_json(said)
    else:
        out().print(f"kept: {said['name']} ({said['rate'] or 'no limit'})")


def _asked() -> str:
    """The secret from whoever sits there; a pipe's first line where nobody does."""
    if sys.stdin.isatty():
        return str(typer.prompt("secret", hide_input=True, err=True))
    secret = sys.stdin.readline().strip()
    if not secret:
        raise BadInput("no secret: set POSTROAD_SECRET, or write it to standard input")
    return secret


def _pair(text: str) -> tuple[str, object]:
    name, mark, value = text.partition("=")
    if not mark:
        raise BadInput(f"--with {text}: give NAME=VALUE, as in price=0.05")
    try:
        number = float(value)
    except ValueError:
        return name.strip(), value.strip()
    return name.strip(), int(number) if number.is_integer() else number


def list_credentials(call: Invocation) -> None:
    """All of them, without their secrets."""
    with call.connect() as road:
        said = road.ask("GET", "/v1/credentials")
    if call.json:
        as_json(said)
        return
    columns = ("credential", "kind", "provider", "account", "sender", "rate", "blocked until")
    names = ("name", "kind", "server", "account", "sender", "rate")
    rows = [(*(one[n] for n in names), when(one["blocked_until_ms"])) for one in said]
    table(columns, rows, "no credentials: `postroad credential put`")


def check(call: Invocation, name: Name) -> None:
    """Whether it works now."""
    with call.connect() as road:
        said = road.ask("POST", f"/v1/credentials/{part(name)}/check")
    if call.json:
        as_json(said)
    else:
        out().print(f"works: {said['account']}")


def delete(call: Invocation, name: Name) -> None:
    """Forget one that no campaign needs."""
    with call.connect() as road:
        _ = road.ask("DELETE", f"/v1/credentials/{part(name)}")  # a refusal is raised
    if call.json:
        as_json({"deleted": name})
    else:
        out().print(f"deleted: {name}")
