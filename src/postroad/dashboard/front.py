"""What answers first: the API for its own paths, and else the pages."""

import asyncio
from typing import Any, Final

from postroad.api.app import ROUTES, Application

API: Final = frozenset(route.path.split("/")[1].encode() for route in ROUTES)
"""The first words of all paths of the API."""


class Front:
    """Loads the pages when the first one is asked for: many servers are never looked at, and pages
    take a tenth of the time until a server is ready. They are loaded beside the loop."""

    def __init__(self, api: Application) -> None:
        self._api = api
        self._pages: asyncio.Future[Any] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["raw_path"].lstrip(b"/").partition(b"/")[0] in API:
            await self._api(scope, receive, send)
            return
        if self._pages is None or (self._pages.done() and self._pages.exception()):
            # Also again: what failed, as for want of a file descriptor, may pass.
            self._pages = asyncio.ensure_future(asyncio.to_thread(self._load))
        pages = await asyncio.shield(self._pages)
        await pages(scope, receive, send)

    def _load(self) -> Any:
        from postroad.dashboard.portal.application import Portal

        return Portal(self._api)
