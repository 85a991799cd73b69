"""Where a body does not fit its schema, found step by step. The schema library makes all its errors
before it tells the first: 25 s for a body of 1 MB whose items have the wrong type."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from urllib.parse import quote, unquote

import msgspec
from msgspec import Struct

PROBLEMS_MAX: Final = 10
SHOWN: Final = 80
"""Characters of a value."""
DEPTH_MAX: Final = 32
"""Steps that are gone into schema and body; what is deeper is told at the last one."""
COMPILED_MAX: Final = 2 << 20
"""Bytes of schemas that are compiled for one body. What refers to others is compiled with them."""
BASE: Final = "urn:postroad:schema"
SIMPLE: Final = frozenset(
    (
        *("enum", "const", "pattern", "minLength", "maxLength", "multipleOf", "minimum", "maximum"),
        *("exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "uniqueItems"),
        *("minProperties", "maxProperties", "dependentRequired"),
    )
)
JOINED: Final = (
    *("anyOf", "oneOf", "not", "if", "contains", "patternProperties", "propertyNames"),
    *("dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "$ref", "$dynamicRef"),
)
"""Keywords with subschemas that are not looked into: it is told that one of them does not fit."""

Step = tuple[str | int, ...]
Fits = Callable[[Any], bool]


class Subschema(Struct, frozen=True):
    """A part of a schema, and where it stands."""

    place: Step
    schema: Any


Found = tuple[Step, Any]
"""A part of a body, and how it is reached."""


class Problems:
    """Finds what is wrong with a body that does not fit. `compiled` makes what checks a schema."""

    def __init__(self, schema: dict[str, Any], compiled: Callable[[dict[str, Any]], Fits]) -> None:
        self._schema = {key: schema[key] for key in schema if key != "$schema"}
        self._base = str(self._schema.setdefault("$id", BASE))
        self._compiled = compiled
        self._size, self._room = len(msgspec.json.encode(schema)), COMPILED_MAX
        self._fits: dict[str, Fits] = {}
        self._found: list[str] = []

    def of(self, body: Any) -> tuple[str, ...]:
        """The first problems of a body, each with its JSON pointer."""
        self._look(Subschema((), self._schema), ((), body), 0)
        return tuple(self._found)

    def _look(self, part: Subschema, found: Found, depth: int) -> None:
        before, where = len(self._found), _short(pointer(found[0])) or "(the body)"
        if isinstance(part.schema, dict) and depth < DEPTH_MAX:
            for text in self._said(part, found[1]):
                self._add(f"{where}: {text}")
            for deeper, those in _parts(self._schema, part, found[1]):
                fits = self._does(deeper)
                for step, value in those:
                    if len(self._found) >= PROBLEMS_MAX:
                        return
                    if not fits(value):
                        self._look(deeper, ((*found[0], *step), value), depth + 1)
        if len(self._found) == before:
            self._add(f"{where}: {_coarse(part.schema)}")

    def _add(self, text: str) -> None:
        if len(self._found) < PROBLEMS_MAX and text not in self._found:
            self._found.append(text)

    def _said(self, part: Subschema, body: Any) -> Iterator[str]:
        """What a body itself does not fulfil of the simple keywords."""
        schema = part.schema
        kinds = schema.get("type")
        if kinds is not None and not self._check(f"type {part.place}", {"type": kinds})(body):
            names = kinds if isinstance(kinds, str) else " or ".join(kinds)
            yield f"{_shown(body)} is not of type {names}"
        if isinstance(body, dict):
            missing = (name for name in schema.get("required", ()) if name not in body)
            yield from (f"{_shown(name)} is missing" for name in missing)
        for word in (word for word in schema if word in SIMPLE):
            if not self._check(f"{word} {part.place}", {word: schema[word]})(body):
                yield f"{_shown(body)} does not fit {word}: {_cut(schema[word])}"

    def _does(self, part: Subschema) -> Fits:
        target = target_of(part.schema) if isinstance(part.schema, dict) else None
        if target is not None and len(part.schema) == 1:  # most refer to what refers to nothing
            part = Subschema(target, at(self._schema, target))
        place = pointer(part.place)
        if not _refers(part.schema):
            return self._check(place, part.schema)
        return self._check(
            place, {"$defs": {"whole": self._schema}, "$ref": f"{self._base}#{quote(place)}"}
        )

    def _check(self, name: str, schema: Any) -> Fits:
        if isinstance(schema, bool):
            return lambda _body: schema
        if name not in self._fits:
            self._room -= self._size if _refers(schema) else len(msgspec.json.encode(schema))
            if self._room < 0:
                return _unknown
            try:
                self._fits[name] = self._compiled(schema)
            except ValueError:  # it has a base of its own, so that it is not found from outside
                self._fits[name] = _unknown
        return self._fits[name]


def pointer(path: Step) -> str:
    """A JSON pointer."""
    parts = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
    return "".join(f"/{part}" for part in parts)


def _parts(root: Any, part: Subschema, body: Any) -> Iterator[tuple[Subschema, Iterable[Found]]]:
    """What a schema consists of, each with the parts of the body that it is for."""
    place, schema, here = part.place, part.schema, (((), body),)
    for number, each in enumerate(schema.get("allOf", ())):
        yield Subschema((*place, "allOf", number), each), here
    target = target_of(schema)
    if target is not None:
        yield Subschema(target, at(root, target)), here
    if isinstance(body, dict):
        known = schema.get("properties", {})
        for key in (key for key in body if key in known):
            yield Subschema((*place, "properties", key), known[key]), (((key,), body[key]),)
        if "additionalProperties" in schema and "patternProperties" not in schema:
            others = (((key,), value) for key, value in body.items() if key not in known)
            yield (
                Subschema((*place, "additionalProperties"), schema["additionalProperties"]),
                others,
            )
    elif isinstance(body, list):
        first = schema.get("prefixItems", ())
        for number, each in enumerate(first[: len(body)]):
            yield Subschema((*place, "prefixItems", number), each), (((number,), body[number]),)
        if "items" in schema:
            rest = enumerate(body[len(first) :], len(first))
            yield (
                Subschema((*place, "items"), schema["items"]),
                (((number,), value) for number, value in rest),
            )


def target_of(schema: dict[str, Any], word: str = "$ref") -> Step | None:
    """Where a schema refers to by a JSON pointer."""
    target = schema.get(word, "")
    if target != "#" and not target.startswith("#/"):
        return None
    steps = (unquote(one) for one in target.split("/")[1:])
    return tuple(one.replace("~1", "/").replace("~0", "~") for one in steps)


def at(root: Any, steps: Step) -> Any:
    """What stands at a place; nothing is a schema that all fits."""
    for step in steps:
        if isinstance(root, list):
            root = root[int(step)] if str(step).isdigit() and int(step) < len(root) else True
        else:
            root = root.get(step, True) if isinstance(root, dict) else True
    return root


def _refers(schema: Any) -> bool:
    """Whether any part of a schema refers to another one."""
    if isinstance(schema, dict):
        found = ("$ref" in schema, "$dynamicRef" in schema, "$id" in schema)
        return any(found) or any(_refers(each) for each in schema.values())
    return isinstance(schema, list) and any(_refers(each) for each in schema)


def _coarse(schema: Any) -> str:
    if schema is False:
        return "nothing may be here"
    words = [word for word in JOINED if isinstance(schema, dict) and word in schema]
    return f"does not fit {' or '.join(words)}" if words else "does not fit"


def _shown(value: Any) -> str:
    """A value as JSON, cut short; of an object or a list only how large it is."""
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    return _cut(value[: SHOWN + 1] if isinstance(value, str) else value)


def _cut(value: Any) -> str:
    return _short(msgspec.json.encode(value).decode())


def _short(text: str) -> str:
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"


def _unknown(_body: Any) -> bool:
    return True
