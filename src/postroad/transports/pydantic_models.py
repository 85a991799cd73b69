"""Pydantic models as bodies of messages, for programs that have imported pydantic themselves."""

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, Final, get_args

import msgspec

VALIDATOR: Final = "__pydantic_validator__"
ERRORS_SHOWN: Final = 3


class DoesNotFit(ValueError):
    """A body does not fit a model. The text names fields, and shows no values."""


def is_in(kind: Any) -> bool:
    """Whether a type is a model, or made of some, as `list[Order]` is."""
    return hasattr(kind, VALIDATOR) or any(is_in(part) for part in get_args(kind))


def decoder(kind: Any) -> Callable[[bytes], Any]:
    """Return what reads a type with models in it. TypeError or ValueError: pydantic cannot."""
    pydantic: Any = sys.modules["pydantic"]  # a program that has a model has imported it
    try:
        return partial(_read, pydantic.TypeAdapter(kind))
    except (pydantic.errors.PydanticUserError, NameError) as error:
        raise TypeError(str(error)) from None


def convert(kind: type, value: object) -> object:
    """Make a model that is a field of a msgspec Struct or a dataclass."""
    if not hasattr(kind, VALIDATOR):
        raise TypeError(f"{kind.__qualname__} cannot be read from JSON")
    return _read(getattr(kind, VALIDATOR), msgspec.json.encode(value))


def _read(validator: Any, body: bytes) -> Any:
    try:
        return validator.validate_json(body)
    except sys.modules["pydantic_core"].ValidationError as error:
        raise DoesNotFit(_text(error)) from None


def _text(error: Any) -> str:
    """What is wrong, field by field, without the values."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    said = [f"{'.'.join(map(str, one['loc'])) or 'body'}: {one['msg']}" for one in found]
    more = f" (and {len(said) - ERRORS_SHOWN} more)" if len(said) > ERRORS_SHOWN else ""
    return "; ".join(said[:ERRORS_SHOWN]) + more
