"""Sending and getting by plain HTTP, for clients that keep no connection."""

import asyncio
import re
from typing import Any, Final
from urllib.parse import parse_qs, unquote

import h11
import msgspec

from postroad.hub.commands import Commands
from postroad.hub.deadlines import ConnectionDeadlines, CountWrongTokens
from postroad.hub.frames import message
from postroad.hub.pump import Hub
from postroad.hub.state import LongPoll
from postroad.model.cors import Cors
from postroad.model.mailbox import (
    DENIED,
    Answer,
    Full,
    Get,
    Heads,
    Posted,
    RefusalCode,
    Refused,
    Take,
    Taken,
    digest,
)
from postroad.model.problem import PREFIX, Problem

HEAD_BYTES_MAX: Final = 16 * 1024
HEAD_END: Final = re.compile(rb"\n\r?\n")
BLANKS: Final = b" " * 128
NAME_CHARACTERS_MAX: Final = 64
STATUS: Final = {
    RefusalCode.denied: 403,
    RefusalCode.wrong_id: 409,
    RefusalCode.unavailable: 503,
    RefusalCode.too_large: 413,
    RefusalCode.malformed: 400,
}
FAILED: Final = {408: "too_slow", 413: RefusalCode.too_large, 429: RefusalCode.too_many}
"""Words for what ends a connection."""
PROBLEM: Final = "application/problem+json"
TOO_MANY_WRONG: Final = "too many wrong tokens from your address: wait a minute"
METHODS: Final = "DELETE, GET, OPTIONS, POST"
NO_PAGES: Final = Cors(())


