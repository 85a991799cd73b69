"""Filters are data: what they match, and what is refused."""

from typing import Any

import pytest

from postroad.model.errors import BadFilter
from postroad.model.filters import BYTES_MAX, CONDITIONS_MAX, DEPTH_MAX, compiled

BODY: Any = {
    "total": 100,
    "paid": True,
    "none": None,
    "country": "DE",
    "lines": [{"sku": "a/b"}, {"sku": "c"}],
    "a/b": {"~": 1.0},
}


@pytest.mark.parametrize(
    ("given", "matches"),
    [
        ({"/total": 100}, True),
        ({"/total": 100.0}, True),
        ({"/total": "100"}, False),
        ({"/paid": True}, True),
        ({"/paid": 1}, False),
        ({"/total": {"equals": 99}}, False),
        ({"/none": None}, True),
        ({"/gone": None}, False),
        ({"/none": {"exists": True}}, True),
        ({"/gone": {"exists": False}}, True),
        ({"/country": {"in": ["FR", "DE"]}}, True),
        ({"/country": {"in": ["FR"]}}, False),
        ({"/country": {"prefix": "D"}}, True),
        ({"/total": {"prefix": "1"}}, False),
        ({"/total": {"gt": 99, "lte": 100}}, True),
        ({"/total": {"gt": 100}}, False),
        ({"/paid": {"gte": 1}}, False),
        ({"/country": {"gte": 1}}, False),
        ({"/country": {"not": {"in": ["FR", "IT"]}}}, True),
        ({"/gone": {"not": {"equals": 1}}}, True),
        ({"/lines/0/sku": "a/b"}, True),
        ({"/lines/2/sku": {"exists": True}}, False),
        ({"/lines/00/sku": "a/b"}, False),
        ({"/a~1b/~0": 1}, True),
        ({"/total/deeper": {"exists": True}}, False),
        ({"/total": 100, "/country": "FR"}, False),
        ({"any": [{"/country": "FR"}, {"/total": {"gte": 50}}]}, True),
        ({"not": {"/country": "DE"}}, False),
        ({"not": {"any": [{"/country": "FR"}, {"/total": 1}]}, "/paid": True}, True),
    ],
)
def test_a_filter_matches_what_it_says(given: Any, matches: object) -> None:
    assert compiled(given)(BODY) is matches


def test_a_body_that_is_no_object_has_nothing_at_a_pointer() -> None:
    bodies: list[object] = [1, "text", None, [], True]
    for body in bodies:
        assert not compiled({"/a": {"exists": True}})(body)


def _deep(depth: int) -> Any:
    return {"not": _deep(depth - 1)} if depth else {"/a": 1}


@pytest.mark.parametrize(
    "given",
    [
        {},
        [],
        "text",
        None,
        {"total": 1},
        {"any": []},
        {"any": {"/a": 1}},
        {"not": 1},
        {"/a": {}},
        {"/a": {"like": 1}},
        {"/a": {"in": []}},
        {"/a": {"in": [[1]]}},
        {"/a": {"equals": {"b": 1}}},
        {"/a": {"prefix": 1}},
        {"/a": {"exists": 1}},
        {"/a": {"gt": "1"}},
        {"/a": {"gt": True}},
        {"/" + "a" * 600: 1},
        {"/a": "x" * BYTES_MAX},
        {f"/{n}": 1 for n in range(CONDITIONS_MAX + 1)},
        _deep(DEPTH_MAX),
        {"/a": {"in": list(range(101))}},
    ],
)
def test_a_bad_filter_is_refused_by_name(given: Any) -> None:
    with pytest.raises(BadFilter):
        compiled(given)


@pytest.mark.parametrize("pointer", ["/a~2", "/a~", "/~0~", "/a/~b"])
def test_a_tilde_that_stands_for_nothing_makes_no_pointer(pointer: str) -> None:
    with pytest.raises(BadFilter, match="is no JSON pointer: write ~ as ~0"):
        compiled({pointer: 1})
