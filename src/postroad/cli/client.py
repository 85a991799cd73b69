"""How a command reaches the road: over HTTP to a named server, by the window of the process that
owns the SQLite file, or by opening the store itself. It makes the same requests in each case."""

import asyncio
import http.client
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Self
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct, structs

from postroad.api.in_process import ASGI, ask
from postroad.api.progress import NDJSON
from postroad.config import Settings
from postroad.model.entities import DEFAULT_TENANT
from postroad.model.errors import BadInput, RoadInUse, StoreUnavailable
from postroad.model.problem import Problem
from postroad.model.texts import is_whole
from postroad.model.tokens import Caller
from postroad.ports.clock import SystemClock
from postroad.ports.tls import trusting_tls
from postroad.remote.api_request import ApiAnswer, ApiRequest, part
from postroad.stores.naming import file_of, shown
from postroad.stores.opening import has_road, open_to_look
from postroad.stores.window_socket import connect, is_open, user_of

if TYPE_CHECKING:
    from postroad.api.audit import AuditTrail
    from postroad.app import Postroad
    from postroad.campaigns.importing import Progress
    from postroad.ports.store import Store

TIMEOUT_S: Final = 60.0
STARTING_S: Final = 5.0
"""How long a command waits for a process that holds the file and has no window yet."""
STARTING_PAUSE_S: Final = 0.1
UPLOAD_S: Final = 1_800.0
DOUBT: Final = (
    ". The request may have been carried out, or may still be: check before you repeat it"
)
NO_TEXT: Final = "the input is not UTF-8: give text"
CHUNK_BYTES: Final = 1 << 18
Query = Mapping[str, object] | None
Dial = Callable[[], tuple[http.client.HTTPConnection, str]]
"""Makes a connection, and names the path that all addresses there begin with."""
EXITS: Final = {409: 1, 429: 3, 503: 3}


