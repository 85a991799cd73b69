"""Schemas of events: compiled once, then every body is checked before it is published."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from postroad.model.errors import BadSchema, SchemaMismatch
from postroad.model.extras import Needing
from postroad.verbs.event_problems import Fits, Problems
from postroad.verbs.event_schema_cost import SchemaCost

SCHEMA_BYTES_MAX: Final = 256 << 10
TEXT_MAX: Final = 200
REGEX_BYTES_MAX: Final = 1 << 20

Check = Callable[[Any], tuple[str, ...]]


def checker(name: str, schema: dict[str, Any], *, new: bool = False) -> Check:
    """Compile a schema into a function that says what is wrong with a body, each problem with its
    JSON pointer. Patterns are matched in linear time, and nothing is fetched from elsewhere. A
    `new` one may not look at a place of a body too often."""
    if len(msgspec.json.encode(schema)) > SCHEMA_BYTES_MAX:
        raise BadSchema(f"the schema of {name!r} is too large: at most {SCHEMA_BYTES_MAX} bytes")
    with Needing("a schema of events"):
        from jsonschema_rs import (  # an extra: roads without schemas do not need it
            Draft202012Validator,
            ReferencingError,
            RegexOptions,
            ValidationError,
        )
    options = RegexOptions(size_limit=REGEX_BYTES_MAX, dfa_size_limit=REGEX_BYTES_MAX)

    def compiled(part: dict[str, Any]) -> Fits:
        return Draft202012Validator(part, retriever=_refuse, pattern_options=options).is_valid

    try:
        fits = compiled(schema)
        if new:
            SchemaCost(schema).check()
    except (ValidationError, ReferencingError, ValueError) as error:
        text = str(error).partition("\n")[0][:TEXT_MAX]
        if text.endswith('is not a "regex"'):
            text += (
                ": it has no backreferences, nothing that looks ahead or behind, and is not large"
            )
        raise BadSchema(f"the schema of {name!r} cannot be used: {text}") from None

    def check(body: Any) -> tuple[str, ...]:
        return () if fits(body) else Problems(schema, compiled).of(body)

    return check


def mismatch(name: str, problems: tuple[str, ...]) -> SchemaMismatch:
    """The error about a body that does not fit."""
    return SchemaMismatch(f"the body does not fit the schema of {name!r}: {'; '.join(problems)}")


def _refuse(address: str) -> Any:
    raise ValueError(f"{address[:TEXT_MAX]} is another document, and none is fetched")
