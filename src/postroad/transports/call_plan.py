"""How a handler is called: which parameters get the body, the message, or what is provided."""

import inspect
import logging
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter
from typing import Any, Final, TypeVar, get_args, get_origin

import msgspec
from msgspec import UNSET, Struct, UnsetType

from postroad.model.errors import BadInput
from postroad.transports import job as received
from postroad.transports.job import Job, Reads, body_reader, decoder_of, named, plain, resolved

provided: Any = type("Provided", (), {"__repr__": lambda _: "provided"})()
"""The default of a parameter that gets what `road.provide` registered for its type: so a type
checker does not ask for it where the handler is sent to."""

ANYTHING: Final = (Any, object)
STRETCHES: Final = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
LOGGERS: Final = (logging.Logger, logging.LoggerAdapter)


class CallPlan(Struct, frozen=True):
    """How a function is called with a message, and what its body is made of."""

    handle: Callable[[Job], Any]
    reads: Reads = plain
    arguments: inspect.Signature | None = None
    """The parameters that make up the body, by their names; None: the body is one value."""
    one: str = ""
    """The parameter that gets the body as a whole."""
    wanted: dict[str, Any] = {}
    """The types that must be provided, by parameter."""
    bodies: frozenset[Any] = frozenset()
    """The types that are read from the body."""


def plan_call(function: Callable[..., Any], name: str, values: Mapping[Any, Any]) -> CallPlan:
    """Plan the calls of a function, by its signature. `values` has what is provided, by type."""
    check_returns(function)
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except ValueError:  # written in C, without a signature
        return CallPlan(function)
    hints = {one.name: _hint(function, one) for one in parameters}
    injected = {one.name for one in parameters if _is_injected(one, hints[one.name], values)}
    first = parameters[0] if parameters else None
    if first and not injected and _takes_message_alone(first, parameters, hints[first.name]):
        return CallPlan(function, _message_reader(function, hints[first.name]))
    return _Planning(function, name, parameters, hints, injected).plan(values)


