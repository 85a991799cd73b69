"""Sample bodies: what a JSON Schema describes, made up or taken from its examples."""

import math
from itertools import islice
from typing import Any, Final

VALUES_MAX: Final = 500
"""Values of one sample: properties that are not required are left out from then on. As many parts
are joined, with as many names each."""
DEPTH_MAX: Final = 20
ITEMS_MAX: Final = 10
TEXT: Final = "test"
FORMATS: Final = {
    "date": "2026-01-31",
    "date-time": "2026-01-31T12:00:00Z",
    "duration": "PT1H",
    "email": "test@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "12:00:00Z",
    "uri": "https://example.com/test",
    "uuid": "00000000-0000-4000-8000-000000000000",
}
KINDS: Final = (("properties", "object"), ("required", "object"), ("items", "array"))
"""What a schema without a type is for, by a word in it."""


def sample(schema: dict[str, Any]) -> Any:
    """Return a body as a schema describes it: its example, or one that is made. It may fail to fit
    where patterns or conditions rule."""
    return _Sampler(schema).made(schema, 0)


class _Sampler:
    """Makes a sample, and counts its values: schemas can refer to themselves."""

    def __init__(self, root: dict[str, Any]) -> None:
        self._root = root
        self._left = VALUES_MAX
        self._parts = VALUES_MAX

    def made(self, schema: Any, depth: int) -> Any:
        """Return a value that fits a schema, as far as that can be seen."""
        self._left -= 1
        if not isinstance(schema, dict) or depth > DEPTH_MAX or self._left < 0:
            return None
        told = _told(schema)
        if told:
            return told[0]
        part = self._part(schema)
        if part is not None:
            return self.made(part, depth + 1)
        match _kind(schema):
            case "object":
                return self._object(schema, depth)
            case "array":
                return self._array(schema, depth)
            case "string":
                return _text(schema)
            case "integer" | "number" as kind:
                return _number(schema, whole=kind == "integer")
            case "boolean":
                return True
            case _:
                return None

    def _part(self, schema: dict[str, Any]) -> Any:
        """The schema that stands for this one: what it refers to, a choice, or all its parts in
        one."""
        to = schema.get("$ref")
        if isinstance(to, str):
            return self._referred(to)
        for word in ("oneOf", "anyOf"):
            choices = schema.get(word)
            if isinstance(choices, list) and choices and isinstance(choices[0], dict):
                return _joined([_without(schema, word), choices[0]])
        parts = schema.get("allOf")
        if isinstance(parts, list):
            some = parts[: self._parts]
            self._parts -= len(some)
            found = [each for each in map(self._whole, some) if isinstance(each, dict)]
            return _joined([_without(schema, "allOf"), *found])
        return None

    def _whole(self, part: Any) -> Any:
        to = part.get("$ref") if isinstance(part, dict) else None
        return self._referred(to) if isinstance(to, str) else part

    def _referred(self, to: str) -> Any:
        """The part of the document that a reference names."""
        found: Any = self._root
        for name in to.removeprefix("#").strip("/").split("/") if to != "#" else ():
            key = name.replace("~1", "/").replace("~0", "~")
            found = found.get(key, {}) if isinstance(found, dict) else {}
        return found

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        properties, required = schema.get("properties"), schema.get("required")
        known = properties if isinstance(properties, dict) else {}
        listed = required if isinstance(required, list) else ()
        needed = [name for name in listed if isinstance(name, str)]
        made = {name: self.made(known.get(name, {"type": "string"}), depth + 1) for name in needed}
        for name, each in known.items():
            if name not in made and self._left > 0 and depth < DEPTH_MAX // 4:
                made[name] = self.made(each, depth + 1)
        return made

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        first = schema.get("prefixItems")
        items = list(first[:ITEMS_MAX]) if isinstance(first, list) else []
        least = schema.get("minItems")
        count = min(least, ITEMS_MAX) if isinstance(least, int) else 1
        if isinstance(schema.get("items"), dict):
            items += [schema["items"]] * (count - len(items))
        return [self.made(each, depth + 1) for each in items]


def _told(schema: dict[str, Any]) -> list[Any]:
    """The values that a schema names itself, the best first."""
    found = [schema[word] for word in ("example", "const") if word in schema]
    listed = [schema.get(word) for word in ("examples", "enum")]
    found += [each[0] for each in listed if isinstance(each, list) and each]
    return found + ([schema["default"]] if "default" in schema else [])


def _kind(schema: dict[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((each for each in kind if each != "null"), "null")
    if kind is None:
        kind = next((kind for word, kind in KINDS if word in schema), "string")
    return str(kind)


def _text(schema: dict[str, Any]) -> str:
    text = FORMATS.get(str(schema.get("format")), TEXT)
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(text) < least <= VALUES_MAX:
        text = text.ljust(least, "x")
    return text[:most] if isinstance(most, int) and "format" not in schema else text


def _number(schema: dict[str, Any], *, whole: bool) -> float:
    try:
        number = _within(schema, whole=whole)
        return number if math.isfinite(number) else 1
    except OverflowError:  # bounds that no float holds
        return 1


def _within(schema: dict[str, Any], *, whole: bool) -> float:
    step = 1 if whole else 0.5
    words = (
        ("minimum", 0),
        ("exclusiveMinimum", step),
        ("maximum", 0),
        ("exclusiveMaximum", -step),
    )
    bounds = [schema[word] + by for word, by in words if isinstance(schema.get(word), (int, float))]
    number = bounds[0] if bounds else 1
    unit = schema.get("multipleOf")
    if isinstance(unit, (int, float)) and unit > 0:
        number = -(-number // unit) * unit
    return int(number) if whole and number == number // 1 else number


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """One schema of several: properties and what is required are gathered."""
    joined: dict[str, Any] = {}
    properties: dict[str, Any] = {}
    required: dict[Any, None] = {}
    for part in parts:
        joined |= part
        if isinstance(found := part.get("properties"), dict):
            properties.update(islice(found.items(), VALUES_MAX))
        if isinstance(found := part.get("required"), list):
            required |= dict.fromkeys(name for name in found[:VALUES_MAX] if isinstance(name, str))
    more = {"properties": properties, "required": list(required)}
    return joined | {word: value for word, value in more.items() if word in joined}


def _without(schema: dict[str, Any], word: str) -> dict[str, Any]:
    return {name: each for name, each in schema.items() if name != word}
