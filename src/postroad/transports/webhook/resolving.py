"""Resolves names through the system, in threads of its own. A name server that hangs must not take
the threads that others need, nor one tenant's names those of another."""

import asyncio
import socket
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Final, Protocol, runtime_checkable

from postroad.model.errors import PostroadError, Shortage

RESOLVE_S: Final = 5.0
THREADS: Final = 64
LOCALHOST: Final = "localhost"
"""Never asked of a name server: with its dot it would be, and one that is slow would decide whether
a send to it is refused."""

Resolve = Callable[[str], Awaitable[list[str]]]


class Unresolved(PostroadError):
    """The name has no address, or no name server answers. Correct the name, or try again later."""


class Unanswered(Unresolved):
    """No name server answered in time."""


@runtime_checkable
class SharedByTenants(Protocol):
    """A resolver in which a tenant's names wait only for its own."""

    async def resolve(self, name: str, tenant: str) -> list[str]:
        """Return the addresses of a name."""


class SystemResolver:
    """Asks as the operating system would, for the whole name first: before search domains.

    One tenant has at most half of the threads that others do not use, so that one that comes finds
    some free: names that nobody answers for hold a thread for longer than anybody waits."""

    def __init__(self, look_up: Callable[[str], list[str]] | None = None) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "postroad-dns")
        self._look_up = look_up or _addresses
        self._busy: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}
        """Who waits, by tenant. Tenants take turns."""

    async def __call__(self, name: str) -> list[str]:
        """Resolve for no tenant in particular."""
        return await self.resolve(name, "")

    async def resolve(self, name: str, tenant: str) -> list[str]:
        """Return the addresses of a name, in the system's order of preference."""
        try:
            async with asyncio.timeout(RESOLVE_S):
                found = await self._in_turn(name, tenant)
        except TimeoutError:
            raise Unanswered(f"no name server answered for {name} in {RESOLVE_S:g} s") from None
        except (OSError, UnicodeError) as error:
            check_descriptors()  # without one every name looks unknown
            raise Unresolved(f"{name} has no address: {error}") from None
        return found

    async def _in_turn(self, name: str, tenant: str) -> list[str]:
        while not self._may(tenant):
            turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(tenant, deque()).append(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if not turn.cancelled():
                    self._next()  # it was its turn, and is another's now
                raise
        asked = self._threads.submit(self._look_up, name)
        self._busy[tenant] += 1
        asked.add_done_callback(partial(self._ended, asyncio.get_running_loop(), tenant))
        return await asyncio.wrap_future(asked)

    def _may(self, tenant: str) -> bool:
        mine = self._busy[tenant]
        return mine < (THREADS - self._busy.total() + mine) // 2

    def _ended(
        self, loop: asyncio.AbstractEventLoop, tenant: str, _asked: "Future[list[str]]"
    ) -> None:
        """Free the thread, in the thread itself, whether or not anybody still waits."""
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(self._free, tenant)

    def _free(self, tenant: str) -> None:
        self._busy[tenant] -= 1
        if not self._busy[tenant]:
            del self._busy[tenant]
        self._next()

    def _next(self) -> None:
        for tenant in list(self._waiting):
            if self._may(tenant) and self._wake(tenant):
                return

    def _wake(self, tenant: str) -> bool:
        """Wake the next of a tenant's lookups; the tenant then goes behind the others."""
        line = self._waiting.pop(tenant)
        woken = False
        while line and not woken:
            turn = line.popleft()
            woken = not turn.done()
            if woken:
                turn.set_result(None)
        if line:
            self._waiting[tenant] = line
        return woken


def check_descriptors() -> None:
    """Raise Shortage if this process cannot open one more file descriptor."""
    try:
        socket.socket().close()
    except OSError as error:
        raise Shortage.of(error) or error from None


def _addresses(name: str) -> list[str]:
    try:
        if name == LOCALHOST:
            found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
        else:
            found = socket.getaddrinfo(f"{name}.", None, type=socket.SOCK_STREAM)
    except socket.gaierror:
        # What a hosts file names has no dot there. Wherever it leads, the guard vets it.
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