def check_returns(function: Callable[..., Any]) -> None:
    """Raise BadInput for a function with `yield`: a call of it runs none of its lines."""
    call = getattr(function, "__call__", None)  # noqa: B004 - an object may be one to call
    yields = (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    if any(kind(one) for kind in yields for one in (function, call)):
        raise BadInput(
            f"{named(function)} has a `yield`, so that a call of it would run none of its lines: "
            "leave it out, or call what yields from a handler that does not"
        )


def is_message(hint: Any) -> bool:
    """Whether a parameter of this type gets the message itself."""
    return hint is received.Message or get_origin(hint) is received.Message


class _Planning:
    """A function that takes more, or something else, than the message."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        parameters: list[Parameter],
        hints: dict[str, Any],
        injected: set[str],
    ) -> None:
        self._function = function
        self._name = name
        self._parameters = [one for one in parameters if one.kind not in STRETCHES]
        self._hints = hints
        self._injected = injected
        self._takes_any_name = any(one.kind is Parameter.VAR_KEYWORD for one in parameters)
        if parameters and parameters[0].name == "self":
            raise BadInput(
                f"{named(function)} is a method: register it of an object, not in a class"
            )

    def plan(self, values: Mapping[Any, Any]) -> CallPlan:
        """The plan."""
        rest = [one for one in self._parameters if one.name not in self._injected]
        message = self._message(rest)
        body = [one for one in rest if one.name != message]
        if self._takes_any_name and not body and not message:
            raise BadInput(
                f"{named(self._function)} takes `**` alone, which gets nothing of the body: name "
                "its parameters, or take the message"
            )
        handle = self._calling(message, body, values)
        wanted = {n: self._hints[n] for n in self._injected if self._hints[n] not in LOGGERS}
        kinds = frozenset(self._hints[one.name] for one in body)
        if len(body) == 1:
            reads = body_reader(self._function, self._hints[body[0].name])
            return CallPlan(handle, reads, None, body[0].name, wanted, kinds)
        if body or not message:
            arguments = inspect.Signature([_keyword(one) for one in body])
            return CallPlan(handle, self._read_all(body), arguments, "", wanted, kinds)
        reads = _message_reader(self._function, self._hints[message])
        return CallPlan(handle, reads, None, "", wanted)

    def _message(self, rest: list[Parameter]) -> str:
        found = [one.name for one in rest if is_message(self._hints[one.name])]
        if len(found) > 1:
            raise BadInput(f"{named(self._function)} takes the message twice: {', '.join(found)}")
        if found or len(rest) != 1 or not _may_be_message(self._hints[rest[0].name]):
            return "".join(found)
        return rest[0].name  # as when it were the only parameter

    def _read_all(self, body: list[Parameter]) -> Reads:
        """Read the parameters from the fields of an object."""
        if not body:
            return lambda _body, _headers: {}
        fields: list[Any] = []
        for one in body:
            kind = self._hints[one.name]
            if one.default is Parameter.empty:
                fields.append((one.name, kind))
            else:
                fields.append((one.name, kind | UnsetType if kind is not Any else Any, UNSET))
        kind = msgspec.defstruct(self._name, fields, kw_only=True, forbid_unknown_fields=True)
        reads = body_reader(self._function, kind)

        def read(body: bytes, headers: dict[str, str]) -> dict[str, Any]:
            whole = reads(body, headers)
            given = ((name, getattr(whole, name)) for name in kind.__struct_fields__)
            return {name: value for name, value in given if value is not UNSET}

        return read

    def _calling(
        self, message: str, body: list[Parameter], values: Mapping[Any, Any]
    ) -> Callable[[Job], Any]:
        """What calls the function with a message."""
        function, injects = self._function, [(n, self._hints[n]) for n in self._injected]
        one = body[0].name if len(body) == 1 else ""
        first = [p.name for p in self._parameters if p.kind is Parameter.POSITIONAL_ONLY]
        name = self._name

        def arguments(job: Job) -> tuple[list[Any], dict[str, Any]]:
            given: dict[str, Any] = {one: job.body} if one else dict(job.body) if body else {}
            for parameter, kind in injects:
                given[parameter] = _logger(name, kind, job) if kind in LOGGERS else values[kind]
            if message:
                given[message] = job
            return [given.pop(n) for n in first if n in given], given

        if received.is_async(function):

            @wraps(function)
            async def call_async(job: Job) -> Any:
                args, named_args = arguments(job)
                return await function(*args, **named_args)

            return call_async

        @wraps(function)
        def call(job: Job) -> Any:
            args, named_args = arguments(job)
            return function(*args, **named_args)

        return call


def _hint(function: Callable[..., Any], parameter: Parameter) -> Any:
    if parameter.annotation is Parameter.empty or parameter.kind in STRETCHES:
        return Any
    return resolved(function, parameter.annotation)


def _is_injected(parameter: Parameter, hint: Any, values: Mapping[Any, Any]) -> bool:
    if parameter.kind in STRETCHES or is_message(hint):
        return False
    if parameter.default is provided or hint in LOGGERS or hint in values:
        return True
    required = parameter.default is Parameter.empty
    plain_kind = hint in (*ANYTHING, bytes) or isinstance(hint, TypeVar)
    return required and not plain_kind and decoder_of(hint) is None


def _may_be_message(hint: Any) -> bool:
    return is_message(hint) or hint in ANYTHING or isinstance(hint, TypeVar)


def _takes_message_alone(first: Parameter, parameters: list[Parameter], hint: Any) -> bool:
    needed = [one for one in parameters if one.default is one.empty and one.kind not in STRETCHES]
    if first.kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD):
        return False
    return _may_be_message(hint) and needed in ([], [first])


def _message_reader(function: Callable[..., Any], hint: Any) -> Reads:
    kind = get_args(hint)[0] if get_args(hint) else Any
    return body_reader(function, kind, f"Message[{named(kind)}]")


def _keyword(parameter: Parameter) -> Parameter:
    """The same parameter, which may also be given by its name."""
    positional = parameter.kind is Parameter.POSITIONAL_ONLY
    return parameter.replace(kind=Parameter.POSITIONAL_OR_KEYWORD) if positional else parameter


def _logger(name: str, kind: Any, job: Job) -> Any:
    logger = logging.getLogger(f"postroad.handler.{name}")
    if kind is logging.Logger:
        return logger
    return logging.LoggerAdapter(logger, {"message_id": job.id, "queue": name})
