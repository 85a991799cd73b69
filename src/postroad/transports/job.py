"""The message that a handler gets, with its body decoded as its signature asks."""

import inspect
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, get_type_hints

import msgspec
import msgspec.inspect

from postroad.model import entities
from postroad.model.errors import BadInput, Reject
from postroad.model.ids import to_text
from postroad.ports.transport import Beat
from postroad.transports import pydantic_models

if TYPE_CHECKING:  # so that `Message` alone is a Message[Any], also to a strict checker
    from typing_extensions import TypeVar as TypeVarWithDefault

    T = TypeVarWithDefault("T", default=Any)
else:
    T = TypeVar("T")
RAW: Final = "application/octet-stream"
UNREAD: Final = object()

Reads = Callable[[bytes, dict[str, str]], Any]
"""How a body is read, by its bytes and the message's headers."""
Decode = Callable[[bytes], Any]
Reports = Callable[[entities.Message, float, float, str], None]
"""Takes how far a job has come."""


def plain(body: bytes, headers: dict[str, str]) -> Any:
    """Decode JSON; bytes stay bytes if they were sent as such."""
    return body if headers.get("content-type") == RAW else msgspec.json.decode(body)


class Message(Generic[T]):
    """What a handler gets. `Message[Order]` in its signature has the body checked and made an
    `Order` before it is called; a body that does not fit is rejected."""

    def __init__(
        self,
        message: entities.Message,
        reads: Reads,
        beats: Callable[[Beat], None],
        beat: Beat,
        reports: Reports | None = None,
    ) -> None:
        self._message = message
        self._reads = reads
        self._beats = beats
        self._beat = beat
        self._reports = reports
        # Not cached_property: on Python 3.11 it takes a lock, 1 µs each.
        self._headers: dict[str, str] | None = None
        self._body: Any = UNREAD
        self.over = False
        """The try has ended, or was cut."""
        self.cancelled = False
        """Somebody cancelled the job while it runs in its thread, or while others run in the same
        call: end soon, by any exception, or leave it out."""

    @property
    def id(self) -> str:
        """The message's id, the same over all tries."""
        return to_text(self._message.id)

    @property
    def headers(self) -> dict[str, str]:
        """The headers that the sender gave."""
        if self._headers is None:
            packed = self._message.headers
            self._headers = msgspec.json.decode(packed, type=dict[str, str]) if packed else {}
        return self._headers

    @property
    def body(self) -> T:
        """The body, decoded at first use."""
        if self._body is UNREAD:
            self._body = self._reads(self._message.body, self.headers)
        read: T = self._body
        return read

    @property
    def level(self) -> int:
        """How many steps of its ladder the message has climbed."""
        return self._message.level

    @property
    def attempt(self) -> int:
        """Which try this is, from 1."""
        return self._message.attempts + 1

    def progress(self, done: float, total: float = 0, note: str = "") -> None:
        """Report how far the job has come: so much of `total`, and a note. Any thread may; at most
        one report a second is written, the latest."""
        if self._reports is not None:
            self._reports(self._message, done, total, note)

    def heartbeat(self) -> None:
        """Restart the timeout. Raises TimeoutError if this try was already cut, InterruptedError
        if the job was cancelled, so that a thread, which nobody can stop, can end itself."""
        if self.cancelled:
            raise InterruptedError("this job was cancelled while it runs")
        if self.over:
            raise TimeoutError("this try is over: it was cut, and its message is tried again")
        self._beats(self._beat)


Job = Message[Any]
Around = Callable[[Job], AbstractAsyncContextManager[object]]
"""What a program puts around each try of its handlers."""


def is_async(function: Callable[..., object]) -> bool:
    """Whether a handler runs in the loop; any other gets a thread."""
    call = getattr(function, "__call__", None)  # noqa: B004 - an object may be async to call
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def body_reader(function: Callable[..., object], kind: Any, says: str = "") -> Reads:
    """Choose how bodies are decoded for a parameter of a handler that takes a `kind`."""
    if kind in (Any, object) or isinstance(kind, TypeVar):
        return plain
    if kind is bytes:
        return _bytes_only
    decoder = decoder_of(kind)
    if decoder is None:
        raise BadInput(
            f"{named(function)}: {says or named(kind)} cannot be read from JSON: give a msgspec "
            "Struct, a dataclass, a pydantic model, or plain types like dict[str, int]"
        )
    return partial(_typed, decoder, named(kind))


def decoder_of(kind: Any) -> Decode | None:
    """The decoder of bodies of a type; None when it cannot be read from JSON."""
    try:
        if pydantic_models.is_in(kind):
            return pydantic_models.decoder(kind)
        # A class that msgspec does not know would be found out by every single message.
        if isinstance(msgspec.inspect.type_info(kind), msgspec.inspect.CustomType):
            return None
        return msgspec.json.Decoder(kind, dec_hook=pydantic_models.convert).decode
    except (TypeError, ValueError):
        return None


def resolved(function: Callable[..., object], annotation: object) -> object:
    """Evaluate an annotation that was written as text."""
    if not isinstance(annotation, str):
        return annotation
    holder = type("Holder", (), {"__annotations__": {"message": annotation}})
    inner = inspect.unwrap(getattr(function, "func", function))
    names = getattr(getattr(inner, "__func__", inner), "__globals__", {})
    try:
        return get_type_hints(holder, globalns=names)["message"]
    except Exception as error:  # noqa: BLE001 - whatever the text does when it is evaluated
        if annotation.rpartition(".")[2] == "Message":
            return Message  # often imported for type checkers alone
        raise BadInput(
            f"{named(function)}: {annotation} cannot be read ({error}): the names in it must be "
            "there when the handler is registered, at the top level of their module and not under "
            "`if TYPE_CHECKING:`"
        ) from None


def _typed(decode: Decode, name: str, body: bytes, headers: dict[str, str]) -> Any:
    if headers.get("content-type") == RAW:
        raise Reject(f"the body does not fit {name}: it was sent as bytes")
    try:
        return decode(body)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise Reject(f"the body does not fit {name}: {error}") from None


def _bytes_only(body: bytes, headers: dict[str, str]) -> bytes:
    if headers.get("content-type") != RAW:
        raise Reject("the body does not fit bytes: it was sent as data")
    return body


def named(thing: object) -> str:
    """A function or type as errors name it."""
    return str(getattr(thing, "__name__", thing))
