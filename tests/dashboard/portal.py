"""What the tests of the portal share: a stand with the token of a link, sites that embed it, and
servers that get its webhooks."""

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from postroad.config import Settings
from postroad.model.webhook import WebhookRules
from postroad.remote.api_request import ApiAnswer
from tests.dashboard.stand import PageStand

LOCAL = WebhookRules(http=True, allow=("127.0.0.0/8",), ports=())
OPEN = Settings(webhooks=LOCAL)


class Visitor:
    """Whoever opened a link: `await visitor.page("endpoints")`, `await visitor.do("again", …)`."""

    def __init__(self, stand: PageStand, path: str) -> None:
        self._stand = stand
        self.base, _, self.code = path.partition("#")
        self.token = ""

    async def open(self) -> ApiAnswer:
        said = await self._stand.say("POST", "/v1/portal-sessions", {"code": self.code}, token="")
        if said.status == 201:
            self.token = said.json()["secret"]
        return said

    async def page(self, path: str) -> ApiAnswer:
        return await self._stand.get(f"{self.base}/pages/{path}", self._headers())

    async def do(self, name: str, **fields: str) -> Any:
        answer = await self._stand.post(f"{self.base}/do/{name}", self._headers(), **fields)
        assert answer.status == 200, answer.content
        return answer.json()

    async def say(self, method: str, path: str, data: object = None, **more: Any) -> ApiAnswer:
        """Ask the API itself with the token of the link."""
        return await self._stand.say(method, path, data, token=self.token, **more)

    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.token}"} if self.token else {}


async def visit(stand: PageStand, tenant: str = "acme", **options: Any) -> Visitor:
    made = await stand.say("POST", "/v1/portal-links", {"tenant": tenant, **options})
    assert made.status == 201, made.content
    visitor = Visitor(stand, made.json()["path"])
    assert (await visitor.open()).status == 201
    return visitor


class EmbeddingSite:
    """A page of another site that has the portal in a frame."""

    frame = ""

    def __init__(self, port: int) -> None:
        self.origin = f"http://localhost:{port}"
        """As people open it. A road on 127.0.0.1 is another site for a browser, not only another
        origin: it sends no cookie that is of the same site alone."""
        self.near = f"http://127.0.0.1:{port}"
        """The same on the road's site. Webhooks go here."""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        site: EmbeddingSite = self.server.site  # type: ignore[attr-defined]
        text = '<!doctype html><html lang="en"><title>Shop</title><main><h1>Shop</h1><iframe '
        text += f'title="Webhooks" width="900" height="700" src="{site.frame}"></iframe></main>'
        self._answer(200, text.encode(), "text/html")

    def do_POST(self) -> None:
        _ = self.rfile.read(int(self.headers.get("content-length", "0")))
        found = re.search(r"/(\d\d\d)", self.path)
        self._answer(int(found[1]) if found else 200, b"<script>alert(1)</script>", "text/plain")

    def _answer(self, status: int, data: bytes, media: str) -> None:
        self.send_response(status)
        self.send_header("content-type", media)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def embedding_site() -> Iterator[EmbeddingSite]:
    """It also takes webhooks, and answers each with the status that its path names."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    site = EmbeddingSite(server.server_address[1])
    server.site = site  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
