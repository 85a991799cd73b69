"""The endpoint that `postroad listen --endpoint` is while it runs."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from postroad.cli.client import RequestRefused
from postroad.cli.command import Invocation
from postroad.cli.printing import err
from postroad.model.errors import PostroadError
from postroad.ports.clock import Clock
from postroad.remote.api_request import part

EXPIRES_S: Final = 120.0
"""How long it stays after a kill."""
RENEW_S: Final = 40.0
GONE: Final = 404


class OwnEndpoint:
    """An endpoint that is made by a command, and deleted when the command ends. If that is killed,
    it expires."""

    def __init__(self, call: Invocation, clock: Clock, wanted: dict[str, Any]) -> None:
        self._call = call
        self._clock = clock
        self._wanted = {**wanted, "expires_in": EXPIRES_S}
        self.id = ""
        self.secret = ""

    @asynccontextmanager
    async def registered(self, url: str) -> AsyncIterator[None]:
        """Make it, and renew it until the end of the block."""
        self._wanted["url"] = url
        await asyncio.to_thread(self._create)
        renewing = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            renewing.cancel()
            await asyncio.to_thread(self._delete)

    def _create(self) -> None:
        said = self._call.ask("POST", "/v1/endpoints", data=self._wanted)
        self.id, self.secret = said["id"], said["secret"]
        self._wanted["secret"] = self.secret  # it is the same if it has to be made again

    async def _keep(self) -> None:
        while True:
            await self._clock.sleep(RENEW_S)
            await asyncio.to_thread(self._renew)

    def _renew(self) -> None:
        data = {"expires_in": EXPIRES_S}
        try:
            try:
                _ = self._call.ask("PATCH", f"/v1/endpoints/{part(self.id)}", data=data)
            except RequestRefused as refused:
                if refused.problem.status != GONE:
                    raise
                self._create()  # this machine slept, and it has expired
        except (PostroadError, RequestRefused) as error:
            err().print(f"the endpoint could not be renewed, and will expire: {error}")

    def _delete(self) -> None:
        try:
            _ = self._call.ask("DELETE", f"/v1/endpoints/{part(self.id)}")
        except (PostroadError, RequestRefused) as error:
            err().print(f"the endpoint could not be deleted, and will expire: {error}")
