"""Reads what requests bring: JSON into our structs, errors that name the field."""

import re
from typing import Final, TypeVar

import msgspec

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
        raise bad_field(str(error)) from None
    except msgspec.DecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None


def bad_field(text: str) -> BadRequest:
    """What msgspec says about a value, as an error that names the field."""
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
