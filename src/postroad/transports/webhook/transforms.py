"""Transformations of bodies: functions that the operator registers by name, and endpoints are set
to."""

import asyncio
import inspect
import re
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from postroad.model.bodies import encode_body
from postroad.model.errors import BadInput, PostroadError
from postroad.model.foreign import error_text
from postroad.transports.raised import as_outcome
from postroad.transports.threads import Threads
from postroad.transports.webhook.shapes import Origin

THREADS: Final = 4
TAKES_S: Final = 2.0
STUCK_MAX: Final = 60
"""Calls that took too long and have not ended: each keeps a thread, which nothing can stop."""
BODY_BYTES_MAX: Final = 1 << 20
KEPT_BYTES: Final = 4 << 20
NAME: Final = re.compile(r"[A-Za-z0-9_.-]{1,100}")
T = TypeVar("T", bound=Callable[..., Any])


class MissingTransform(PostroadError):
    """This process has no transformation of that name, or no thread for one since too many hang:
    register it where the road is delivered, or mend those and start the process again."""


class FailedTransform(PostroadError):
    """A transformation raised an error, took too long or made too much of a body."""


Key = tuple[str, str]
"""An event, and what makes another body of it."""


class UnderWay(NamedTuple):
    """What is made of events at this moment, in a loop."""

    loop: asyncio.AbstractEventLoop
    capacity: asyncio.Semaphore
    under_way: "dict[Key, asyncio.Task[bytes]]"


class Transforms:
    """The transformations of a road, and what they made of the last events."""

    def __init__(self) -> None:
        self.functions: dict[str, Callable[..., Any]] = {}
        self._threads = Threads("transform", THREADS + STUCK_MAX)
        self._stuck = 0
        self._made: OrderedDict[Key, bytes] = OrderedDict()
        self._bytes = 0
        self._now: UnderWay | None = None

    def register(self, name: str) -> Callable[[T], T]:
        """Register a function, plain or async, as a transformation: it is given the event's type
        and its body, and returns another body. Endpoints are set to it by `transform=`."""
        check_name(name)
        if name in self.functions:
            raise BadInput(f"there is a transformation {name!r} already")

        def add(function: T) -> T:
            self.functions[name] = function
            return function

        return add

    def adopt(self, other: "Transforms") -> None:
        """Add everything that another road has."""
        for name, function in other.functions.items():
            _ = self.register(name)(function)  # the same function

    async def apply(self, name: str, body: bytes, origin: Origin) -> bytes:
        """Return what a transformation makes of a body: for all endpoints and retries the same.
        Raises MissingTransform or FailedTransform."""
        function = self.functions.get(name)
        if function is None:
            raise MissingTransform(
                f"this process has no transformation {name!r}: register it with road.transform"
            )
        known = self._made.get((origin.id, name))
        if known is None:
            # It goes on for the others when one who waits for it is cut off.
            known = await asyncio.shield(self._making(name, function, body, origin))
        return known

    def _making(
        self, name: str, function: Callable[..., Any], body: bytes, origin: Origin
    ) -> "asyncio.Task[bytes]":
        """Call it once for all endpoints that want it meanwhile."""
        loop = asyncio.get_running_loop()  # a blocking road that is opened again has another
        if self._now is None or self._now.loop is not loop:
            self._now = UnderWay(loop, asyncio.Semaphore(THREADS), {})
        under_way, key = self._now.under_way, (origin.id, name)
        task = under_way.get(key)
        if task is None:
            making = self._make(self._now.capacity, name, function, body, origin)
            task = under_way[key] = loop.create_task(making)
            task.add_done_callback(lambda done: _ended(done, under_way, key))
        return task

    async def _make(
        self,
        capacity: asyncio.Semaphore,
        name: str,
        function: Callable[..., Any],
        body: bytes,
        origin: Origin,
    ) -> bytes:
        async with capacity:  # its time begins when it has a thread
            made = await self._call(name, function, body, origin)
        self._keep((origin.id, name), made)
        return made

    async def _call(
        self, name: str, function: Callable[..., Any], body: bytes, origin: Origin
    ) -> bytes:
        try:
            async with asyncio.timeout(TAKES_S):
                made = await self._run(function, origin.type, msgspec.json.decode(body))
            encoded = encode_body(made)
        except TimeoutError:
            raise FailedTransform(f"transformation {name!r}: longer than {TAKES_S:g} s") from None
        except MissingTransform:  # for want of threads
            raise
        except BaseException as raised:  # noqa: BLE001 - the operator's function may raise anything
            error = as_outcome(raised)
            kind = type(error).__name__
            raise FailedTransform(f"transformation {name!r}: {kind}: {error_text(error)}") from None
        if len(encoded) > BODY_BYTES_MAX:
            raise FailedTransform(
                f"transformation {name!r} made {len(encoded)} bytes: at most {BODY_BYTES_MAX}"
            )
        return encoded

    async def _run(self, function: Callable[..., Any], kind: str, body: Any) -> Any:
        if inspect.iscoroutinefunction(function):
            return await function(kind, body)
        if self._stuck >= STUCK_MAX:
            raise MissingTransform(
                f"{self._stuck} transformations hang in this process, which calls no more of them: "
                "mend what does not return, and start it again"
            )
        call = self._threads.call(partial(function, kind, body))
        try:
            return await call.answer
        except asyncio.CancelledError:
            if not call.ended.done():
                self._stuck += 1
                call.ended.add_done_callback(self._returned)
            raise

    def _returned(self, _ended: "asyncio.Future[None]") -> None:
        """A call that took too long has ended all the same."""
        self._stuck -= 1

    def _keep(self, key: Key, made: bytes) -> None:
        self._bytes += len(made) - len(self._made.get(key, b""))
        self._made[key] = made
        while self._bytes > KEPT_BYTES and len(self._made) > 1:
            self._bytes -= len(self._made.popitem(last=False)[1])


def _ended(
    task: "asyncio.Task[bytes]", under_way: "dict[Key, asyncio.Task[bytes]]", key: Key
) -> None:
    del under_way[key]
    if not task.cancelled():
        _ = task.exception()  # nobody may be left to hear it


def check_name(name: str) -> None:
    """Raise BadInput if it is no name of a transformation."""
    if not NAME.fullmatch(name):
        raise BadInput(f"{name!r:.60} is no name of a transformation: letters, digits, _ . and -")
