"""`postroad token`: who may use the server."""

from typing import Annotated, Any

from postroad.api.in_process import part
from postroad.cli.command import DAYS_MAX, Commands, Invocation, add_group
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import err, out, table, when


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
    days: Annotated[
        float, Option(help="Days until it expires; never unless given.", max=DAYS_MAX)
    ] = 0.0,
) -> None:
    """Make a token for the tenant. It is printed only now: the server stores no copy."""
    data: dict[str, Any] = {"name": name, "tenant": call.tenant}
    if scope:
        data["scopes"] = scope
    if days:
        data["lasts_s"] = days * 86_400
    said = call.ask("POST", "/v1/tokens", data=data)
    if call.printed(said):
        return
    out().print(said["secret"])
    scopes = ", ".join(said["token"]["scopes"])
    err().print(f"may {scopes} for {said['token']['tenant']}; shown only now")


def list_tokens(call: Invocation) -> None:
    """List all tokens, without their secrets."""
    said = call.ask("GET", "/v1/tokens")
    if call.printed(said):
        return
    rows = [
        (
            row["id"],
            row["tenant"],
            row["name"],
            " ".join(row["scopes"]),
            when(row["created_at_ms"]),
            when(row["expires_at_ms"]),
        )
        for row in said
    ]
    table(("id", "tenant", "name", "may", "made", "ends"), rows, "no tokens: `postroad token make`")


def revoke(
    call: Invocation,
    id: Annotated[str, Argument(help="The token's id, as in `token list`.")],  # noqa: A002
) -> None:
    """Revoke a token: it is refused from now on."""
    _ = call.ask("DELETE", f"/v1/tokens/{part(id)}")  # a refusal is raised
    call.reply({"revoked": id}, f"revoked: {id}")
