"""An example of an event's body: the schema's own, or one that is made from it."""

from typing import Any, Final

DEPTH_MAX: Final = 6
FIELDS_MAX: Final = 50
PLAIN: Final = {
    "string": "text",
    "integer": 1,
    "number": 1.5,
    "boolean": True,
    "null": None,
}
FORMS: Final = {
    "date-time": "2026-01-31T12:00:00Z",
    "date": "2026-01-31",
    "email": "ann@example.com",
    "uri": "https://example.com/",
    "uuid": "6f1d2a52-0b9e-4f0a-9a54-0e7c0c0a1b11",
}


def example_of(schema: dict[str, Any] | None) -> Any:
    """An example of what a schema describes. It shows the form; it may not fit every rule."""
    return _made(schema or {}, 0)


def _made(schema: Any, depth: int) -> Any:
    if not isinstance(schema, dict) or depth > DEPTH_MAX:
        return None
    examples = schema.get("examples")
    if isinstance(examples, list) and examples:
        return examples[0]
    for name in ("example", "const", "default"):
        if name in schema:
            return schema[name]
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        return choices[0]
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    fields = schema.get("properties")
    if isinstance(fields, dict):
        return {name: _made(one, depth + 1) for name, one in list(fields.items())[:FIELDS_MAX]}
    if kind == "array":
        return [_made(schema.get("items"), depth + 1)]
    form = schema.get("format")
    if kind == "string" and isinstance(form, str) and form in FORMS:
        return FORMS[form]
    return {} if kind == "object" else PLAIN.get(kind) if isinstance(kind, str) else None
