"""How pages ask: requests to the API of the same process, with the token of a session."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from postroad.api.answering import MEDIA_TYPE as PROBLEM
from postroad.api.app import Application
from postroad.api.in_process import ask
from postroad.api.progress import NDJSON
from postroad.api.request import Request
from postroad.model.problem import Problem
from postroad.remote.api_request import ApiRequest, part

HINTS: Final = re.compile(
    r"[:;,] see (?:`postroad [^`]*`|settings\.[\w.]+)(?: for what became of it)?"
)


def without_hints(text: str) -> str:
    """A sentence without the command or setting that tells more: people at pages have none."""
    return HINTS.sub("", text)


class ProblemAnswer(Exception):
    """The API refused; `problem` says why, in a sentence for people."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class PageApi:
    """Asks the API as the person at the page: with the same rights, and the same lines in the audit
    log."""

    def __init__(self, app: Application, request: Request) -> None:
        self._app = app
        names = ("authorization", "host", "postroad-tenant")
        self._headers = {name: request.headers[name] for name in names if name in request.headers}
        self._client = request.client or ("", 0)

    def now_ms(self) -> int:
        """The time by the server's clock."""
        return self._app.context.road.store.clock.now_ms()

    async def get(self, path: str, **query: object) -> Any:
        """Read something."""
        return await self._ask(ApiRequest("GET", path, query))

    async def check_tenant(self, name: str) -> None:
        """ProblemAnswer if there is no such tenant: its pages would look like an empty road."""
        _ = await self.get(f"/v1/tenants/{part(name)}")  # whether there is one

    async def send(self, method: str, path: str, data: Mapping[str, object]) -> Any:
        """Change something. What is sent with a DELETE stands in its query."""
        if method == "DELETE":
            return await self._ask(ApiRequest(method, path, data))
        return await self._ask(ApiRequest(method, path, {}, msgspec.json.encode(data)))

    async def post(self, path: str, data: object) -> Any:
        """Do something."""
        return await self._ask(ApiRequest("POST", path, {}, msgspec.json.encode(data)))

    async def do(self, path: str, data: object) -> None:
        """Do something whose answer is not shown; a refusal is raised."""
        _ = await self.post(path, data)  # a refusal is raised

    async def post_csv(self, path: str, sent: AsyncIterator[bytes], **query: object) -> Any:
        """Import a file, in pieces as they come."""
        headers = {"content-type": "text/csv"}
        return await self._ask(ApiRequest("POST", path, query, b"", headers), sent=sent)

    async def change(self, path: str, data: object) -> None:
        """Change something, and leave the rest of it as it is."""
        asked = ApiRequest("PATCH", path, {}, msgspec.json.encode(data))
        _ = await self._ask(asked)  # a refusal is raised

    async def delete(self, path: str, **query: object) -> Any:
        """End something."""
        return await self._ask(ApiRequest("DELETE", path, query))

    async def follow(
        self, path: str, data: object, told: Callable[[Any], None], begin: Callable[[], None]
    ) -> None:
        """Change many messages: `begin` is called when that is allowed, then `told` with each line
        about the progress."""
        headers = {"accept": NDJSON}
        asked = ApiRequest("POST", path, {}, msgspec.json.encode(data), headers)

        def hear(piece: bytes) -> None:
            for line in piece.splitlines():
                told(msgspec.json.decode(line))

        _ = await self._ask(asked, hear, begin)  # it was heard

    async def _ask(
        self,
        asked: ApiRequest,
        heard: Callable[[bytes], None] | None = None,
        begin: Callable[[], None] | None = None,
        sent: AsyncIterator[bytes] | None = None,
    ) -> Any:
        signed = msgspec.structs.replace(asked, headers={**self._headers, **asked.headers})
        answer = await ask(self._app, signed, heard, begin=begin, sent=sent, client=self._client)
        if answer.status >= 400 and answer.headers["content-type"] == PROBLEM:
            told = msgspec.json.decode(answer.content, type=Problem)
            raise ProblemAnswer(replace(told, detail=without_hints(told.detail)))
        return answer.json() if answer.content else None


async def can_send_again(api: PageApi, message: str) -> bool:
    """Whether the body of a finished message was kept; callers that may not see it learn it too."""
    try:
        await api.do("/v1/messages:send-again", {"ids": [message], "dry_run": True})
    except ProblemAnswer:
        return False
    return True
