"""`postroad login` and `postroad session`: people at the pages of the server."""

import os
from typing import Annotated, Any

from postroad.cli.command import Commands, Invocation, Listing, add_group, command
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import err, out, when
from postroad.config import address
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.tokens import Role
from postroad.remote.api_request import part
from postroad.stores.window_socket import user_of


def add(app: Group) -> None:
    """Add the commands for people."""
    command(app, "login", panel="Run")(login)
    commands: Commands = {"list": list_sessions, "end": end}
    add_group(app, "session", "Look after it", "People who are logged in.", commands)


def login(
    call: Invocation,
    name: Annotated[str, Option(help="Who will log in; you unless given.")] = "",
    role: Annotated[str, Option(help="read, operate, admin or tenant.")] = Role.admin,
) -> None:
    """Make a login link for the pages of the server: good once, within 15 minutes. It is for every
    tenant, unless one is named."""
    one = role == Role.tenant or call.tenant != DEFAULT_TENANT
    who = name or user_of(os.geteuid()).split()[-1]
    data = {"name": who, "role": role, "tenant": call.tenant if one else ""}
    said = call.ask("POST", "/v1/logins", data=data)
    said["url"] = whole_address(call, said)
    if call.printed(said):
        return
    out().print(said["url"])
    err().print(f"Open it in a browser before {when(said['ends_at_ms'])}; it works once")


def whole_address(call: Invocation, said: dict[str, Any]) -> str:
    """The address as this machine reaches it: of the server that was named, or else that which
    answered, or which the settings name."""
    if call.server:
        return call.server.rstrip("/") + str(said["path"])
    if said["url"]:
        return str(said["url"])
    err().print("No server with pages is here: `postroad up` or `postroad api` serves them")
    settings = call.loaded().settings
    host, port = address(settings.listen)
    scheme = "https" if settings.tls_cert_file else "http"
    return f"{scheme}://{host}:{port}{said['path']}"


def list_sessions(call: Listing) -> None:
    """List who is logged in."""
    columns = ("id", "tenant", "name~", "role", "since", "ends")
    call.listed(
        "/v1/sessions",
        columns,
        lambda row: (
            row["id"],
            row["tenant"],
            row["name"],
            row["role"] or "",
            when(row["created_at_ms"]),
            when(row["expires_at_ms"]),
        ),
        "nobody is logged in: `postroad login` makes a link",
    )


def end(
    call: Invocation,
    id: Annotated[str, Argument(help="The session's id, as in `session list`.")],  # noqa: A002
) -> None:
    """End a session: its browser is led to the login page."""
    call.delete(f"/v1/sessions/{part(id)}", id, done="ended")
