"""`postroad portal`: links to the page where customers look after their own endpoints."""

from typing import Annotated, Any

from postroad.cli.command import Commands, Invocation, Listing, add_group
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import err, out, when
from postroad.cli.sessions import whole_address
from postroad.remote.api_request import part


def add(app: Group) -> None:
    """Add the commands for the portal."""
    commands: Commands = {"link": link, "list": list_links, "revoke": revoke}
    add_group(app, "portal", "Look after it", "The page of a tenant's customers.", commands)


def link(
    call: Invocation,
    minutes: Annotated[int, Option(help="How long it is good for.")] = 60,
    allow: Annotated[
        list[str] | None,
        Option(help="endpoints, secrets, send_again, bodies, or nothing; repeatable; else all."),
    ] = None,
    origin: Annotated[
        list[str] | None,
        Option(help="A site that may embed it, as https://app.example.com; may be repeated."),
    ] = None,
    title: Annotated[str, Option(help="What stands at the head of the page.")] = "",
    accent: Annotated[str, Option(help="The colour of links and buttons, as #2c56c9.")] = "",
    theme: Annotated[str, Option(help="system, light or dark.")] = "system",
) -> None:
    """Make a link that opens the portal of the tenant once."""
    data: dict[str, Any] = {"tenant": call.tenant, "minutes": minutes, "origins": origin or []}
    data |= {"title": title, "accent": accent, "theme": theme}
    if allow:
        data["allow"] = [] if allow == ["nothing"] else allow
    said = call.ask("POST", "/v1/portal-links", data=data)
    said["url"] = whole_address(call, said)
    if call.printed(said):
        return
    out().print(said["url"])
    err().print(f"For {call.tenant}, until {when(said['ends_at_ms'])}; it opens once")


def list_links(call: Listing) -> None:
    """List the links that have not ended."""
    columns = ("id", "tenant", "state", "allows~", "origins~", "ends")
    call.listed(
        "/v1/portal-links",
        columns,
        lambda row: (
            row["id"],
            row["tenant"],
            "opened" if row["kind"] == "portal" else "not opened",
            " ".join(row["allow"]),
            " ".join(row["origins"]),
            when(row["expires_at_ms"]),
        ),
        "no links: `postroad portal link` makes one",
    )


def revoke(
    call: Invocation,
    id: Annotated[str, Argument(help="The link's id, as in `portal list`.")],  # noqa: A002
) -> None:
    """Revoke a link, opened or not: its page can do nothing more."""
    call.delete(f"/v1/portal-links/{part(id)}", id, done="revoked")
