"""How long each text may be that somebody gives: one table for programs, commands and the API."""

from collections.abc import Mapping
from typing import Annotated, Final

from msgspec import Meta, Struct, structs

from postroad.model.errors import BadInput

NAME_MAX: Final = 200
QUEUE_MAX: Final = 2_048
AFTER_MAX: Final = QUEUE_MAX + 16
"""A cursor may name a queue, and says of which list it is."""
KEY_MAX: Final = 255
ID_MAX: Final = 64
RATE_MAX: Final = 200
ERROR_MAX: Final = 1_000
SECRET_MAX: Final = 1_024
TEMPLATE_MAX: Final = 20_000
FIELD_MAX: Final = 16_384
"""Maximum length of a credential's own field: a private key is one."""
FIELDS_MAX: Final = 20
HEADER_NAME_MAX: Final = 256
HEADER_VALUE_MAX: Final = 8_192
HEADERS_MAX: Final = 100
PATH_MAX: Final = 4_096

TEXTS_MAX: Final[Mapping[str, int]] = {
    "account": NAME_MAX,
    "actor": NAME_MAX,
    "answer": ERROR_MAX,
    "after": AFTER_MAX,
    "box": ID_MAX,
    "callback": QUEUE_MAX,
    "cid": NAME_MAX,
    "code": ID_MAX,
    "credential": NAME_MAX,
    "cron": NAME_MAX,
    "do": ID_MAX,
    "encoding": ID_MAX,
    "error": ERROR_MAX,
    "form": ID_MAX,
    "html": TEMPLATE_MAX,
    "format": ID_MAX,
    "hours": ID_MAX,
    "id": ID_MAX,
    "key": KEY_MAX,
    "kind": ID_MAX,
    "lane": QUEUE_MAX,
    "lanes": KEY_MAX,
    "mode": ID_MAX,
    "name": NAME_MAX,
    "note": ERROR_MAX,
    "order": ID_MAX,
    "order_key": KEY_MAX,
    "outcome": ID_MAX,
    "path": PATH_MAX,
    "prefix": QUEUE_MAX,
    "provider": QUEUE_MAX,
    "queue": QUEUE_MAX,
    "rate": RATE_MAX,
    "reason": ID_MAX,
    "recipient": QUEUE_MAX,
    "role": ID_MAX,
    "secret": SECRET_MAX,
    "sender": NAME_MAX,
    "server": QUEUE_MAX,
    "signature": SECRET_MAX,
    "state": ID_MAX,
    "status": ID_MAX,
    "subject": TEMPLATE_MAX,
    "template": TEMPLATE_MAX,
    "tenant": NAME_MAX,
    "text": ERROR_MAX,
    "to": QUEUE_MAX,
    "type": NAME_MAX,
    "tz": ID_MAX,
    "url": QUEUE_MAX,
    "verb": NAME_MAX,
    "what": QUEUE_MAX,
    "zone": ID_MAX,
}
"""Characters, by the name of a parameter, a field or an option."""

Name = Annotated[str, Meta(max_length=NAME_MAX)]
QueueName = Annotated[str, Meta(max_length=QUEUE_MAX)]
Lanes = Annotated[str, Meta(min_length=1, max_length=KEY_MAX)]
Key = Annotated[str, Meta(max_length=KEY_MAX)]
GivenKey = Annotated[str, Meta(min_length=1, max_length=KEY_MAX)]
Id = Annotated[str, Meta(max_length=ID_MAX)]
Rate = Annotated[str, Meta(max_length=RATE_MAX)]
ErrorText = Annotated[str, Meta(max_length=ERROR_MAX)]
SecretText = Annotated[str, Meta(max_length=SECRET_MAX)]
Field = Annotated[str, Meta(max_length=FIELD_MAX)]
HeaderName = Annotated[str, Meta(max_length=HEADER_NAME_MAX)]
HeaderValue = Annotated[str, Meta(max_length=HEADER_VALUE_MAX)]
Headers = Annotated[dict[HeaderName, HeaderValue], Meta(max_length=HEADERS_MAX)]


def kind_of(value: object) -> str:
    """Name the type of a value in a sentence: a str, an int, None."""
    name = type(value).__name__
    article = "an" if name[:1].lower() in "aeiou" else "a"
    return "None" if value is None else f"{article} {name}"


def checked(name: str, text: str, most: int = 0) -> str:
    """Return the text; BadInput when it is too long, or no store takes it: a road on SQLite would
    keep a zero character, and then could never move to PostgreSQL."""
    most = most or TEXTS_MAX[name]
    if len(text) > most:
        raise BadInput(f"{name} has {len(text)} characters: at most {most}")
    if "\0" in text:
        raise BadInput(f"{name} has a zero character in it: remove it")
    if not is_whole(text):
        raise BadInput(f"{name} has half a character (a lone surrogate) in it: give whole text")
    return text


def is_whole(text: str) -> bool:
    """Whether a text can be written as UTF-8. JSON escapes, and bytes on a command line that are no
    text, leave lone surrogates."""
    try:
        _ = text.isascii() or text.encode()  # only whether it can be
    except UnicodeEncodeError:
        return False
    return True


def check_fields(given: Struct) -> None:
    """Check all texts of a struct."""
    for field in structs.fields(given):
        value = getattr(given, field.name)
        if isinstance(value, str):
            _ = checked(field.name, value)  # whether it is short enough
