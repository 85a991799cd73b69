"""Filters: what the body of an event must be like. They are data, checked and compiled once."""

from collections.abc import Callable
from math import isfinite
from operator import ge, gt, le, lt
from typing import Final, TypeGuard

import msgspec

from postroad.model.errors import BadFilter
from postroad.model.json_pointer import pointer_parts

DEPTH_MAX: Final = 8
CONDITIONS_MAX: Final = 100
VALUES_MAX: Final = 100
BYTES_MAX: Final = 8 << 10
POINTER_MAX: Final = 512
RANGES: Final = {"gt": gt, "gte": ge, "lt": lt, "lte": le}
FORM: Final = 'write {"/order/total": {"gte": 100}}: JSON pointers, "any", "not"'

Test = Callable[[object], bool]
MISSING: Final = object()
"""The value at a pointer that leads nowhere."""


def compiled(given: object) -> Test:
    """Compile a filter into a function of the body. BadFilter says what is wrong with it."""
    try:
        size = len(msgspec.json.encode(given))
    except (TypeError, ValueError, OverflowError, RecursionError):
        raise BadFilter(f"the filter is no JSON: {FORM}") from None
    if size > BYTES_MAX:
        raise BadFilter(f"the filter has {size} bytes: at most {BYTES_MAX}")
    return _Compiler().filter(given, 1)


def filter_fault(given: object) -> str:
    """Why a stored filter cannot be used; "" if it can. One that cannot matches nothing."""
    if given is None:
        return ""
    try:
        _ = compiled(given)  # whether it can be
    except BadFilter as error:
        return str(error)
    return ""


class _Compiler:
    """Compiles one filter, and counts its conditions."""

    def __init__(self) -> None:
        self._count = 0

    def filter(self, given: object, depth: int) -> Test:
        """All entries of a filter must hold."""
        if not isinstance(given, dict) or not given:
            raise BadFilter(f"a filter is an object with something in it: {FORM}")
        if depth > DEPTH_MAX:
            raise BadFilter(f"the filter is nested too deep: at most {DEPTH_MAX} levels")
        return _all([self._entry(key, value, depth) for key, value in given.items()])

    def _entry(self, key: object, value: object, depth: int) -> Test:
        if key == "any":
            return _any([self.filter(one, depth + 1) for one in _listed("any", value)])
        if key == "not":
            return _not(self.filter(value, depth + 1))
        if not isinstance(key, str) or not key.startswith("/"):
            raise BadFilter(f"{key!r:.60} is neither a JSON pointer (/order/total), any nor not")
        return _at(_pointer(key), self._condition(value, depth + 1))

    def _condition(self, given: object, depth: int) -> Test:
        """All operators of a condition must hold; a bare value is `equals`."""
        if depth > DEPTH_MAX:
            raise BadFilter(f"the filter is nested too deep: at most {DEPTH_MAX} levels")
        if not isinstance(given, dict):
            given = {"equals": given}
        if not given:
            raise BadFilter(f"a condition is empty: {FORM}")
        return _all([self._operator(name, value, depth) for name, value in given.items()])

    def _operator(self, name: str, value: object, depth: int) -> Test:
        self._count += 1
        if self._count > CONDITIONS_MAX:
            raise BadFilter(f"the filter has more than {CONDITIONS_MAX} conditions")
        match name:
            case "equals":
                return _equals(_scalar(value))
            case "in":
                return _in([_scalar(one) for one in _listed("in", value)])
            case "prefix" if isinstance(value, str):
                return lambda found: isinstance(found, str) and found.startswith(value)
            case "exists" if isinstance(value, bool):
                return lambda found: (found is not MISSING) is value
            case "gt" | "gte" | "lt" | "lte" if _is_number(value):
                return _range(RANGES[name], value)
            case "not":
                return _not(self._condition(value, depth + 1))
            case _:
                pass
        raise BadFilter(
            f"{name!r:.60}: give equals, in (a list), prefix (a text), exists (true or false), "
            "gt, gte, lt, lte (a number) or not"
        )


def _listed(name: str, value: object) -> list[object]:
    if not isinstance(value, list) or not 0 < len(value) <= VALUES_MAX:
        raise BadFilter(f"{name}: give a list of 1 to {VALUES_MAX}")
    return value


def _scalar(value: object) -> object:
    if value is None or isinstance(value, str | bool) or _is_number(value):
        return value
    raise BadFilter("values are compared with texts, numbers, true, false and null alone")


def _pointer(text: str) -> list[str]:
    """Read a JSON pointer."""
    if len(text) > POINTER_MAX:
        raise BadFilter(f"a pointer has {len(text)} characters: at most {POINTER_MAX}")
    parts = pointer_parts(text)
    if parts is None:
        raise BadFilter(f"{text!r:.60} is no JSON pointer: write ~ as ~0, and / in a name as ~1")
    return parts


def _at(parts: list[str], test: Test) -> Test:
    def at(body: object) -> bool:
        for part in parts:
            if isinstance(body, dict):
                body = body.get(part, MISSING)
            elif isinstance(body, list):
                body = _item(body, part)
            else:
                return test(MISSING)
        return test(body)

    return at


def _item(items: list[object], part: str) -> object:
    plain = part.isascii() and part.isdecimal() and len(part) < 10 and part == str(int(part))
    return items[int(part)] if plain and int(part) < len(items) else MISSING


def _is_number(value: object) -> TypeGuard[float]:
    """Whether it is a number of JSON, which has no NaN and no infinity: they are stored as null."""
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _equals(wanted: object) -> Test:
    kind = isinstance(wanted, bool)
    # In Python 1 == True; in JSON they differ, and 1 == 1.0.
    return lambda found: isinstance(found, bool) is kind and found == wanted


def _in(wanted: list[object]) -> Test:
    return _any([_equals(one) for one in wanted])


def _range(compare: Callable[[float, float], bool], edge: float) -> Test:
    return lambda found: _is_number(found) and compare(found, edge)


def _all(tests: list[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda body: all(test(body) for test in tests)


def _any(tests: list[Test]) -> Test:
    return tests[0] if len(tests) == 1 else lambda body: any(test(body) for test in tests)


def _not(test: Test) -> Test:
    return lambda body: not test(body)