class HttpProtocol(asyncio.Protocol):
    """One HTTP/1.1 connection. It serves one request after the other."""

    def __init__(
        self,
        hub: Hub,
        commands: Commands,
        deadlines: ConnectionDeadlines,
        wrong: CountWrongTokens,
        cors: Cors = NO_PAGES,
    ) -> None:
        self._hub = hub
        self._commands = commands
        self._deadlines = deadlines
        self._wrong = wrong
        self._cors = cors
        self._wire = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD_BYTES_MAX)
        self._request: h11.Request | None = None
        self._body = bytearray()
        self._pieces = 0
        self._busy = False
        self._ahead = 0
        """Bytes that came while a request is being answered."""
        self._waiter: LongPoll | None = None
        self._transport: asyncio.Transport | None = None
        self._leaving: asyncio.Transport | None = None
        """Closed, when the other side has taken what was written before."""
        self._full = False
        """The other side does not take its answers."""

    def begin(self, transport: asyncio.Transport) -> None:
        """Take over the connection."""
        self._transport = transport
        self._deadlines.set_deadline(self, self._hub.limits.request_s)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The connection ended: its long poll is given up."""
        self._transport = self._leaving = None
        self._deadlines.set_deadline(self, None)
        if self._waiter is not None:
            self._hub.core.give_up(self._waiter)

    def data_received(self, data: bytes) -> None:
        """Read a piece of a request."""
        self._ahead = self._ahead + len(data) if self._busy or self._full else 0
        if self._ahead > self._hub.limits.body_bytes_max:
            self.fail(429, "wait for the answer before you ask for more")
            return
        try:
            self._wire.receive_data(data)
        except h11.RemoteProtocolError as error:
            self.fail(error.error_status_hint, str(error))
        else:
            self._go_on()

    def pause_writing(self) -> None:
        """The client does not read its answers: no more of its requests are read."""
        self._full = True
        self._deadlines.set_deadline(self, self._hub.limits.stall_s)

    def resume_writing(self) -> None:
        """The client reads again."""
        self._full = False
        if self._transport is not None and not self._busy:
            self._deadlines.set_deadline(self, self._hub.limits.request_s)
            self._go_on()

    def deadline_passed(self) -> None:
        """The request did not arrive in time, or its answer was not read."""
        if self._leaving is not None:
            self._leaving.abort()
            return
        if self._transport is not None and self._transport.get_write_buffer_size():
            self._transport.abort()  # closing would wait for it for ever
            self._transport = None
            return
        if self._wire.their_state is h11.IDLE and not self._wire.trailing_data[0]:
            self._close()  # between two requests: nobody waits for a word
            return
        self.fail(408, "the request took too long")

    def _read(self) -> None:
        while not self._busy and not self._full and self._transport is not None:
            event = self._next()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                return
            if isinstance(event, h11.Request):
                self._request, self._body, self._pieces = event, bytearray(), 0
                if _is_double(event):
                    self.fail(400, "a length and chunks as well: which of them counts?")
                    return
            elif isinstance(event, h11.Data):
                self._body += event.data
                self._pieces += event.chunk_start
                if self._is_too_large():
                    return
            elif isinstance(event, h11.EndOfMessage) and self._request is not None:
                self._busy = True
                self._deadlines.set_deadline(self, None)
                self.serve(self._request, bytes(self._body))
            elif isinstance(event, h11.ConnectionClosed):
                self._close()
                return

    def _next(self) -> Any:
        """Parse the next event. h11's pattern for headers is quadratic in blanks: 16 KiB of them
        took 0.8 s."""
        if self._wire.their_state is h11.IDLE:
            held = self._wire.trailing_data[0]
            end = HEAD_END.search(held)
            if end and BLANKS in held[: end.start()].replace(b"\t", b" "):
                raise h11.RemoteProtocolError("a header has too many blanks in a row")
        return self._wire.next_event()

    def _is_too_large(self) -> bool:
        limits = self._hub.limits
        if len(self._body) > limits.body_bytes_max:
            self.fail(413, f"a body has {limits.body_bytes_max} bytes at most")
        elif self._pieces > limits.pieces_max:
            self.fail(413, f"a body comes in {limits.pieces_max} chunks at most")
        return self._transport is None

    def serve(self, request: h11.Request, body: bytes) -> None:
        """Answer a request."""
        path, _, query = request.target.decode("ascii", "replace").partition("?")
        headers = _headers(request)
        match [unquote(part) for part in path.split("/")], request.method:
            case ["", "healthz"], b"GET":
                self._reply(200, {"status": "ok"})
            case _, b"OPTIONS":
                self._reply(204, None, **self._cors.preflight(headers, METHODS))
            case ["", "v1", "mailboxes", box, *_], _ if not _is_name(box):
                self._refuse(DENIED)
            case ["", "v1", "mailboxes", box, "messages"], b"POST":
                self._send(box, headers, body)
            case ["", "v1", "mailboxes", box, "messages"], b"GET":
                self._get(box, headers, parse_qs(query))
            case ["", "v1", "mailboxes", box, "messages", number], b"DELETE":
                self._ack(box, headers, number)
            case _:
                self._problem(404, "not_found", "no such address here")
        self._hub.wake()

    def _send(self, box: str, headers: dict[str, str], body: bytes) -> None:
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        text = kind.startswith("text/") or kind == "application/json"
        if text and not _is_text(body):
            self._refuse(
                Refused(RefusalCode.malformed, f"the body is not UTF-8, but said to be {kind}")
            )
            return

        def done(answer: Answer) -> None:
            if isinstance(answer, Posted):
                self._reply(201, {"id": answer.letter.position})
            elif isinstance(answer, Full):
                text = "the mailbox takes nothing until it is empty"
                self._problem(429, "quota", text)
            elif isinstance(answer, Refused):
                self._refuse(answer)

        post = self._commands.post(box, _token(headers), body, text=text)
        self._hub.core.send(None, post, done)

    def _get(self, box: str, headers: dict[str, str], query: dict[str, list[str]]) -> None:
        wait = query.get("wait", ["0"])[0]
        if not wait.isascii() or not wait.isdigit() or len(wait) > 4:
            self._refuse(Refused(RefusalCode.malformed, "wait is a number of seconds"))
            return

        def done(answer: Answer) -> None:
            self._waiter = None
            if isinstance(answer, Refused):
                self._refuse(answer)
            elif isinstance(answer, Heads):
                letter = answer.letters[0]
                self._reply(204 if letter is None else 200, letter and message(box, letter))

        get = Get(box, digest(_token(headers)))
        self._waiter = self._hub.core.get(None, get, float(wait), done)

    def _ack(self, box: str, headers: dict[str, str], number: str) -> None:
        if not number.isascii() or not number.isdigit() or len(number) > 18:
            self._refuse(Refused(RefusalCode.malformed, "an id is a number"))
            return

        def done(answer: Answer) -> None:
            if isinstance(answer, Taken):
                self._reply(200, {"acked": int(number)})
            elif isinstance(answer, Refused):
                self._refuse(answer)

        take = Take(box, int(number), digest(_token(headers)))
        self._hub.core.take(take, done)

    def _refuse(self, refused: Refused) -> None:
        if refused.code is RefusalCode.denied and self._wrong(1):
            self.fail(429, TOO_MANY_WRONG)
            return
        self._problem(STATUS.get(refused.code, 400), refused.code, refused.text)

    def _problem(self, status: int, code: str, text: str) -> None:
        self._reply(status, problem(status, code, text), PROBLEM)

    def _reply(
        self, status: int, content: object, media_type: str = "application/json", **more: str
    ) -> None:
        if self._transport is None:
            return
        payload = b"" if content is None else msgspec.json.encode(content)
        headers = self._cors.headers(self._origin()) | more
        if status != 204:
            headers |= {"content-type": media_type, "content-length": str(len(payload))}
        self._say(h11.Response(status_code=status, headers=[*headers.items()]), payload)
        self._busy = False
        if self._wire.our_state is h11.MUST_CLOSE:
            self._close()
            return
        self._wire.start_next_cycle()
        if not self._full:
            self._deadlines.set_deadline(self, self._hub.limits.request_s)
        if self._wire.trailing_data[0]:
            asyncio.get_running_loop().call_soon(self._go_on)

    def _origin(self) -> str | None:
        return None if self._request is None else _headers(self._request).get("origin")

    def _go_on(self) -> None:
        """Handle what has arrived."""
        try:
            self._read()
        except h11.RemoteProtocolError as error:
            self.fail(error.error_status_hint, str(error))

    def _say(self, head: h11.Response, payload: bytes) -> None:
        events: list[Any] = [head, h11.Data(data=payload), h11.EndOfMessage()]
        parts = [self._wire.send(event) or b"" for event in events]
        if self._transport is not None:
            self._transport.write(b"".join(parts))

    def fail(self, status: int, text: str) -> None:
        """Answer with an error if an answer is still possible, and close."""
        if self._transport is None:
            return
        if self._wire.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            payload = msgspec.json.encode(problem(status, FAILED.get(status, "malformed"), text))
            headers = {"content-type": PROBLEM, "content-length": str(len(payload))}
            headers |= {"connection": "close", **self._cors.headers(self._origin())}
            self._say(h11.Response(status_code=status, headers=[*headers.items()]), payload)
        self._close()

    def _close(self) -> None:
        """Close the connection when the client has read what was written, or after a time."""
        transport, self._transport = self._transport, None
        if transport is None:
            return
        transport.close()
        if transport.get_write_buffer_size():
            self._leaving = transport
            self._deadlines.set_deadline(self, self._hub.limits.stall_s)


def problem(status: int, code: str, text: str) -> Problem:
    """An error as the API writes them; `code` is the word that error frames have."""
    kind = PREFIX + code.replace("_", "-")
    return Problem(kind, code.replace("_", " ").capitalize(), status, text)


def _is_double(request: h11.Request) -> bool:
    """Whether the request gives its length in two ways: a proxy before us may have believed the
    other."""
    names = {name for name, _ in request.headers}
    return b"content-length" in names and b"transfer-encoding" in names


def _headers(request: h11.Request) -> dict[str, str]:
    return {name.decode(): value.decode("latin-1") for name, value in request.headers}


def _token(headers: dict[str, str]) -> str:
    kind, _, token = headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def _is_name(box: str) -> bool:
    return box.isascii() and box.isprintable() and len(box) <= NAME_CHARACTERS_MAX


def _is_text(body: bytes) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True
