"""`postroad audit`: who changed what."""

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec
from msgspec import structs

from postroad.cli.client import RoadClient
from postroad.cli.command import After, ExportInvocation, Limit, Listing, SharedOptions, add_group
from postroad.cli.options import Group, Option
from postroad.cli.printing import pieces, when
from postroad.verbs.paging import PAGE_MAX


class AuditOptions(SharedOptions, frozen=True):
    """AuditOptions lines: those to which all given options apply."""

    since: Annotated[str, Option(help="Only from this time on, as 2026-01-31T12:00:00Z.")] = ""
    until: Annotated[str, Option(help="Only before this time.")] = ""
    actor: Annotated[str, Option(help="Only of this token's id, or `local`.")] = ""
    verb: Annotated[str, Option(help="Only this verb, as in the list.")] = ""


def add(app: Group) -> None:
    """Add the commands for the audit log."""
    commands: dict[str, Any] = {"list": list_lines, "export": export}
    text = "Who changed what, over HTTP and by commands."
    add_group(app, "audit", "Look after it", text, commands, otherwise="list")


def list_lines(
    call: Listing, *, which: AuditOptions, limit: Limit = 100, after: After = ""
) -> None:
    """List who changed what, the newest first; of all tenants, unless one is named."""
    query = structs.asdict(which) | {"limit": limit, "after": after}
    columns = ("when", "who~", "from~", "tenant", "verb", "what~", "outcome", "count#")
    call.listed(
        "/v1/audit",
        columns,
        lambda row: (
            when(row["at_ms"]),
            f"{row['actor']} {row['name']}".strip(),
            row["address"],
            row["tenant"],
            row["verb"],
            " ".join(f"{name}={text}" for name, text in row["what"].items()),
            row["outcome"],
            "" if row["count"] is None else row["count"],
        ),
        "the audit log has no such lines",
        **query,
    )


def export(call: ExportInvocation, *, which: AuditOptions) -> None:
    """Print all lines as NDJSON, the newest first."""
    with call.connect() as road:
        pieces(_lines(road, structs.asdict(which)))


def _lines(road: RoadClient, which: dict[str, Any]) -> Iterator[bytes]:
    page: dict[str, Any] = {"after": "", "lines": []}
    while True:
        query = which | {"limit": PAGE_MAX, "after": page["after"]}
        page = road.ask("GET", "/v1/audit", query)
        yield msgspec.json.Encoder().encode_lines(page["lines"])
        if not page["after"]:
            return
