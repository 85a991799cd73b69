"""Problem documents (RFC 9457): every error of a road as one small JSON document, and back."""

import re
from typing import Final

from msgspec import Struct

from postroad.model.errors import (
    BadInput,
    BodyTooLarge,
    Forbidden,
    MissingExtra,
    Overloaded,
    PostroadError,
    StoreError,
    StoreUnavailable,
    Unauthorized,
)

WORDS: Final = re.compile(r"(?<!^)(?=[A-Z])")
API: Final = "postroad.api."
PREFIX: Final = "urn:postroad:problem:"
BY_STATUS: Final[dict[int, type[PostroadError]]] = {
    400: BadInput,
    401: Unauthorized,
    403: Forbidden,
    413: BodyTooLarge,
    429: Overloaded,
    501: MissingExtra,
    503: StoreUnavailable,
}
"""What a problem means that has no class here: one of the API alone, or of a later release."""


class FieldError(Struct, frozen=True):
    """What is wrong with one field."""

    field: str
    message: str


class Problem(Struct, frozen=True):
    """What went wrong and what to do. `type` is stable: docs/reference/errors.md."""

    type: str
    title: str
    status: int
    detail: str
    errors: tuple[FieldError, ...] = ()
    stored: tuple[str, ...] = ()
    """Ids of messages that were sent with it and are stored all the same."""


def kind(error: type[Exception]) -> str:
    """The stable name of an error."""
    return PREFIX + WORDS.sub("-", error.__name__).lower()


def error_of(problem: Problem) -> PostroadError:
    """The error that a problem was made of, of the same class; BadInput or StoreError, as its
    status says, if this release has no such class."""
    named = {kind(one): one for one in _subclasses(PostroadError)}
    default = StoreError if problem.status >= 500 else BadInput
    chosen = named.get(problem.type) or BY_STATUS.get(problem.status, default)
    error = chosen.__new__(chosen)
    Exception.__init__(error, problem.detail)  # some take more to be made
    error.stored = problem.stored
    return error


def _subclasses(parent: type[PostroadError]) -> list[type[PostroadError]]:
    # Those of the API take more to be made, and mean no more than their parents.
    found = [one for one in parent.__subclasses__() if not one.__module__.startswith(API)]
    return [*found, *(inner for one in found for inner in _subclasses(one))]
