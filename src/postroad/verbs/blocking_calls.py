"""Calls of handlers without `await`: of roads whose verbs block."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Concatenate, Protocol, Unpack, overload

from postroad.engine.drafting import Send
from postroad.model.errors import NotOpen
from postroad.transports.job import Message
from postroad.verbs.handler_calls import B_contra, BlockingSendsMany, C, HandlerCall, P, R, R_co, T
from postroad.verbs.receipts import Receipt
from postroad.verbs.sending import SendOptions


class BlockingBodyCall(Protocol[B_contra, C, R_co]):
    """A handler that takes one body."""

    def __call__(self, *args: C.args, **kwargs: C.kwargs) -> R_co:
        """Call the function itself."""

    def send(self, body: B_contra, /, **options: Unpack[SendOptions]) -> Receipt:
        """Store one message for this handler."""

    def send_many(
        self, bodies: Iterable[B_contra], /, **options: Unpack[SendOptions]
    ) -> list[Receipt]:
        """Store many messages in one transaction."""

    def as_send(self, body: B_contra, /, **options: Unpack[SendOptions]) -> Send:
        """Return what would be sent, for `road.send_many` and the like."""

    def options(self, **options: Unpack[SendOptions]) -> "BlockingBodyCall[B_contra, C, R_co]":
        """The same handler, whose sends have these options."""


class BlockingArgumentsCall(Protocol[P, C, R_co]):
    """A handler whose parameters are the fields of its body."""

    def __call__(self, *args: C.args, **kwargs: C.kwargs) -> R_co:
        """Call the function itself."""

    def send(self, *args: P.args, **kwargs: P.kwargs) -> Receipt:
        """Store one message for this handler, with these arguments."""

    def send_many(
        self, arguments: Iterable[Mapping[str, Any]], /, **options: Unpack[SendOptions]
    ) -> list[Receipt]:
        """Store many messages in one transaction, each with its arguments by name."""

    def as_send(self, *args: P.args, **kwargs: P.kwargs) -> Send:
        """Return what would be sent, for `road.send_many` and the like."""

    def options(self, **options: Unpack[SendOptions]) -> "BlockingArgumentsCall[P, C, R_co]":
        """The same handler, whose sends have these options."""


class BlockingRegistering(Protocol):
    """Registers a function as a handler."""

    @overload
    def __call__(
        self, function: Callable[[Message[T]], R], /
    ) -> BlockingBodyCall[T, [Message[T]], R]: ...
    @overload
    def __call__(  # with `batch` it gets a list, and is sent to one by one
        self, function: Callable[[list[Message[T]]], R], /
    ) -> BlockingBodyCall[T, [list[Message[T]]], R]: ...
    @overload
    def __call__(  # type: ignore[overload-overlap]  # a message is a body, too
        self, function: Callable[Concatenate[Message[Any], P], R], /
    ) -> BlockingArgumentsCall[P, Concatenate[Message[Any], P], R]: ...
    @overload
    def __call__(self, function: Callable[[T], R], /) -> BlockingBodyCall[T, [T], R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> BlockingArgumentsCall[P, P, R]: ...
    def __call__(self, function: Callable[..., Any], /) -> Any:
        """Register it."""


class BlockingHandlerCall(HandlerCall):
    """A registered function of a road whose verbs block."""

    def send(self, *args: Any, **kwargs: Any) -> Any:
        """Store one message for this handler."""
        return self._face().send_many([self.as_send(*args, **kwargs)])[0]

    def send_many(self, bodies: Iterable[Any], /, **options: Unpack[SendOptions]) -> Any:
        """Store many messages in one transaction."""
        return self._face().send_many(self._sends(bodies, options))

    def _face(self) -> BlockingSendsMany:
        face = self._home.now.face
        if face is None:
            raise NotOpen("its road delivers in another loop: send by the road that is open there")
        return face
