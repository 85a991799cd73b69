"""A road in a web application: Starlette, FastAPI and Litestar open it with their lifespan, and
requests send within their own SQLAlchemy session.

    app = FastAPI(lifespan=lifespan(road, worker=True))
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Final, Unpack

from postroad.app import Postroad
from postroad.model.errors import BadInput
from postroad.observe.tasks import Tasks
from postroad.ports.clock import SystemClock
from postroad.verbs.receipts import Receipt
from postroad.verbs.sending import SendOptions

__all__ = ["SessionSender", "lifespan"]

FIRST_WAIT_S: Final = 1.0
"""How long a worker that broke waits for its next run; twice as long each time."""
LONGEST_WAIT_S: Final = 60.0
STEADY_S: Final = 60.0
"""One that ran so long has not failed at its start."""


def lifespan(
    road: Postroad, *, worker: bool = False
) -> Callable[[object], AbstractAsyncContextManager[None]]:
    """Open a road with an application, and close it with it; `worker`: deliver meanwhile, too."""

    @asynccontextmanager
    async def opened(_app: object) -> AsyncIterator[None]:
        async with road:
            if not worker:
                yield
                return
            road.hears_signals = False  # the web server has them, and ends the lifespan
            ending = asyncio.Event()
            run = Tasks(road.log).start(_deliver(road, ending), "worker")
            try:
                yield
            finally:
                ending.set()
                road.stop()
                await run

    return opened


async def _deliver(road: Postroad, ending: asyncio.Event) -> None:
    """Run a road until the application ends. The application serves on while a run has broken, and
    nobody would start its process again: the next run begins soon."""
    wait_s, clock = FIRST_WAIT_S, SystemClock()
    while not ending.is_set():
        begun_s = clock.steady_s()
        broken = await _run(road)
        if broken is None:
            return
        if clock.steady_s() - begun_s >= STEADY_S:
            wait_s = FIRST_WAIT_S
        road.log.error("the worker of this application broke", again_in_s=wait_s, exc_info=broken)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                _ = await ending.wait()  # it is always true
        wait_s = min(2 * wait_s, LONGEST_WAIT_S)


async def _run(road: Postroad) -> Exception | None:
    """Run a road until it is stopped; answers what broke it."""
    try:
        await road.run()
    except BadInput:
        raise  # the program's own mistake: the next run would meet it as well
    except Exception as error:  # noqa: BLE001 - whatever broke, messages wait
        return error
    return None


class SessionSender:
    """Sends inside the transaction of a request's SQLAlchemy session: what is sent is stored if
    that commits. Make it a dependency of your own that takes the session."""

    def __init__(self, road: Postroad, session: object) -> None:
        self._road = road
        self._session = session

    async def send(self, queue: str, body: object, **options: Unpack[SendOptions]) -> Receipt:
        """Send a message, with the options of `road.send`."""
        return await self._road.send_in(self._session, queue, body, **options)
