"""`postroad token`: who may ask the server."""

from typing import Annotated, Any

import typer

from postroad.api.inside import part
from postroad.cli.command import Invocation, command
from postroad.cli.printing import as_json, err, out, table, when


def add(app: typer.Typer) -> None:
    """These commands."""
    group = typer.Typer(no_args_is_help=True, help="Access tokens of the server.")
    app.add_typer(group, name="token", rich_help_panel="Look after it")
    command(group, "make")(make)
    command(group, "list")(list_tokens)
    command(group, "revoke")(revoke)


def make(
    call: Invocation,
    name: Annotated[str, typer.Argument(help="Who will use it, in a few words.")],
    scope: Annotated[
        list[str] | None, typer.Option(help="send, read, manage, admin; again for more.")
    ] = None,
    days: Annotated[float, typer.Option(help="It ends after so many days; else never.")] = 0.0,
) -> None:
    """Make a token for the tenant. It is printed this once and kept nowhere."""
    data: dict[str, Any] = {"name": name, "tenant": call.tenant}
    if scope:
        data["scopes"] = scope
    if days:
        data["lasts_s"] = days * 86_400
    with call.connect() as road:
        said = road.ask("POST", "/v1/tokens", data=data)
    if call.json:
        as_json(said)
        return
    out().print(said["secret"], soft_wrap=True)
    scopes = ", ".join(said["token"]["scopes"])
    err().print(f"may {scopes} for {said['token']['tenant']}; shown this once")


def list_tokens(call: Invocation) -> None:
    """All tokens, without their secrets."""
    with call.connect() as road:
        said = road.ask("GET", "/v1/tokens")
    if call.json:
        as_json(said)
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
    id: Annotated[str, typer.Argument(help="As in `token list`.")],  # noqa: A002
) -> None:
    """From now on it opens nothing."""
    with call.connect() as road:
        _ = road.ask("DELETE", f"/v1/tokens/{part(id)}")  # a refusal is raised
    if call.json:
        as_json({"revoked": id})
    else:
        out().print(f"revoked: {id}")
