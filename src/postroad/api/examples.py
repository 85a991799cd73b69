"""Examples of what routes take and give, made from their types: the description shows them."""

import re
from typing import Any, Final

import msgspec
from msgspec import inspect

from postroad.model.ids import to_text

MOMENT: Final = "2026-01-31T12:00:00Z"
MOMENT_MS: Final = 1_769_860_800_000
MESSAGE: Final = to_text(MOMENT_MS << 20)
DEPTH_MAX: Final = 6
CHOICES: Final = re.compile(r"\^\(([^|)]*)")
BY_NAME: Final[dict[str, Any]] = {
    "queue": "https://example.com/hook",
    "url": "https://example.com/hook",
    "provider": "https://api.twilio.com",
    "server": "https://example.com",
    "callback": "https://road.example.com",
    "body": {"id": 7},
    "id": MESSAGE,
    "ids": [MESSAGE],
    "key": "order-7",
    "name": "shop",
    "tenant": "default",
    "credential": "main",
    "account": "AC0123456789",
    "sender": "+15550000",
    "recipient": "+15550001",
    "to": "+15550001",
    "template": "Hello {{ name }}",
    "rate": "50/s",
    "secret": "…",
    "secrets": ["whsec_MTExMTExMTExMTExMTExMTExMTExMTEx"],
    "encoding": "utf-8",
    "type": "urn:postroad:problem:bad-request",
    "title": "Bad request",
    "detail": "queue: missing required field `queue`",
    "field": "queue",
    "message": "missing required field `queue`",
}
"""What a text of this name looks like. A request's example has these fields, and those it must
have."""
LEFT_OUT: Final = ("body_base64", "ids", "key")
"""Fields that exclude others."""


def example(kind: Any, *, whole: bool) -> Any:
    """An example of a type, as JSON has it: with all fields, or with those that people give."""
    found = _sample(inspect.type_info(kind), "", 0, whole=whole)
    return found or _sample(inspect.type_info(kind), "", 0, whole=True)


def _sample(kind: inspect.Type, name: str, depth: int, *, whole: bool) -> Any:
    match kind:
        case inspect.Metadata(type=inner):
            return _sample(inner, name, depth, whole=whole)
        case inspect.UnionType(types=types):
            return _of_union(types, name, depth, whole=whole)
        case inspect.StructType():
            return _of_struct(kind, depth, whole=whole)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            if name in BY_NAME and isinstance(BY_NAME[name], list):
                return BY_NAME[name]
            return [] if depth > DEPTH_MAX else [_sample(item, name, depth + 1, whole=whole)]
        case inspect.TupleType(item_types=items):
            return [_sample(item, name, depth + 1, whole=whole) for item in items]
        case inspect.DictType(key_type=key, value_type=value):
            return {_key(key): _sample(value, "", depth + 1, whole=whole)}
        case _:
            return _of_value(kind, name)


def _of_union(types: tuple[inspect.Type, ...], name: str, depth: int, *, whole: bool) -> Any:
    known = [each for each in types if not isinstance(each, inspect.NoneType)]
    return _sample(known[0], name, depth, whole=whole)


def _of_struct(kind: inspect.StructType, depth: int, *, whole: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if kind.tag_field is not None:
        found[kind.tag_field] = kind.tag
    for field in kind.fields:
        asked = field.required or (field.name in BY_NAME and field.name not in LEFT_OUT)
        if (whole or asked) and depth <= DEPTH_MAX:
            found[field.encode_name] = _sample(field.type, field.name, depth + 1, whole=whole)
    return found


def _key(kind: inspect.Type) -> str:
    return "0" if isinstance(kind, inspect.IntType) else "x-shop"


def _of_value(kind: inspect.Type, name: str) -> Any:
    match kind:
        case inspect.EnumType(cls=cls):
            return msgspec.to_builtins(next(iter(cls)))
        case inspect.LiteralType(values=values):
            return values[0]
        case inspect.BoolType():
            return False
        case inspect.IntType(ge=least):
            return MOMENT_MS if name.endswith("_ms") and "at" in name else max(1, least or 1)
        case inspect.FloatType(ge=least):
            return float(max(1, least or 1))
        case inspect.DateTimeType():
            return MOMENT
        case inspect.BytesType():
            return "AP8="
        case inspect.StrType(pattern=str(pattern)) if listed := CHOICES.match(pattern):
            return listed[1]
        case inspect.StrType():
            return BY_NAME[name] if isinstance(BY_NAME.get(name), str) else "…"
        case _:
            return BY_NAME.get(name, {"id": 7})
