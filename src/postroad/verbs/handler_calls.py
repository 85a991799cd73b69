"""Calls of handlers: a registered function can be called as before, and sent to."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, Unpack, overload

from postroad.engine.drafting import Send, make_send
from postroad.model.errors import BadInput
from postroad.model.near_names import nearest
from postroad.transports.call_plan import CallPlan
from postroad.transports.job import Message
from postroad.verbs.receipts import Receipt
from postroad.verbs.sending import SendOptions

P = ParamSpec("P")
C = ParamSpec("C")
T = TypeVar("T")
B_contra = TypeVar("B_contra", contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class SendsMany(Protocol):
    """A road."""

    async def send_many(self, sends: Sequence[Send]) -> list[Receipt]:
        """Store many messages in one transaction."""


class BlockingSendsMany(Protocol):
    """A road whose verbs block."""

    def send_many(self, sends: Sequence[Send]) -> list[Receipt]:
        """Store many messages in one transaction."""


class Home:
    """Where the calls of a road's handlers are sent: by this road, or by one that adopted them."""

    def __init__(self, road: SendsMany) -> None:
        self.road = road
        self.face: BlockingSendsMany | None = None
        self.host: Home | None = None

    @property
    def now(self) -> "Home":
        """The home that sends."""
        return self.host.now if self.host else self


class BodyCall(Protocol[B_contra, C, R_co]):
    """A handler that takes one body."""

    def __call__(self, *args: C.args, **kwargs: C.kwargs) -> R_co:
        """Call the function itself."""

    async def send(self, body: B_contra, /, **options: Unpack[SendOptions]) -> Receipt:
        """Store one message for this handler."""

    async def send_many(
        self, bodies: Iterable[B_contra], /, **options: Unpack[SendOptions]
    ) -> list[Receipt]:
        """Store many messages in one transaction."""

    def as_send(self, body: B_contra, /, **options: Unpack[SendOptions]) -> Send:
        """Return what would be sent, for `road.send_many` and the like."""

    def options(self, **options: Unpack[SendOptions]) -> "BodyCall[B_contra, C, R_co]":
        """The same handler, whose sends have these options."""


class ArgumentsCall(Protocol[P, C, R_co]):
    """A handler whose parameters are the fields of its body."""

    def __call__(self, *args: C.args, **kwargs: C.kwargs) -> R_co:
        """Call the function itself."""

    async def send(self, *args: P.args, **kwargs: P.kwargs) -> Receipt:
        """Store one message for this handler, with these arguments."""

    async def send_many(
        self, arguments: Iterable[Mapping[str, Any]], /, **options: Unpack[SendOptions]
    ) -> list[Receipt]:
        """Store many messages in one transaction, each with its arguments by name."""

    def as_send(self, *args: P.args, **kwargs: P.kwargs) -> Send:
        """Return what would be sent, for `road.send_many` and the like."""

    def options(self, **options: Unpack[SendOptions]) -> "ArgumentsCall[P, C, R_co]":
        """The same handler, whose sends have these options."""


class Registering(Protocol):
    """Registers a function as a handler."""

    @overload
    def __call__(self, function: Callable[[Message[T]], R], /) -> BodyCall[T, [Message[T]], R]: ...
    @overload
    def __call__(  # with `batch` it gets a list, and is sent to one by one
        self, function: Callable[[list[Message[T]]], R], /
    ) -> BodyCall[T, [list[Message[T]]], R]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # a message is a body, too
        self, function: Callable[Concatenate[Message[Any], P], R], /
    ) -> ArgumentsCall[P, Concatenate[Message[Any], P], R]: ...
    @overload
    def __call__(self, function: Callable[[T], R], /) -> BodyCall[T, [T], R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> ArgumentsCall[P, P, R]: ...
    def __call__(self, function: Callable[..., Any], /) -> Any:
        """Register it."""


class HandlerCall:
    """A registered function. Calling it calls the function; `send` stores a message for it."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        plan: CallPlan,
        home: Home,
        options: SendOptions | None = None,
    ) -> None:
        self.name = name
        self.function = function
        self._plan = plan
        self._home = home
        self._options: SendOptions = options or {}
        update_wrapper(self, function)
        if inspect.iscoroutinefunction(function) and hasattr(inspect, "markcoroutinefunction"):
            inspect.markcoroutinefunction(self)  # Python 3.12

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself."""
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<handler {self.name!r}: {self.function!r}>"

    async def send(self, *args: Any, **kwargs: Any) -> Receipt:
        """Store one message for this handler."""
        return (await self._home.now.road.send_many([self.as_send(*args, **kwargs)]))[0]

    async def send_many(
        self, bodies: Iterable[Any], /, **options: Unpack[SendOptions]
    ) -> list[Receipt]:
        """Store many messages in one transaction."""
        return await self._home.now.road.send_many(self._sends(bodies, options))

    def options(self, **options: Unpack[SendOptions]) -> "HandlerCall":
        """The same handler, whose sends have these options."""
        merged: SendOptions = {**self._options, **options}
        _ = make_send(self.name, None, merged)  # whether there are such options
        return type(self)(self.name, self.function, self._plan, self._home, merged)

    def as_send(self, *args: Any, **kwargs: Any) -> Send:
        """Return what would be sent, for `road.send_many` and the like."""
        plan = self._plan
        if plan.arguments is None:
            body, options = self._one(args, kwargs)
        else:
            body, options = self._arguments(plan.arguments, args, kwargs)
        return make_send(self.name, body, {**self._options, **options})

    def _sends(self, bodies: Iterable[Any], options: SendOptions) -> list[Send]:
        call = self.options(**options) if options else self
        if self._plan.arguments is None:
            return [call.as_send(body) for body in bodies]
        return [call.as_send(**body) for body in bodies]

    def _one(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        given = list(args)
        if self._plan.one in kwargs:
            given.append(kwargs[self._plan.one])
        if len(given) != 1:
            raise BadInput(f"{self.name!r} takes one argument, its body: {len(given)} were given")
        return given[0], {n: value for n, value in kwargs.items() if n != self._plan.one}

    def _arguments(
        self, takes: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, dict[str, Any]]:
        theirs = {n: value for n, value in kwargs.items() if n in takes.parameters}
        known = (*takes.parameters, *Send.__struct_fields__[2:])
        for name in kwargs.keys() - known:
            hint = nearest(name, known) or ": give its arguments, or options of a send as delay="
            raise BadInput(f"{self.name!r} takes {takes}: there is no {name}={hint}")
        try:
            bound = takes.bind(*args, **theirs)
        except TypeError as error:
            raise BadInput(f"{self.name!r} takes {takes}: {error}") from None
        return dict(bound.arguments), {n: v for n, v in kwargs.items() if n not in theirs}
