"""Names to addresses, through the system, in threads of their own: a name server that hangs must
not take the threads that others need."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from postroad.model.errors import PostroadError, Shortage

RESOLVE_S: Final = 5.0
THREADS: Final = 32

Resolve = Callable[[str], Awaitable[list[str]]]


class Unresolved(PostroadError):
    """The name has no address, or nobody says."""


class SystemResolver:
    """Asks as the operating system would, for the whole name first: before search domains."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "postroad-dns")

    async def __call__(self, name: str) -> list[str]:
        """Its addresses, in the system's order of preference."""
        loop = asyncio.get_running_loop()
        try:
            async with asyncio.timeout(RESOLVE_S):
                found = await loop.run_in_executor(self._threads, _addresses, name)
        except TimeoutError:
            raise Unresolved(f"no name server answered for {name} in {RESOLVE_S:g} s") from None
        except (OSError, UnicodeError) as error:
            check_descriptors()  # without one every name looks unknown
            raise Unresolved(f"{name} has no address: {error}") from None
        return found


def check_descriptors() -> None:
    """A Shortage when this process cannot have one more."""
    try:
        socket.socket().close()
    except OSError as error:
        raise Shortage.of(error) or error from None


def _addresses(name: str) -> list[str]:
    try:
        found = socket.getaddrinfo(f"{name}.", None, type=socket.SOCK_STREAM)
    except socket.gaierror:
        # What a hosts file names has no dot there. Wherever it leads, the guard vets it.
        found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))