class RequestRefused(Exception):
    """The road refused a request; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


def exit_code(status: int) -> int:
    """The exit code for a problem: 1 failed, 2 bad input, 3 unavailable."""
    return EXITS.get(status, 2 if status < 500 else 1)


class RoadClient:
    """A client of the road, open inside `with`."""

    looks = False
    """Whether it only reads: then a road's file that it opens itself stays as it is."""

    def __init__(
        self, settings: Settings, server: str, token: str, tenant: str, ca_file: str = ""
    ) -> None:
        self._settings = settings
        self._tenant = tenant
        self._server, self._token = server.rstrip("/"), token
        self._runner: asyncio.Runner | None = None
        self._road: Postroad | None = None
        self._looked_at: Store | None = None
        self._dial: Dial = partial(_dialled, self._server, ca_file)
        self._ask: Callable[[ApiRequest], ApiAnswer] = self._over_http
        self._app: ASGI | None = None
        self._audit: AuditTrail | None = None

    def __enter__(self) -> Self:
        try:
            if not self._server:
                self._reach_store()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._runner is not None:
            if self._road is not None:
                self._runner.run(self._road.__aexit__(None, None, None))
            if self._looked_at is not None:
                self._runner.run(self._looked_at.close())
            self._runner.close()

    def ask(self, method: str, path: str, query: Query = None, data: object = None) -> Any:
        """Make a request and return the answer's data. `data` is sent as JSON, bytes as they are.
        Raises RequestRefused when the answer is a problem."""
        content = data if isinstance(data, bytes) else b""
        if data is not None and not isinstance(data, bytes):
            content = _json(data)
        answer = self.answer(ApiRequest(method, path, query or {}, content))
        try:
            return answer.json() if answer.content else None
        except msgspec.DecodeError:
            raise StoreUnavailable(f"{self._server} answers, but not as Postroad does") from None

    def answer(self, asked: ApiRequest, *, taken: tuple[int, ...] = ()) -> ApiAnswer:
        """Make a request and return the whole answer. A problem raises RequestRefused, unless its
        status is among `taken`."""
        answer = self._ask(self._signed(asked))
        return answer if answer.status in taken else _good(answer)

    def follow(self, path: str, data: object, told: Callable[[Any], None]) -> Any:
        """Change many messages. `told` is called with the progress; returns the final answer."""
        headers = {"accept": NDJSON}
        asked = self._signed(ApiRequest("POST", path, {}, _json(data), headers))
        reader = ProgressReader(told)
        if self._app is not None and self._runner is not None:
            _ = _good(self._runner.run(ask(self._app, asked, reader.hear)))  # it was heard
            return reader.said()
        with self._reply(asked) as reply:
            if reply.status >= 400:
                _ = _good(_read(reply))  # a refusal is raised
            for line in reply:
                reader.hear(line)
        return reader.said()

    def pour(self, path: str, data: object, take: Callable[[bytes], None]) -> None:
        """Make a request whose answer may be too large for memory: `take` gets its pieces."""
        asked = self._signed(ApiRequest("POST", path, {}, _json(data)))
        if self._app is not None and self._runner is not None:
            _ = _good(self._runner.run(ask(self._app, asked, take)))  # a refusal is raised
            return
        with self._reply(asked) as reply:
            if reply.status >= 400:
                _ = _good(_read(reply))  # a refusal is raised
            while piece := reply.read(CHUNK_BYTES):
                take(piece)

    def import_file(self, what: "FileImport", path: Path, told: "Progress") -> Any:
        """Import a file: it is streamed to a server, or read here. `told` gets the progress."""
        if self._road is not None and self._runner is not None and self._audit is not None:
            who = Caller(self._tenant, frozenset(), "local", name=user_of(os.geteuid()))
            work = what.here(self._road, self._tenant)
            noted = self._audit.around(who, what.verb, what.noted, work)
            return msgspec.to_builtins(self._runner.run(noted))
        headers = {"content-type": "text/csv"}
        query = {**what.query, "file": path.name}
        asked = ApiRequest("POST", what.route, query, b"", headers)
        size = path.stat().st_size
        with path.open("rb") as file:
            parts = UploadedFile(file, size, lambda done: told("send", done, size))
            return _good(self._over_http(self._signed(asked), parts)).json()

    def export(self, name: str, form: str, state: str) -> Iterator[bytes]:
        """All results of a campaign, in pieces: they may be too many for memory."""
        if self._road is not None and self._runner is not None:
            verb = self._road.campaigns.export
            pieces = aiter(verb(name, form, state=state, tenant=self._tenant))
            while text := self._runner.run(_next(pieces)):
                yield text.encode()
            return
        path = f"/v1/campaigns/{part(name)}/export"
        asked = self._signed(ApiRequest("GET", path, {"format": form, "state": state}))
        with self._reply(asked) as reply:
            if reply.status >= 400:
                _ = _good(_read(reply))  # a refusal is raised
            while piece := reply.read(CHUNK_BYTES):
                yield piece

    def _signed(self, asked: ApiRequest) -> ApiRequest:
        if not all(is_whole(text) for text in asked.query.values() if isinstance(text, str)):
            raise BadInput(NO_TEXT)
        return structs.replace(asked, headers={**self._access(), **asked.headers})

    def _access(self) -> dict[str, str]:
        """The headers with token and tenant."""
        for name, text in (("token", self._token), ("tenant", self._tenant)):
            if not text.isascii() or not text.isprintable():
                raise BadInput(f"the {name} has characters that no {name} has: copy it again")
        given = {"authorization": f"Bearer {self._token}"}
        if self._tenant != DEFAULT_TENANT:
            given["postroad-tenant"] = self._tenant
        if self._road is not None:
            given["postroad-user"] = user_of(os.geteuid())
        return given

    def _reach_store(self) -> None:
        """Ask the process that owns the file, or open the store. One that is just starting opens
        its window within moments."""
        clock = SystemClock()
        until_s = clock.steady_s() + STARTING_S
        while not self._find_owner():
            try:
                return self._open_store()
            except RoadInUse as error:
                if clock.steady_s() >= until_s:
                    why = "its window is closed: it has Settings(window=False), or hangs"
                    raise RoadInUse(f"{error}; {why}") from None
                asyncio.run(clock.sleep(STARTING_PAUSE_S))
        return None

    def _find_owner(self) -> bool:
        """Look whether a process owns the file and answers at its window."""
        dsn = self._settings.dsn
        if not is_open(dsn, TIMEOUT_S):
            return False
        self._dial = lambda: (WindowConnection(dsn), "")
        self._server = f"the process that owns {file_of(dsn)}"
        return True

    def _open_store(self) -> None:
        from postroad.api.app import Application  # engine and web framework take a second to load
        from postroad.api.context import Context
        from postroad.app import Postroad
        from postroad.verbs.parts import Parts

        settings = structs.replace(self._settings, log_level="warning", window=False)
        runner = self._runner = self._runner or asyncio.Runner()
        if not runner.run(has_road(settings.dsn)):  # who only asks must not make one
            name = shown(settings.dsn).removeprefix("sqlite:///")
            raise BadInput(
                f"there is no road at {name}: start one with `postroad up`, or name one with --dsn"
            )
        store = open_to_look(settings.dsn, SystemClock()) if self.looks else None
        if store is not None:
            runner.run(store.open())
            self._looked_at = store
        road = Postroad(settings.dsn, settings=settings, parts=Parts(store=store))
        _ = runner.run(road.__aenter__())  # it answers itself
        self._road = road
        context = Context(road, settings, road.log)
        app = self._app = Application(context)
        self._token, self._audit = context.access.local, context.audit
        self._ask = lambda asked: runner.run(ask(app, asked))

    def _over_http(self, asked: ApiRequest, file: "UploadedFile | None" = None) -> ApiAnswer:
        with self._reply(asked, file) as reply:
            return _read(reply)

    @contextmanager
    def _reply(
        self, asked: ApiRequest, file: "UploadedFile | None" = None
    ) -> Iterator[http.client.HTTPResponse]:
        connection, base = self._dial()
        doubt = ""
        try:
            query = f"?{asked.query_text}" if asked.query_text else ""
            headers = {"content-type": "application/json", **asked.headers}
            if file is not None:
                headers["content-length"] = str(file.size)
                connection.timeout = UPLOAD_S
            body = asked.content if file is None else file.chunks()
            connection.request(asked.method, base + asked.path + query, body, headers)
            doubt = "" if asked.method == "GET" else DOUBT
            yield connection.getresponse()
        except (OSError, http.client.HTTPException, UnicodeError) as error:
            late = f" in {connection.timeout:g} s" if isinstance(error, TimeoutError) else ""
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                doubt = ". Name the certificate that vouches for it: --ca-file FILE"
            raise StoreUnavailable(f"no answer from {self._server}{late}: {error}{doubt}") from None
        finally:
            connection.close()


