"""Reads what requests bring: JSON into our structs, errors that name the field."""

import re
from collections.abc import Iterator
from typing import Any, Final, TypeVar

import msgspec
from msgspec import inspect

from postroad.api.problems import BadRequest, field_error

T = TypeVar("T")
SHOWN_CHARACTERS: Final = 300
AT: Final = re.compile(r" - at `\$\.?(?P<field>[^`]*)`$")
UNKNOWN: Final = re.compile(r"unknown field `(?P<field>[^`]*)`")
MISSING: Final = re.compile(r"missing required field `(?P<field>[^`]*)`")


def decode(text: bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    """Decode JSON into the decoder's type, or raise BadRequest."""
    try:
        text.decode()
        return decoder.decode(text)
    except UnicodeDecodeError as error:
        raise BadRequest(f"the body is not UTF-8 (byte {error.start})") from None
    except RecursionError:
        raise BadRequest("the JSON is nested too deep") from None
    except msgspec.ValidationError as error:
        raise bad_field(str(error), decoder.type) from None
    except msgspec.DecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None


def bad_field(text: str, kind: Any) -> BadRequest:
    """What msgspec says about a value of a type, as an error that names the field."""
    if len(text) > 2 * SHOWN_CHARACTERS:  # it quotes names and words of the caller
        text = f"{text[:SHOWN_CHARACTERS]}…{text[-SHOWN_CHARACTERS:]}"
    place = AT.search(text)
    words = AT.sub("", text)
    words = words[:1].lower() + words[1:]
    inside = UNKNOWN.search(text) or MISSING.search(text)
    path = [place["field"] if place else "", inside["field"] if inside else ""]
    field = ".".join(part for part in path if part)
    told = field_error(field, words, choices_at(kind, field))
    return BadRequest(f"{field}: {told.message}" if field else told.message, (told,))


def choices_at(kind: Any, field: str) -> list[str]:
    """The values that a field of a type may have, if it is an enum or tells types apart."""
    found = list(_alternatives(inspect.type_info(kind)))
    *places, last = [part.partition("[")[0] for part in field.split(".")]
    for name in places:
        found = [inner for each in found for inner in _inside(each, name)]
    return [value for each in found for value in _values(each, last)]


def _alternatives(kind: inspect.Type) -> Iterator[inspect.Type]:
    match kind:
        case inspect.UnionType(types=types):
            yield from (one for each in types for one in _alternatives(each))
        case inspect.ListType(item_type=inner) | inspect.VarTupleType(item_type=inner):
            yield from _alternatives(inner)
        case inspect.Metadata(type=inner):
            yield from _alternatives(inner)
        case _:
            yield kind


def _values(kind: inspect.Type, name: str) -> Iterator[str]:
    if isinstance(kind, inspect.StructType) and kind.tag_field == name:
        yield str(kind.tag)
    for inner in _inside(kind, name):
        if isinstance(inner, inspect.EnumType):
            yield from (str(one.value) for one in inner.cls)
        if isinstance(inner, inspect.LiteralType):
            yield from map(str, inner.values)


def _inside(kind: inspect.Type, name: str) -> Iterator[inspect.Type]:
    if isinstance(kind, inspect.StructType):
        named = (each.type for each in kind.fields if each.encode_name == name)
        yield from (one for each in named for one in _alternatives(each))
