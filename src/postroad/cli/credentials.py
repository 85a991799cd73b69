"""`postroad credential`: who sends, at which provider, how fast."""

import os
import sys
from typing import Annotated, Any

import click

from postroad.api.in_process import part
from postroad.cli.frame import CommandCall, command
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import as_json, out, table, when
from postroad.model.errors import BadInput

Name = Annotated[str, Argument(help="The credential's name.")]


def add(app: Group) -> None:
    """These commands."""
    group = app.subgroup("credential", "Campaigns", "Credentials of campaigns.")
    command(group, "put")(put)
    command(group, "list")(list_credentials)
    command(group, "check")(check)
    command(group, "delete")(delete)


def put(
    call: CommandCall,
    name: Name,
    kind: Annotated[str, Option(help="twilio or webhook.")] = "twilio",
    provider: Annotated[str, Option(help="As https://api.twilio.com.")] = "",
    account: Annotated[str, Option(help="The account's id.")] = "",
    sender: Annotated[str, Option(help="The number that sends.")] = "",
    rate: Annotated[str, Option(help="50/s; several with commas.")] = "",
    more: Annotated[
        list[str] | None,
        Option("--with", help="segments_max, price, callback, expires_at, as NAME=VALUE."),
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
    with call.reach() as road:
        said = road.ask("POST", "/v1/credentials", data=data)
    if call.json:
        as_json(said)
    else:
        out().print(f"kept: {said['name']} ({said['rate'] or 'no limit'})")


def _asked() -> str:
    """The secret from whoever sits there; a pipe's first line where nobody does."""
    if sys.stdin.isatty():
        return str(click.prompt("secret", hide_input=True, err=True))
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


def list_credentials(call: CommandCall) -> None:
    """All of them, without their secrets."""
    with call.reach() as road:
        said = road.ask("GET", "/v1/credentials")
    if call.json:
        as_json(said)
        return
    columns = ("credential", "kind", "provider", "account", "sender", "rate", "blocked until")
    names = ("name", "kind", "server", "account", "sender", "rate")
    rows = [(*(one[n] for n in names), when(one["blocked_until_ms"])) for one in said]
    table(columns, rows, "no credentials: `postroad credential put`")


def check(call: CommandCall, name: Name) -> None:
    """Whether it works now."""
    with call.reach() as road:
        said = road.ask("POST", f"/v1/credentials/{part(name)}/check")
    if call.json:
        as_json(said)
    else:
        out().print(f"works: {said['account']}")


def delete(call: CommandCall, name: Name) -> None:
    """Forget one that no campaign needs."""
    with call.reach() as road:
        _ = road.ask("DELETE", f"/v1/credentials/{part(name)}")  # a refusal is raised
    if call.json:
        as_json({"deleted": name})
    else:
        out().print(f"deleted: {name}")
