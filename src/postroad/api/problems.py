"""Problem answers (RFC 9457): every error of the road as one small JSON document."""

import re
from collections.abc import Sequence
from typing import Final

from postroad.model import errors
from postroad.model.batch import BatchGivenUp, UnknownBatch
from postroad.model.blobs import AttachmentInUse, UnknownAttachment
from postroad.model.campaign import UnknownCampaign, WrongState
from postroad.model.endpoint_life import EndpointDisabled
from postroad.model.job_errors import JobFailed, NoResult, ResultTimeout
from postroad.model.problem import WORDS, FieldError, Problem, kind
from postroad.model.replay import NothingToReplay, UnknownReplay
from postroad.model.tenant import TenantInUse, UnknownTenant
from postroad.model.ticks import DeclaredInCode, UnknownTimetable

PATTERN: Final = re.compile(r"matching regex '\^\((.*?)\|?\)\$'")


BOUND: Final = re.compile(r"expected `(int|float)` ([<>]=?) ([\d.e+-]+)")
BOUNDS: Final = {"<=": "at most", ">=": "at least", "<": "less than", ">": "more than"}


def field_error(field: str, words: str, choices: Sequence[str] = ()) -> FieldError:
    """What is wrong with a field, in words that say what to give. `choices`: all values that it
    may have, where they are few."""
    listed = PATTERN.search(words)
    if listed:
        words = f"give one of {', '.join(listed[1].split('|'))}"
    elif bound := BOUND.fullmatch(words):
        whole = "whole number" if bound[1] == "int" else "number"
        words = f"give a {whole}, {BOUNDS[bound[2]]} {bound[3].removesuffix('.0')}"
    elif "rfc3339" in words.lower():
        words = "give a time with its zone, as 2026-01-31T12:00:00Z"
    elif words.startswith("invalid") and choices:
        words = f"{words}: give one of {', '.join(choices)}"
    return FieldError(field, words)


class BadRequest(errors.BadInput):
    """The request cannot be understood; `fields` says where."""

    def __init__(self, text: str, fields: tuple[FieldError, ...] = ()) -> None:
        super().__init__(text)
        self.fields = fields


class NotFound(errors.PostroadError):
    """No route has this path."""


class MethodNotAllowed(errors.PostroadError):
    """The path has routes, and none for this method."""


class UnsupportedMediaType(errors.PostroadError):
    """The body is of another type than the route reads."""


STATUS: Final[dict[type[Exception], int]] = {
    errors.BadInput: 400,
    errors.BodyTooLarge: 413,
    errors.UnknownQueue: 404,
    errors.UnknownLane: 404,
    errors.UnknownMessage: 404,
    errors.NoBody: 404,
    errors.UnknownEndpoint: 404,
    EndpointDisabled: 409,
    errors.UnknownEvent: 404,
    errors.UnknownToken: 404,
    errors.UnknownMailbox: 404,
    errors.UnknownLimit: 404,
    NoResult: 404,
    JobFailed: 409,
    ResultTimeout: 504,
    errors.UnknownRule: 404,
    errors.UnknownErasure: 404,
    UnknownReplay: 404,
    UnknownBatch: 404,
    BatchGivenUp: 409,
    UnknownTimetable: 404,
    DeclaredInCode: 409,
    NothingToReplay: 404,
    errors.UnknownSuppression: 404,
    UnknownAttachment: 404,
    AttachmentInUse: 409,
    UnknownCampaign: 404,
    WrongState: 409,
    UnknownTenant: 404,
    TenantInUse: 409,
    errors.NotDead: 409,
    errors.NotCancelled: 409,
    errors.NotUncertain: 409,
    errors.CopyRefused: 409,
    errors.Conflict: 409,
    errors.Unauthorized: 401,
    errors.Forbidden: 403,
    errors.TooManyTries: 429,
    errors.Crowded: 429,
    errors.TenantFull: 429,
    errors.MissingExtra: 501,
    errors.Overloaded: 503,
    errors.NotOpen: 503,
    errors.StoreError: 503,
    NotFound: 404,
    MethodNotAllowed: 405,
    UnsupportedMediaType: 415,
}


def status_of(error: type[Exception]) -> int:
    """The HTTP status of an error: its own, or that of what it is a kind of."""
    return next((STATUS[each] for each in error.__mro__ if each in STATUS), 500)


def problem(error: Exception) -> Problem:
    """An error of ours as a problem."""
    status = status_of(type(error))
    if status == 500:
        detail = "Something broke inside the server; its log says what."
        return Problem("urn:postroad:problem:internal", "Internal error", status, detail)
    title = WORDS.sub(" ", type(error).__name__).capitalize()
    fields: tuple[FieldError, ...] = getattr(error, "fields", ())
    lines = getattr(error, "problems", ())  # of a file of recipients
    fields += tuple(FieldError(f"line {one.line}", one.reason) for one in lines)
    stored = error.stored if isinstance(error, errors.PostroadError) else ()
    return Problem(kind(type(error)), title, status, str(error), fields, stored)
