"""One HTTP request as routes see it, and the answers that they give."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

import msgspec

from postroad.api.problems import BadRequest
from postroad.model.errors import BodyTooLarge
from postroad.model.tokens import Caller
from postroad.stores.window_socket import Peer

if TYPE_CHECKING:
    from postroad.api.context import Context
    from postroad.app import Postroad

JSON: Final = "application/json"
NOBODY: Final = Caller("", frozenset(), "")
T = TypeVar("T")


class Request:
    """A request over ASGI. The body is read when a route asks for it, within the route's limit."""

    who: Caller = NOBODY
    """Whose token it carries; set where the route needs one."""
    body_bytes_max: int
    said: object = None
    """What an answer in pieces said last."""
    problem_status: int = 0
    """The status of a problem that ended an answer in pieces."""

    def __init__(self, scope: Any, receive: Any, context: "Context") -> None:
        self.context = context
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.scheme: str = scope.get("scheme", "http")
        self.raw_path: str = scope["raw_path"].decode("latin-1")
        """As it came, with its escapes: `/` and `%2F` differ."""
        self.query: bytes = scope["query_string"]
        self.client: tuple[str, int] | None = scope.get("client")
        self.sender: str = scope.get("sender", self.client[0] if self.client else "")
        """Where the connection comes from: a proxy, where `client` is whom that names."""
        self.peer: Peer | None = scope.get("peer")
        """The process that asks over the road's window."""
        self.headers: dict[str, str] = {}
        """Values of one name joined (RFC 9110, 5.3), so that nobody can send a second token or
        tenant that only one of two readers sees."""
        for name, value in scope["headers"]:
            key, text = name.decode("latin-1"), value.decode("latin-1")
            self.headers[key] = f"{self.headers[key]}, {text}" if key in self.headers else text
        self.noted: dict[str, str] = {}
        """What a route adds to its line in the audit log."""
        self._receive = receive

    @property
    def road(self) -> "Postroad":
        """The road of the server."""
        return self.context.road

    @property
    def tenant(self) -> str:
        """Whose queues are meant: the token's tenant, or the one that it names."""
        return self.who.tenant

    @property
    def content_length(self) -> int:
        """The announced size of the body; 0 when it comes in chunks."""
        text = self.headers.get("content-length", "")
        return int(text[:20]) if text.isdecimal() else 0  # Python refuses 4,301 digits

    async def stream(self) -> AsyncIterator[bytes]:
        """Yield the body in pieces as they arrive."""
        if self.content_length > self.body_bytes_max:
            raise self._too_large()
        size, more = 0, True
        while more:
            event = await self._receive()
            if event["type"] == "http.disconnect":
                raise BadRequest("the request broke off before its end")
            piece: bytes = event.get("body", b"")
            size, more = size + len(piece), event.get("more_body", False)
            if size > self.body_bytes_max:
                raise self._too_large()
            yield piece

    async def body(self) -> bytes:
        """Read the whole body."""
        return b"".join([piece async for piece in self.stream()])

    async def disconnected(self) -> None:
        """Wait until the client is gone."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    def _too_large(self) -> BodyTooLarge:
        return BodyTooLarge(
            f"the request has more than {self.body_bytes_max} bytes: send less at once"
        )


class Response(Generic[T]):
    """An answer that is known as a whole. Bytes are sent as they are, everything else as JSON."""

    def __init__(
        self,
        content: T,
        status: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str = JSON,
        cookies: tuple[str, ...] = (),
    ) -> None:
        self.status = status
        self.cookies = cookies
        self.content = content
        given = b"" if content is None else content
        self._data = given if isinstance(given, bytes) else msgspec.json.encode(given)
        self.headers = dict(headers or {})
        if status != 204:
            self.headers |= {"content-type": media_type, "content-length": str(len(self._data))}

    async def send(self, request: Request, send: Any) -> None:
        """Write it; to HEAD without its body."""
        await send(head(self.status, self.headers, self.cookies))
        data = b"" if request.method == "HEAD" else self._data
        await send({"type": "http.response.body", "body": data})


class Stream:
    """An answer in pieces, ended early when the client goes away. `ended` is called with its
    status, if it is set."""

    ended: "Callable[[int], Awaitable[None]] | None" = None

    def __init__(self, pieces: AsyncIterator[bytes], media_type: str) -> None:
        self.status = 200
        self.pieces = pieces
        self.headers = {"content-type": media_type}


def head(status: int, headers: Mapping[str, str], cookies: tuple[str, ...] = ()) -> dict[str, Any]:
    """The first event of an answer. Each cookie has a header of its own: they cannot be joined."""
    given = [*headers.items(), *(("set-cookie", each) for each in cookies)]
    pairs = [(name.encode("latin-1"), text.encode("latin-1")) for name, text in given]
    return {"type": "http.response.start", "status": status, "headers": pairs}
