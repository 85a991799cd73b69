"""What endpoints ask for: event types, channels, and filters of bodies."""

from contextlib import suppress
from typing import Any

import msgspec

from postroad.model.endpoint import (
    CHANNEL,
    PATTERN,
    TYPE,
    check_channels,
    check_type,
    check_types,
)
from postroad.model.errors import BadInput
from postroad.model.filters import compiled
from postroad.model.matching import SPEC
from postroad.model.redaction import Redaction, read_rule
from postroad.stores.endpoint_life import RULES
from postroad.verbs.event_samples import sample
from postroad.verbs.event_schemas import checker
from tests.foreign_input.shape import BARE, Door


def subscribed(data: bytes) -> None:
    text = data.decode("latin-1")
    for check in (check_type, lambda one: check_types((one,)), lambda one: check_channels((one,))):
        with suppress(BadInput):
            check(text)
    for name in (TYPE, PATTERN, CHANNEL):
        name.fullmatch(text)
    with suppress(BadInput):
        compiled({"/" + text: 1})
    with suppress(msgspec.MsgspecError):
        SPEC.decode(b'{"types":["' + data + b'"]}')
    with suppress(msgspec.MsgspecError, BadInput):
        RULES.decode(b'{"drain":"' + data + b'"}')


REDACTION = Redaction(("/a", "/a/*/b", "/*"))


def redacted(data: bytes) -> None:
    with suppress(BadInput):
        read_rule(data.decode("latin-1"))
    REDACTION.body("any", data)
    REDACTION.text("any", data, "said 12345")
    REDACTION.answer("any", data, data)
    REDACTION.answer("any", data, data[6:-3] + b"c")  # nearly the beginning of what is hidden


def sampled(data: bytes) -> None:
    with suppress(msgspec.MsgspecError, UnicodeError, RecursionError):
        sample(msgspec.json.decode(data, type=dict[str, Any]))


def judged(data: bytes) -> None:
    with suppress(msgspec.MsgspecError, UnicodeError, RecursionError, BadInput):
        schema = msgspec.json.decode(data, type=dict[str, Any])
        checker("a", schema, new=True)({"a": [1, {"b": "c"}]})


def wide(n: int) -> bytes:
    names = ",".join(f'"{i}":{{"$ref":"#/$defs/a"}}' for i in range(n // 30))
    return f'{{"properties":{{{names}}},"$defs":{{"a":{{"$ref":"#"}}}}}}'.encode()


DOORS = (
    Door(
        "a schema that a test event is made of",
        sampled,
        ("verbs/event_samples.py:_Sampler",),
        frames=((b'{"$ref":"#/', b'"}'), (b'{"type":"', b'"}'), (b'{"format":"', b'"}')),
        shapes={
            "itself": wide,
            "parts": lambda n: b'{"allOf":[' + b"{}," * (n // 3) + b"{}]}",
            "needed": lambda n: b'{"allOf":[' + b'{"required":["a"]},' * (n // 19) + b"{}]}",
        },
    ),
    Door(
        "a schema that bodies do not fit",
        judged,
        ("verbs/event_problems.py:target_of",),
        frames=(
            (b'{"$ref":"#/', b'"}'),
            (b'{"$ref":"', b'"}'),
            (b'{"properties":{"a":{"type":"', b'"}}}'),
        ),
        shapes={
            "steps": lambda n: b'{"$ref":"#' + b"/$defs" * (n // 6) + b'"}',
            "itself": wide,
        },
    ),
    Door(
        "an endpoint's events",
        subscribed,
        (
            "model/endpoint.py:CHANNEL",
            "model/endpoint.py:PATTERN",
            "model/endpoint.py:TYPE",
            "model/json_pointer.py:BAD_TILDE",
            "model/json_pointer.py:pointer_parts",
            "model/matching.py:SPEC",
            "stores/endpoint_life.py:RULES",
        ),
        frames=(BARE, (b"a.", b".*"), (b"a", b"!"), (b"/", b"~1")),
        shapes={"parts": lambda n: b"a." * (n // 2), "slashes": lambda n: b"/a" * (n // 2)},
        size=16_384,
        raises=(UnicodeError,),
    ),
    Door(
        "a body with fields that are not shown",
        redacted,
        ("model/redaction.py:DECODE",),
        frames=(BARE, (b'{"a":"', b'"}'), (b'{"a":{"b":["', b'"]}}')),
        shapes={
            "lists": lambda n: b'{"a":' + b"[" * (n // 2) + b"]" * (n // 2) + b"}",
            "items": lambda n: b'{"a":[' + b"12345," * (n // 6) + b"1]}",
            "one other": lambda n: b'{"a":"' + b"a" * n + b'b"}',
        },
    ),
)
