"""Schemas of events: compiled once, then every body is checked before it is published."""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from postroad.model.errors import BadSchema, SchemaMismatch
from postroad.model.extras import Needing

SCHEMA_BYTES_MAX: Final = 256 << 10
PROBLEMS_MAX: Final = 10
PROBLEM_CHARACTERS: Final = 200
REGEX_BYTES_MAX: Final = 1 << 20

Check = Callable[[Any], tuple[str, ...]]


def checker(name: str, schema: dict[str, Any]) -> Check:
    """Compile a schema into a function that says what is wrong with a body, each problem with its
    JSON pointer. Patterns are matched in linear time, and nothing is fetched from elsewhere."""
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
    try:
        validator = Draft202012Validator(schema, retriever=_refuse, pattern_options=options)
    except (ValidationError, ReferencingError, ValueError) as error:
        text = str(error).partition("\n")[0][:PROBLEM_CHARACTERS]
        raise BadSchema(f"the schema of {name!r} cannot be used: {text}") from None

    def check(body: Any) -> tuple[str, ...]:
        if validator.is_valid(body):
            return ()
        found: list[str] = []
        for error in validator.iter_errors(body):
            found.append(f"{_pointer(error.instance_path)}: {error.message[:PROBLEM_CHARACTERS]}")
            if len(found) == PROBLEMS_MAX:
                break
        return tuple(found)

    return check


def mismatch(name: str, problems: tuple[str, ...]) -> SchemaMismatch:
    """The error about a body that does not fit."""
    return SchemaMismatch(f"the body does not fit the schema of {name!r}: {'; '.join(problems)}")


def _refuse(address: str) -> Any:
    raise ValueError(f"{address[:PROBLEM_CHARACTERS]} is another document, and none is fetched")


def _pointer(path: list[str | int]) -> str:
    parts = (str(part).replace("~", "~0").replace("/", "~1") for part in path)
    return "".join(f"/{part}" for part in parts) or "(the body)"
