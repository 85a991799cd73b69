"""`postroad event` and `postroad event-type`: publish events, and say what types there are."""

import json
from pathlib import Path
from typing import Annotated, Any

from postroad.cli.bodies import read_json_body
from postroad.cli.command import (
    After,
    Commands,
    ExportInvocation,
    Invocation,
    Limit,
    Listing,
    add_group,
    read_json,
)
from postroad.cli.options import Argument, Group, Option
from postroad.cli.printing import as_json, when
from postroad.model.errors import BadInput
from postroad.remote.api_request import part

TypeName = Annotated[str, Argument(help="The event type, as order.paid.")]
BYTES_MAX = 4 << 20


def add(app: Group) -> None:
    """Add the commands for events and their types."""
    commands: Commands = {"publish": publish, "list": list_events, "show": show}
    commands["unmatched"] = unmatched
    add_group(app, "event", "Events", "Events: publish them, and see their messages.", commands)
    types: Commands = {"set": set_type, "list": list_types, "show": show_type}
    types |= {"import": import_types, "export": export_types}
    add_group(app, "event-type", "Events", "Event types and the schemas of their bodies.", types)


def publish(
    call: Invocation,
    type: TypeName,  # noqa: A002
    body: Annotated[str, Argument(help="The body as JSON; - reads it from standard input.")],
    key: Annotated[str, Option(help="Idempotency key: the same one publishes once a day.")] = "",
    channel: Annotated[
        list[str] | None, Option(help="A channel of the event; may be repeated.")
    ] = None,
) -> None:
    """Publish an event to every endpoint that matches."""
    data: dict[str, Any] = {"type": type, "body": read_json_body(body)}
    data |= {"channels": channel or []} | ({"key": key} if key else {})
    said = call.ask("POST", "/v1/events", data=data)
    count = len(said["messages"])
    told = f"to {count} endpoints" if count else "no endpoint matched"
    again = ", as before" if said["duplicate"] else ""
    warned = "".join(f"\nwarning: {each}" for each in said["problems"])
    call.reply(said, f"published: {said['id']} ({told}{again}){warned}")


def list_events(call: Listing, limit: Limit = 100, after: After = "") -> None:
    """List events, the newest first."""
    call.listed(
        "/v1/events",
        ("event", "type~", "published", "messages#"),
        lambda one: (one["id"], one["type"], when(one["made_at_ms"]), len(one["messages"])),
        "there are no events",
        limit=limit,
        after=after,
    )


def unmatched(call: Listing) -> None:
    """Count the kept events that no endpoint matched, by type."""
    call.listed(
        "/v1/events:unmatched",
        ("type~", "events#", "last"),
        lambda one: (one["type"], one["count"], one["last"]),
        "every event was matched",
    )


def show(call: Listing, id: Annotated[str, Argument(help="The event's id: evt_…")]) -> None:  # noqa: A002
    """Show an event with its body and the ids of its messages."""
    said = call.ask("GET", f"/v1/events/{part(id)}")
    if call.printed(said):
        return
    call.facts(
        [
            ("event", said["id"]),
            ("type", said["type"]),
            ("published", when(said["made_at_ms"])),
            ("channels", ", ".join(said["channels"]) or "none"),
            ("messages", ", ".join(said["messages"]) or "none: no endpoint matched"),
            ("body", said["hidden"] or json.dumps(said["body"])),
        ]
    )


def set_type(
    call: Listing,
    name: TypeName,
    description: Annotated[str, Option(help="What it tells.")] = "",
    schema: Annotated[
        Path | None, Option(help="A file with the JSON Schema of its bodies.")
    ] = None,
    warn: Annotated[
        bool, Option("--warn", help="Publish bodies that do not fit, and say so.")
    ] = False,
    archived: Annotated[bool, Option("--archived", help="Nothing of it is published.")] = False,
) -> None:
    """Set an event type; it replaces one of the same name."""
    data = {"name": name, "description": description, "warn": warn, "archived": archived}
    data |= {"schema": _file(schema)} if schema else {}
    _tell(call, call.ask("POST", "/v1/event-types", data=data))


def _file(path: Path) -> Any:
    try:
        with path.open() as file:
            text = file.read(BYTES_MAX)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"cannot read {path}: {error}") from None
    return read_json(str(path), text)


def _tell(call: Listing, said: dict[str, Any]) -> None:
    if call.printed(said):
        return
    call.facts(
        [
            ("event type", said["name"]),
            ("description", said["description"] or "none"),
            ("schema", "none" if said["schema"] is None else json.dumps(said["schema"])),
            ("bodies that do not fit", "published with a warning" if said["warn"] else "refused"),
            ("archived", "yes" if said["archived"] else "no"),
        ]
    )


def list_types(
    call: Listing,
    archived: Annotated[bool, Option("--archived", help="Those that are archived too.")] = False,
) -> None:
    """List the event types."""
    _list(call, call.ask("GET", "/v1/event-types", {"archived": str(archived).lower()}))


def _list(call: Listing, said: dict[str, Any]) -> None:
    if call.printed(said):
        return
    rows = [
        (one["name"], one["description"], "yes" if one["schema"] else "no", one["archived"] or "")
        for one in said["event_types"]
    ]
    columns = ("event type", "description~", "schema", "archived")
    call.table(columns, rows, "there are no event types: every name may be published")


def show_type(call: Listing, name: TypeName) -> None:
    """Show an event type with its schema."""
    _tell(call, call.ask("GET", f"/v1/event-types/{part(name)}"))


def import_types(
    call: Listing, file: Annotated[Path, Argument(help="An OpenAPI 3.1 document, as JSON.")]
) -> None:
    """Set the event types that an OpenAPI document describes as webhooks."""
    document = _file(file)
    if not isinstance(document, dict) or not isinstance(document.get("webhooks"), dict):
        raise BadInput(f"{file} describes no webhooks: an OpenAPI 3.1 document is meant")
    data = {name: document[name] for name in ("webhooks", "components") if name in document}
    _list(call, call.ask("POST", "/v1/event-types:import", data=data))


def export_types(call: ExportInvocation) -> None:
    """Print the event types as an OpenAPI document."""
    as_json(call.ask("GET", "/v1/event-types:export"))
