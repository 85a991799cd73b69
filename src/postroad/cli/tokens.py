"""`postroad token`: who may use the server."""

from datetime import timedelta
from typing import Annotated, Any

from postroad.cli.command import Commands, Invocation, Listing, add_group
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import err, out, when
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput
from postroad.remote.api_request import part


def add(app: Group) -> None:
    """Add the commands for tokens."""
    commands: Commands = {"make": make, "list": list_tokens, "revoke": revoke}
    add_group(app, "token", "Look after it", "Access tokens of the server.", commands)


def make(
    call: Invocation,
    name: Annotated[str, Argument(help="Who will use it, in a few words.")],
    scope: Annotated[
        list[str] | None,
        Option(help="send, read, manage, admin or bodies; may be repeated; all unless given."),
    ] = None,
    role: Annotated[str, Option(help="read, operate, admin or tenant, in place of scopes.")] = "",
    lasts: Annotated[
        timedelta | None, Option(help="How long it is good for, as 30d or 12h; else for ever.")
    ] = None,
    everywhere: Annotated[
        bool, Option("--everywhere", help="For every tenant, and for the tenants themselves.")
    ] = False,
) -> None:
    """Make a token for the tenant, or with --everywhere for all tenants. It is printed only now:
    the server stores no copy."""
    if everywhere and call.tenant != DEFAULT_TENANT:
        raise BadInput("--everywhere is every tenant: leave --tenant out")
    data: dict[str, Any] = {"name": name}
    data |= {"everywhere": True} if everywhere else {"tenant": call.tenant}
    if scope:
        data["scopes"] = scope
    if role:
        data["role"] = role
    if lasts is not None:
        data["lasts_s"] = lasts.total_seconds()
    said = call.ask("POST", "/v1/tokens", data=data)
    if call.printed(said):
        return
    out().print(said["secret"])
    scopes = ", ".join(said["token"]["scopes"])
    whose = "every tenant" if everywhere else said["token"]["tenant"]
    err().print(f"may {scopes} for {whose}; shown only now")


def list_tokens(call: Listing) -> None:
    """List all tokens, without their secrets."""
    columns = ("id", "tenant", "name~", "role", "may~", "made", "ends")
    call.listed(
        "/v1/tokens",
        columns,
        lambda row: (
            row["id"],
            row["tenant"],
            row["name"],
            row["role"] or "",
            " ".join(row["scopes"]),
            when(row["created_at_ms"]),
            when(row["expires_at_ms"]),
        ),
        "no tokens: `postroad token make`",
    )


def revoke(
    call: Invocation,
    id: Annotated[str, Argument(help="The token's id, as in `token list`.")],  # noqa: A002
) -> None:
    """Revoke a token: it is refused from now on."""
    call.delete(f"/v1/tokens/{part(id)}", id, done="revoked")
