"""A road in a web application: Starlette, FastAPI and Litestar open it with their lifespan, and
requests send within their own SQLAlchemy session.

    app = FastAPI(lifespan=lifespan(road, worker=True))
"""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Unpack

from postroad.app import Postroad
from postroad.observe.tasks import Tasks
from postroad.verbs.receipts import Receipt
from postroad.verbs.sending import SendOptions

__all__ = ["SessionSender", "lifespan"]


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
            tasks = Tasks(road.log)
            run = tasks.start(road.run(), "worker")
            try:
                yield
            finally:
                road.stop()
                await run

    return opened


class SessionSender:
    """Sends inside the transaction of a request's SQLAlchemy session: what is sent is stored if
    that commits. Make it a dependency of your own that takes the session."""

    def __init__(self, road: Postroad, session: object) -> None:
        self._road = road
        self._session = session

    async def send(self, queue: str, body: object, **options: Unpack[SendOptions]) -> Receipt:
        """Send a message, with the options of `road.send`."""
        return await self._road.send_in(self._session, queue, body, **options)
