"""How often a schema looks at one place of a body. A few references make it endless: fourteen
levels of four `$ref`s are 268 million looks at a body of two bytes."""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from postroad.verbs.event_problems import at, target_of

LOOKS_MAX: Final = 2_000
DEPTH_MAX: Final = 200
BESIDE: Final = ("not", "if", "then", "else", "propertyNames")
BESIDE_LISTS: Final = ("allOf", "anyOf", "oneOf")
OF_ALL: Final = (
    *("additionalProperties", "unevaluatedProperties"),
    *("items", "contains", "unevaluatedItems"),
)


class TooManyLooks(ValueError):
    """A schema looks too often at one place."""


class SchemaCost:
    """Adds up what looks at a place, and at one in it. What refers back to itself counts once: the
    library remembers what it said of it."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._root = schema
        self._looks: dict[int, int] = {}
        self._named: dict[str, Any] = {}
        self._name(schema, 0)

    def check(self) -> None:
        """Raise TooManyLooks if it does so too often."""
        _ = self._of(self._root, 0)  # raises

    def _of(self, part: Any, depth: int) -> int:
        if not isinstance(part, dict):
            return 0
        if id(part) not in self._looks:
            if depth > DEPTH_MAX:
                raise TooManyLooks(f"it goes more than {DEPTH_MAX} steps deep")
            self._looks[id(part)] = 0
            deeper = depth + 1
            looks = 1 + self._all(self._beside(part), deeper) + self._all(_of_all(part), deeper)
            looks += max((self._of(each, deeper) for each in _of_one(part)), default=0)
            if looks > LOOKS_MAX:
                raise TooManyLooks(f"it looks more than {LOOKS_MAX} times at one place of a body")
            self._looks[id(part)] = looks
        return self._looks[id(part)]

    def _all(self, parts: Iterable[Any], depth: int) -> int:
        return sum(self._of(each, depth) for each in parts)

    def _beside(self, part: dict[str, Any]) -> Iterator[Any]:
        """What looks at the same place."""
        for word in BESIDE_LISTS:
            yield from part.get(word, ())
        yield from (part[word] for word in BESIDE if word in part)
        yield from part.get("dependentSchemas", {}).values()
        for word in ("$ref", "$dynamicRef"):
            steps = target_of(part, word)
            named = self._named.get(part.get(word, ""))
            yield named if steps is None else at(self._root, steps)

    def _name(self, part: Any, depth: int) -> None:
        """Note the names that references may use instead of pointers."""
        if depth > DEPTH_MAX:
            raise TooManyLooks(f"it goes more than {DEPTH_MAX} steps deep")
        if isinstance(part, dict):
            words = (("$id", ""), ("$anchor", "#"), ("$dynamicAnchor", "#"))
            self._named |= {f"{mark}{part[word]}": part for word, mark in words if word in part}
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        for each in inner:
            self._name(each, depth + 1)


def _of_all(part: dict[str, Any]) -> Iterator[Any]:
    """What may look at every key or item."""
    yield from part.get("patternProperties", {}).values()
    yield from (part[word] for word in OF_ALL if word in part)


def _of_one(part: dict[str, Any]) -> Iterator[Any]:
    """What looks at one key or item, each at another."""
    yield from part.get("properties", {}).values()
    yield from part.get("prefixItems", ())
