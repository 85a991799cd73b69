"""The endpoint that `postroad listen --endpoint` is while it runs."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from postroad.cli.client import RequestRefused
from postroad.cli.printing import err
from postroad.model.errors import PostroadError
from postroad.remote.api_request import part

EXPIRES_S: Final = 120.0
"""How long it stays after a kill."""
RENEW_S: Final = 40.0
GONE: Final = 404
Ask = Callable[..., Any]
"""Makes a request to the road: method, path, data."""


class OwnEndpoint:
    """An endpoint that is made by a command, and deleted when the command ends. If that is killed,
    it expires."""

    def __init__(self, ask: Ask, wanted: dict[str, Any]) -> None:
        self._ask = ask
        self._wanted = {**wanted, "expires_in": EXPIRES_S}
        self.id = self.secret = self._path = ""

    async def create(self, url: str) -> None:
        """Make it."""
        self._wanted["url"] = url
        await asyncio.to_thread(self._create)

    async def keep(self, stopped: asyncio.Event) -> None:
        """Renew it until the command is stopped, and delete it then."""
        try:
            while not stopped.is_set():
                with suppress(TimeoutError):
                    async with asyncio.timeout(RENEW_S):
                        await stopped.wait()
                        break
                await asyncio.to_thread(self._renew)
        finally:
            await asyncio.to_thread(self._delete)

    def _create(self) -> None:
        said = self._ask("POST", "/v1/endpoints", data=self._wanted)
        self.id, self.secret = said["id"], said["secret"]
        self._path = f"/v1/endpoints/{part(self.id)}"
        self._wanted["secret"] = self.secret  # it is the same if it has to be made again

    def _renew(self) -> None:
        data = {"expires_in": EXPIRES_S}
        try:
            try:
                _ = self._ask("PATCH", self._path, data=data)  # its facts are known
            except RequestRefused as refused:
                if refused.problem.status != GONE:
                    raise
                self._create()  # this machine slept, and it has expired
        except (PostroadError, RequestRefused) as error:
            err().print(f"the endpoint could not be renewed, and will expire: {error}")

    def _delete(self) -> None:
        try:
            _ = self._ask("DELETE", self._path)  # it has no answer
        except (PostroadError, RequestRefused) as error:
            err().print(f"the endpoint could not be deleted, and will expire: {error}")
