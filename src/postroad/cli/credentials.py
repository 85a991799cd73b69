"""`postroad credential`: accounts at providers that campaigns send with, and their rates."""

import os
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import click

from postroad.cli.command import Invocation, Listing, SharedOptions, add_group, named_value
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import when
from postroad.model.errors import BadInput
from postroad.remote.api_request import part

Name = Annotated[str, Argument(help="The credential's name.")]
COMMON: Final = ("segments_max", "price", "callback", "expires_at")


def add(app: Group) -> None:
    """Add the commands for credentials."""
    commands: dict[str, Any] = {
        "put": put,
        "list": list_credentials,
        "check": check,
        "delete": delete,
    }
    text = "Credentials that campaigns send with."
    add_group(app, "credential", "Campaigns", text, commands)


class MoreFields(SharedOptions, frozen=True):
    """Fields that not all credentials have."""

    more: Annotated[
        list[str] | None,
        Option(
            "--with",
            help="More, as NAME=VALUE: segments_max, price, callback, expires_at, or a field that "
            "only credentials of this kind have.",
        ),
    ] = None
    secrets: Annotated[
        list[str] | None,
        Option("--secret", help="A secret beside the main one, as NAME=@FILE."),
    ] = None


def put(
    call: Invocation,
    name: Name,
    kind: Annotated[
        str, Option(help="What it sends: sms, whatsapp, smtp (mail) or webhook.")
    ] = "sms",
    provider: Annotated[
        str, Option(help="The provider's address, as https://api.twilio.com.")
    ] = "",
    account: Annotated[str, Option(help="The id of the account there.")] = "",
    sender: Annotated[str, Option(help="The number that messages come from.")] = "",
    rate: Annotated[str, Option(help="How fast it may send, as 50/s or 50/s,1000/h.")] = "",
    *,
    fields: MoreFields,
) -> None:
    """Check a credential and store it encrypted. Its main secret is read from POSTROAD_SECRET, or
    asked for."""
    # One that has secrets of its own kind, as a key that signs, may have no main one.
    # A relay on this machine needs none at all: then the variable is there, and empty.
    stated = os.environ.get("POSTROAD_SECRET")
    secret = ("" if fields.secrets else _asked()) if stated is None else stated
    given = dict(_pair(each) for each in fields.more or ())
    data: dict[str, Any] = {
        "name": name,
        "secret": secret,
        "kind": kind,
        "provider": provider,
        "account": account,
        "sender": sender,
        "rate": rate,
        **{known: given.pop(known) for known in COMMON if known in given},
        "options": {option: str(value) for option, value in given.items()},
        "secrets": dict(_secret(each) for each in fields.secrets or ()),
    }
    said = call.ask("POST", "/v1/credentials", data=data)
    call.reply(said, f"stored: {said['name']} ({said['rate'] or 'no limit'})")


def _asked() -> str:
    """Ask for the secret on a terminal, or read it as the first line of standard input."""
    if sys.stdin.isatty():
        return str(click.prompt("secret", hide_input=True, err=True))
    secret = sys.stdin.readline().strip()
    if not secret:
        raise BadInput(
            "no secret: set POSTROAD_SECRET, or write it to standard input. For one that needs "
            "none, as mail without a login, set it empty: POSTROAD_SECRET="
        )
    return secret


def _secret(text: str) -> tuple[str, str]:
    """Read a secret from its file: on a command line others could see it."""
    name, value = named_value("--secret", text, ", as in dkim_key=@key.pem")
    if not value.startswith("@"):
        raise BadInput(f"--secret {name}: give a file, as {name}=@FILE")
    try:
        return name, Path(value[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"--secret {name}: cannot read {value[1:]}: {error}") from None


def _pair(text: str) -> tuple[str, object]:
    name, value = named_value("--with", text, ", as in price=0.05")
    try:
        number = float(value)
    except ValueError:
        return name, value
    return name, int(number) if number.is_integer() else number


def list_credentials(call: Listing) -> None:
    """List credentials, without their secrets."""
    columns = ("credential", "kind", "provider~", "account", "sender", "rate", "blocked until")
    names = ("name", "kind", "provider", "account", "sender", "rate")
    call.listed(
        "/v1/credentials",
        columns,
        lambda one: (*(one[name] for name in names), when(one["blocked_until_ms"])),
        "no credentials: `postroad credential put`",
    )


def check(call: Invocation, name: Name) -> None:
    """Ask the provider whether a credential works."""
    said = call.ask("POST", f"/v1/credentials/{part(name)}/check")
    unnamed = "nothing is against it; no account is named (of a webhook nobody can be asked)"
    call.reply(said, f"works: {said['account']}" if said["account"] else unnamed)


def delete(call: Invocation, name: Name) -> None:
    """Delete a credential that no campaign uses."""
    call.delete(f"/v1/credentials/{part(name)}", name)
