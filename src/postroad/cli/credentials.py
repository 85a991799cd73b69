"""`postroad credential`: accounts at providers that campaigns send with, and their rates."""

import os
import sys
from typing import Annotated, Any

import click

from postroad.cli.command import Commands, Invocation, Listing, add_group, named_value
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import when
from postroad.model.errors import BadInput
from postroad.remote.api_request import part

Name = Annotated[str, Argument(help="The credential's name.")]


def add(app: Group) -> None:
    """Add the commands for credentials."""
    commands: Commands = {"put": put, "list": list_credentials, "check": check, "delete": delete}
    text = "Credentials that campaigns send with."
    add_group(app, "credential", "Campaigns", text, commands)


def put(
    call: Invocation,
    name: Name,
    kind: Annotated[str, Option(help="twilio or webhook.")] = "twilio",
    provider: Annotated[
        str, Option(help="The provider's address, as https://api.twilio.com.")
    ] = "",
    account: Annotated[str, Option(help="The id of the account there.")] = "",
    sender: Annotated[str, Option(help="The number that messages come from.")] = "",
    rate: Annotated[str, Option(help="How fast it may send, as 50/s or 50/s,1000/h.")] = "",
    more: Annotated[
        list[str] | None,
        Option("--with", help="More, as NAME=VALUE: segments_max, price, callback or expires_at."),
    ] = None,
) -> None:
    """Check a credential and store it encrypted. Its secret is read from POSTROAD_SECRET, or asked
    for."""
    secret = os.environ.get("POSTROAD_SECRET") or _asked()
    data: dict[str, Any] = {
        "name": name,
        "secret": secret,
        "kind": kind,
        "provider": provider,
        "account": account,
        "sender": sender,
        "rate": rate,
        **dict(_pair(each) for each in more or ()),
    }
    said = call.ask("POST", "/v1/credentials", data=data)
    call.reply(said, f"stored: {said['name']} ({said['rate'] or 'no limit'})")


def _asked() -> str:
    """Ask for the secret on a terminal, or read it as the first line of standard input."""
    if sys.stdin.isatty():
        return str(click.prompt("secret", hide_input=True, err=True))
    secret = sys.stdin.readline().strip()
    if not secret:
        raise BadInput("no secret: set POSTROAD_SECRET, or write it to standard input")
    return secret


def _pair(text: str) -> tuple[str, object]:
    name, value = named_value("--with", text, ", as in price=0.05")
    try:
        number = float(value)
    except ValueError:
        return name, value
    return name, int(number) if number.is_integer() else number


def list_credentials(call: Listing) -> None:
    """List credentials, without their secrets."""
    said = call.ask("GET", "/v1/credentials")
    if call.printed(said):
        return
    columns = ("credential", "kind", "provider~", "account", "sender", "rate", "blocked until")
    names = ("name", "kind", "provider", "account", "sender", "rate")
    rows = [(*(one[n] for n in names), when(one["blocked_until_ms"])) for one in said]
    call.table(columns, rows, "no credentials: `postroad credential put`")


def check(call: Invocation, name: Name) -> None:
    """Ask the provider whether a credential works."""
    said = call.ask("POST", f"/v1/credentials/{part(name)}/check")
    call.reply(said, f"works: {said['account']}")


def delete(call: Invocation, name: Name) -> None:
    """Delete a credential that no campaign uses."""
    call.delete(f"/v1/credentials/{part(name)}", name)