def _json(data: object) -> bytes:
    try:
        return msgspec.json.encode(data)
    except UnicodeEncodeError:  # bytes of a command line that are no text came in as halves
        raise BadInput(NO_TEXT) from None


class WindowConnection(http.client.HTTPConnection):
    """A connection to the process that owns a road's file."""

    def __init__(self, dsn: str) -> None:
        super().__init__("localhost", timeout=TIMEOUT_S)
        self._dsn = dsn

    def connect(self) -> None:
        """Connect to its window."""
        self.sock = connect(self._dsn, self.timeout or TIMEOUT_S)


def _dialled(server: str, ca_file: str) -> tuple[http.client.HTTPConnection, str]:
    """A connection to a server, and the path that all addresses there begin with."""
    shown = f"…{server[server.rindex('@') :]}" if "@" in server else server
    bad = BadInput(f"server {shown!r}: give an address like http://127.0.0.1:8600")
    try:
        parts = urlsplit(server)
        host, port = parts.hostname, parts.port
        if not host or parts.scheme not in ("http", "https"):
            raise bad
        if "@" in parts.netloc or parts.query or parts.fragment:
            raise bad  # it would be left out silently
        if parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=TIMEOUT_S), parts.path
        secure = trusting_tls(ca_file)
        connection = http.client.HTTPSConnection(host, port, timeout=TIMEOUT_S, context=secure)
    except (ValueError, http.client.InvalidURL):
        raise bad from None
    return connection, parts.path


class FileImport(Struct, frozen=True):
    """How a file is imported: the route and its parameters, and what does it on an open road, with
    the name and the facts of its line in the audit log."""

    route: str
    query: dict[str, Any]
    here: "Callable[[Postroad, str], Awaitable[object]]"
    verb: str
    noted: dict[str, str]


class UploadedFile:
    """A file that is uploaded in pieces: the `size` that it had at the beginning. `told` is called
    with the bytes sent so far."""

    def __init__(self, file: IO[bytes], size: int, told: Callable[[int], None]) -> None:
        self._file = file
        self.size = size
        self._told = told

    def chunks(self) -> Iterator[bytes]:
        """Read the pieces."""
        done = 0
        while piece := self._file.read(min(CHUNK_BYTES, self.size - done)):
            yield piece
            done += len(piece)
            self._told(done)
        if done < self.size:
            raise BadInput("the file became shorter while it was sent: send it again")


class ProgressReader:
    """Reads an answer whose lines report progress."""

    def __init__(self, told: Callable[[Any], None]) -> None:
        self._told = told
        self._last: dict[str, Any] = {}

    def hear(self, piece: bytes) -> None:
        """Take the next lines."""
        for line in piece.splitlines():
            self._last = msgspec.json.decode(line)
            if self._last.get("said") is not None:
                self._told(self._last["said"])

    def said(self) -> Any:
        """The final line; RequestRefused if that is a problem."""
        if self._last.get("problem"):
            raise RequestRefused(msgspec.convert(self._last["problem"], Problem))
        if not self._last.get("done"):
            raise StoreUnavailable(f"the answer was cut off{DOUBT}")
        return self._last["said"]


async def _next(pieces: AsyncIterator[str]) -> str:
    return await anext(pieces, "")


def _read(reply: http.client.HTTPResponse) -> ApiAnswer:
    names = {name.lower(): text for name, text in reply.getheaders()}
    return ApiAnswer(reply.status, names, reply.read())


def _good(answer: ApiAnswer) -> ApiAnswer:
    if answer.status >= 400:
        raise RequestRefused(_problem(answer))
    return answer


def _problem(answer: ApiAnswer) -> Problem:
    try:
        return msgspec.json.decode(answer.content, type=Problem)
    except msgspec.MsgspecError:
        detail = f"the server answered {answer.status}, but not as Postroad does"
        return Problem("about:blank", "Not a Postroad", answer.status, detail)
