"""Reads what requests bring: JSON into our structs, errors that name the field."""

import re
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import msgspec
from litestar.openapi.spec import OpenAPIMediaType, Operation, RequestBody, Schema

from postroad.api.answering import Ask
from postroad.api.problems import BadRequest, field_error

T = TypeVar("T")
SHOWN_CHARACTERS: Final = 300
AT: Final = re.compile(r" - at `\$\.?(?P<field>[^`]*)`$")
UNKNOWN: Final = re.compile(r"unknown field `(?P<field>[^`]*)`")
MISSING: Final = re.compile(r"missing required field `(?P<field>[^`]*)`")


async def read(request: Ask, decoder: "msgspec.json.Decoder[T]") -> T:
    """The body of a request."""
    return decode(await request.body(), decoder)


def decode(text: bytes, decoder: "msgspec.json.Decoder[T]") -> T:
    """JSON as what it is to be, or BadRequest."""
    try:
        text.decode()
        return decoder.decode(text)
    except UnicodeDecodeError as error:
        raise BadRequest(f"the body is not UTF-8 (byte {error.start})") from None
    except RecursionError:
        raise BadRequest("the JSON is nested too deep") from None
    except msgspec.ValidationError as error:
        raise _bad_field(str(error)) from None
    except msgspec.DecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None


def _bad_field(text: str) -> BadRequest:
    if len(text) > 2 * SHOWN_CHARACTERS:  # it quotes names and words of the one who asks
        text = f"{text[:SHOWN_CHARACTERS]}…{text[-SHOWN_CHARACTERS:]}"
    place = AT.search(text)
    words = AT.sub("", text)
    words = words[:1].lower() + words[1:]
    inside = UNKNOWN.search(text) or MISSING.search(text)
    path = [place["field"] if place else "", inside["field"] if inside else ""]
    field = ".".join(part for part in path if part)
    told = field_error(field, words)
    return BadRequest(f"{field}: {told.message}" if field else told.message, (told,))


def takes(kind: type[Any], media_type: str = "application/json") -> type[Operation]:
    """The OpenAPI operation of a route that reads its body itself."""
    schema = _inline(kind)

    @dataclass
    class Takes(Operation):
        def __post_init__(self) -> None:
            body = OpenAPIMediaType(schema=schema)
            self.request_body = RequestBody(content={media_type: body}, required=True)

    return Takes


def _inline(kind: type[Any]) -> Schema:
    (_,), defs = msgspec.json.schema_components([kind], schema_hook=_any)
    return _Plain(defs[kind.__name__])


def _any(_kind: type[Any]) -> dict[str, Any]:
    return {}


class _Plain(Schema):
    """A JSON schema that is already written."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__()
        self._document = document

    def to_schema(self) -> dict[str, Any]:
        return self._document
