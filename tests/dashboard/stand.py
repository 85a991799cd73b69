"""The stand of the API's tests with the pages before it, and a browser without a window: it keeps
cookies and says where it comes from."""

import re
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlencode

from postroad.api.in_process import ask
from postroad.config import Settings
from postroad.dashboard.front import Front
from postroad.remote.api_request import ApiAnswer, ApiRequest
from tests.api.stand import Stand

HOST = "127.0.0.1:8600"
BOUNDARY = "----WebKitFormBoundaryA1b2C3d4E5f6G7h8"
KIND = f"multipart/form-data; boundary={BOUNDARY}"
CLIENT = ("127.0.0.1", 40_000)
MARKED = re.compile(rb'<input type="hidden" name="form_mark" value="\w+">')
INNARDS = re.compile(rb"object at 0x|(<|&lt;)(built-in|bound method|function|class) ")
"""What Python writes for what is no text: a template that names a method in place of a value."""


class PageStand(Stand):
    """`async with PageStand(folder):`; `await stand.login()`; `await stand.get("/queues")`."""

    def __init__(self, folder: Path, settings: Settings | None = None, dsn: str = "") -> None:
        super().__init__(folder, settings, dsn)
        self.cookies: dict[str, str] = {}
        self.client = CLIENT
        self.scheme = "http"
        self.sender = ""
        """Where the connection comes from, if not from the client: a proxy."""

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        self.context.url = f"http://{HOST}"
        self.pages = Front(self.app)
        return self

    async def login(self, **options: Any) -> ApiAnswer:
        made = await self.road.sessions.login("Ada", **options)
        return await self.post("/login", code=made.code)

    async def get(self, path: str, headers: dict[str, str] | None = None) -> ApiAnswer:
        return await self._ask(ApiRequest("GET", *_split(path), b"", headers or {}))

    async def post(
        self, path: str, headers: dict[str, str] | None = None, **fields: str | list[str]
    ) -> ApiAnswer:
        """A form of our own page, unless its headers say something else."""
        own = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin"}
        kind = {"content-type": "application/x-www-form-urlencoded"}
        given = {name: text for name, text in {**own, **(headers or {})}.items() if text}
        return await self._ask(
            ApiRequest("POST", path, {}, urlencode(fields, doseq=True).encode(), {**kind, **given})
        )

    async def upload(
        self, path: str, data: bytes, file: str = "people.csv", **fields: str
    ) -> ApiAnswer:
        """A form of our own page with a file, as a script sends it."""
        return await self.upload_raw(path, multipart(data, file, fields), KIND)

    async def upload_raw(
        self,
        path: str,
        content: bytes,
        kind: str,
        headers: dict[str, str] | None = None,
        *,
        script: bool = True,
    ) -> ApiAnswer:
        """Any bytes in place of a form with a file."""
        own = {"origin": f"http://{HOST}", "sec-fetch-site": "same-origin", "content-type": kind}
        given = {**own, **({"postroad-fetch": "1"} if script else {}), **(headers or {})}
        return await self._ask(ApiRequest("POST", path, {}, content, given))

    async def ask_as(self, method: str, path: str, headers: dict[str, str]) -> ApiAnswer:
        """Ask by any method, with the cookies."""
        return await self._ask(ApiRequest(method, path, {}, b"{}", headers))

    async def _ask(self, asked: ApiRequest) -> ApiAnswer:
        kept = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = {"host": HOST, "cookie": kept, **asked.headers}
        whole = ApiRequest(asked.method, asked.path, asked.query, asked.content, headers)

        async def pages(scope: Any, receive: Any, send: Any) -> None:
            more = {"sender": self.sender} if self.sender else {}
            await self.pages({**scope, "scheme": self.scheme, **more}, receive, send)

        answer = await ask(pages, whole, client=self.client)
        assert not INNARDS.search(answer.content), answer.content
        for given in answer.headers.get("set-cookie", "").split(", "):
            name, _, value = given.partition(";")[0].partition("=")
            self.cookies[name] = value
            if not given or "Max-Age=0" in given:
                del self.cookies[name]
        return answer


def unmarked(content: bytes) -> bytes:
    """A page without the value of its forms, which is another one for each who asks."""
    return MARKED.sub(b"", content)


def multipart(data: bytes, file: str, fields: dict[str, str]) -> bytes:
    """A form as browsers write it: its fields, then its file."""
    head = "--{}\r\nContent-Disposition: form-data; name="
    parts = [f'{head}"{name}"\r\n\r\n{value}\r\n' for name, value in fields.items()]
    parts.append(f'{head}"file"; filename="{file}"\r\nContent-Type: text/csv\r\n\r\n')
    before = "".join(parts).replace("{}", BOUNDARY).encode()
    return before + data + f"\r\n--{BOUNDARY}--\r\n".encode()


def _split(path: str) -> tuple[str, dict[str, str]]:
    place, _, query = path.partition("?")
    return place, dict(pair.split("=", 1) for pair in query.split("&") if pair)
