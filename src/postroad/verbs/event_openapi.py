"""Event types from and as the webhooks of an OpenAPI document."""

from collections.abc import Iterable
from typing import Any, Final

from postroad.model.errors import BadInput
from postroad.model.event_types import EventType
from postroad.version import VERSION

SHARED: Final = "#/components/schemas/"
WEBHOOKS_MAX: Final = 1_000
DEPTH_MAX: Final = 100
FORM: Final = 'give {"openapi": "3.1.0", "webhooks": {"order.paid": {"post": {…}}}}'


def imported(document: Any) -> list[EventType]:
    """Read the event types that a document describes. Schemas that several share are taken along
    with each."""
    hooks = document.get("webhooks")
    if not isinstance(hooks, dict) or not 0 < len(hooks) <= WEBHOOKS_MAX:
        raise BadInput(f"webhooks: there are none, or more than {WEBHOOKS_MAX}: {FORM}")
    parts = document.get("components")
    shared = parts.get("schemas", {}) if isinstance(parts, dict) else {}
    return [_read(name, hook, shared) for name, hook in hooks.items()]


def _read(name: str, hook: Any, shared: Any) -> EventType:
    post = hook.get("post") if isinstance(hook, dict) else None
    if not isinstance(post, dict):
        raise BadInput(f"webhooks: {name!r:.60} has no `post`: {FORM}")
    text = post.get("description") or post.get("summary") or ""
    schema = _inside(post, "requestBody", "content", "application/json", "schema")
    if schema is not None:
        needed = _needed(schema, shared)
        schema = {**schema, "components": {"schemas": needed}} if needed else schema
    archived = post.get("deprecated") is True
    return EventType(name, str(text), schema, archived=archived)


def _inside(value: Any, *names: str) -> dict[str, Any] | None:
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def _needed(schema: Any, shared: Any) -> dict[str, Any]:
    """The shared schemas that a schema refers to, and those that they refer to."""
    needed: dict[str, Any] = {}
    left = [schema]
    while left:
        for name in _references(left.pop()):
            if name not in needed and isinstance(shared, dict) and name in shared:
                needed[name] = shared[name]
                left.append(shared[name])
    return needed


def _references(schema: Any) -> Iterable[str]:
    left = [(schema, 0)]
    while left:
        value, depth = left.pop()
        if depth > DEPTH_MAX:
            raise BadInput("a schema is nested too deep")
        if isinstance(value, dict):
            to = value.get("$ref")
            if isinstance(to, str) and to.startswith(SHARED):
                yield to.removeprefix(SHARED).partition("/")[0]
            left += [(each, depth + 1) for each in value.values()]
        elif isinstance(value, list):
            left += [(each, depth + 1) for each in value]


def exported(kinds: Iterable[EventType]) -> dict[str, Any]:
    """Write a document with these event types."""
    hooks: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    for kind in kinds:
        schema = dict(kind.schema or {})
        parts = _inside(schema, "components", "schemas")
        if parts is not None:
            del schema["components"]
            names = _free_names(parts, shared, kind.name)
            schema = _renamed(schema, names)
            shared |= {names[name]: _renamed(each, names) for name, each in parts.items()}
        hooks[kind.name] = {
            "post": {
                "summary": kind.name,
                "description": kind.description,
                "requestBody": {"content": {"application/json": {"schema": schema}}},
                "responses": {"2XX": {"description": "received"}},
            }
        }
    components = {"components": {"schemas": shared}} if shared else {}
    info = {"title": "Events", "version": VERSION}
    return {"openapi": "3.1.0", "info": info, "webhooks": hooks, **components}


def _free_names(parts: dict[str, Any], shared: dict[str, Any], kind: str) -> dict[str, str]:
    """Name the shared schemas of an event type in a document: as before; or, if another type has a
    different one of the same name, all of them after their type, as they refer to each other."""
    if all(shared.get(name, each) == each for name, each in parts.items()):
        return {name: name for name in parts}
    names = {name: f"{name}.{kind}" for name in parts}
    while any(name in shared for name in names.values()):
        names = {name: f"{new}_" for name, new in names.items()}
    return names


def _renamed(schema: Any, names: dict[str, str], depth: int = 0) -> Any:
    """Return a schema whose references name shared schemas."""
    if depth > DEPTH_MAX:
        raise BadInput("a schema is nested too deep")
    if isinstance(schema, list):
        return [_renamed(each, names, depth + 1) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _renamed(each, names, depth + 1) for key, each in schema.items()}
    to = made.get("$ref")
    if isinstance(to, str) and to.startswith(SHARED):
        name, slash, rest = to.removeprefix(SHARED).partition("/")
        made["$ref"] = f"{SHARED}{names.get(name, name)}{slash}{rest}"
    return made
