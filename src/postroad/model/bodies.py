"""Bodies: what a sender gives, written as JSON. Pydantic's models write themselves."""

import json
from math import isfinite
from typing import Final

import msgspec
from msgspec import Raw

from postroad.model.errors import BadBody

SERIALIZER: Final = "__pydantic_serializer__"
"""A model's own serialiser, by which it is known: pydantic itself is never imported."""
PLAIN: Final = frozenset((dict, list, str, int, Raw))
NOT_JSON: Final = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
FINITE: Final = frozenset((str, int))
PLACE_CHARACTERS_MAX: Final = 200


def encode_body(body: object) -> bytes:
    """Write a body as JSON. BadBody if it cannot be, or has a number that JSON does not have."""
    try:
        kind = type(body)
        plain = body if kind in PLAIN or not hasattr(kind, SERIALIZER) else to_plain(body)
        written = ENCODE(plain)
        # msgspec writes NaN as null, and a null that nobody sent would be found out by nobody.
        # (`find`: for `in` Python first asks whether the bytes are a number, which takes longer.)
        if kind not in FINITE and written.find(b"null") >= 0 and type(plain) is not Raw:
            _check_numbers(plain)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise BadBody(
            f"the body cannot be written as JSON ({error}): send plain data, a dataclass, a "
            "msgspec Struct, a pydantic model, or bytes"
        ) from None
    return written


def check_json(body: bytes) -> None:
    """Raise BadBody if a body is no JSON; nothing is made of it."""
    try:
        _ = body.decode(), msgspec.json.decode(body, type=Raw)  # which takes any bytes for a text
    except NOT_JSON as error:
        raise _no_json(error) from None


def read_body(body: bytes) -> object:
    """Read a body as plain data; BadBody if it is no JSON."""
    try:
        return msgspec.json.decode(body)
    except NOT_JSON as error:
        raise _no_json(error) from None


def _no_json(error: Exception) -> BadBody:
    return BadBody(f"the body of an event is JSON, and this is none: {error}")


def read_if_json(body: bytes) -> object:
    """Read a body as plain data; one that is no JSON is nothing to a filter."""
    try:
        return read_body(body)
    except BadBody:
        return None


def to_plain(value: object) -> object:
    """Return what a pydantic model makes of itself, by its aliases and serialisers."""
    kind = type(value)
    serializer = getattr(kind, SERIALIZER, None)
    if serializer is None:
        if kind is Raw:  # JSON already
            return None
        raise TypeError(f"Encoding objects of type {kind.__qualname__} is unsupported")
    config = getattr(kind, "model_config", None) or getattr(kind, "__pydantic_config__", {})
    if config.get("ser_json_inf_nan") == "strings":  # only in the text that it writes itself
        return Raw(serializer.to_json(value, by_alias=True))
    plain: object = serializer.to_python(value, mode="json", by_alias=True)
    return plain


ENCODE: Final = msgspec.json.Encoder(enc_hook=to_plain).encode


def _check_numbers(body: object) -> None:
    """Raise BadBody with the place of a NaN or an infinity."""
    builtins = msgspec.to_builtins(body, str_keys=True, enc_hook=to_plain)
    try:
        _ = json.dumps(builtins, allow_nan=False)  # whether it can: a walk takes five times as long
    except ValueError:
        place, number = _not_finite(builtins)
        raise BadBody(
            f"the body has {number} at {place[:PLACE_CHARACTERS_MAX]}, and JSON has no such "
            "number: send None, or a text"
        ) from None


def _not_finite(builtins: object) -> tuple[str, float]:
    """Find the first number that JSON does not have, and its place."""
    left: list[tuple[str, object]] = [("body", builtins)]
    while left:
        place, value = left.pop()
        if isinstance(value, float) and not isfinite(value):
            return place, value
        inner: list[tuple[str, object]] = []
        if isinstance(value, dict):
            inner = [(f"{place[:PLACE_CHARACTERS_MAX]}.{key}", one) for key, one in value.items()]
        elif isinstance(value, list | tuple):
            inner = [(f"{place[:PLACE_CHARACTERS_MAX]}[{n}]", one) for n, one in enumerate(value)]
        left.extend(reversed(inner))
    raise ValueError("it is nested too deep, or in itself")  # what json.dumps had against it
