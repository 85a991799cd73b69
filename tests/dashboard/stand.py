"""The stand of the API's tests with the pages before it, and a browser without a window: it keeps
cookies and says where it comes from."""

from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from postroad.api.in_process import ask
from postroad.config import Settings
from postroad.dashboard.portal.application import Portal
from postroad.remote.api_request import ApiAnswer, ApiRequest
from tests.api.stand import Stand

HOST = "127.0.0.1:8600"
CLIENT = ("127.0.0.1", 40_000)


class PageStand(Stand):
    """`async with PageStand(folder):`; `await stand.login()`; `await stand.get("/queues")`."""

    def __init__(self, folder: Path, settings: Settings | None = None, dsn: str = "") -> None:
        super().__init__(folder, settings, dsn)
        self.cookies: dict[str, str] = {}

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.context.url = f"http://{HOST}"
        self.pages = Portal(self.app)
        return self

    async def login(self, **options: Any) -> ApiAnswer:
        made = await self.road.sessions.login("Ada", **options)
        return await self.post("/login", code=made.code)

    async def get(self, path: str, headers: dict[str, str] | None = None) -> ApiAnswer:
        return await self._ask(ApiRequest("GET", *_split(path), b"", headers or {}))

    async def post(
        self, path: str, headers: dict[str, str] | None = None, **fields: str
    ) -> ApiAnswer:
        """A form of our own page, unless its headers say something else."""
        own = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
        kind = {"content-type": "application/x-www-form-urlencoded"}
        given = {name: text for name, text in {**own, **(headers or {})}.items() if text}
        return await self._ask(
            ApiRequest("POST", path, {}, urlencode(fields).encode(), {**kind, **given})
        )

    async def _ask(self, asked: ApiRequest) -> ApiAnswer:
        kept = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"host": HOST, "cookie": kept, **asked.headers}
        whole = ApiRequest(asked.method, asked.path, asked.query, asked.content, headers)
        answer = await ask(self.pages, whole, client=CLIENT)
        if "set-cookie" in answer.headers:
            name, _, value = answer.headers["set-cookie"].partition(";")[0].partition("=")
            self.cookies[name] = value
        return answer


def _split(path: str) -> tuple[str, dict[str, str]]:
    place, _, query = path.partition("?")
    return place, dict(pair.split("=", 1) for pair in query.split("&") if pair)
