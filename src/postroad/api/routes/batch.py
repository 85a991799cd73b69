"""Many messages in one request: a line of JSON each, a line of answer each."""

import re
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from postroad.api.context import Context
from postroad.api.problems import BadRequest, problem
from postroad.api.progress import NDJSON
from postroad.api.reading import decode
from postroad.api.request import Request, Stream
from postroad.api.routes.messages import SEND, SendRequest, to_send
from postroad.api.routing import give
from postroad.engine.drafting import Send
from postroad.model.errors import BodyTooLarge, Overloaded, PostroadError
from postroad.model.problem import Problem
from postroad.model.tokens import Scope
from postroad.ports.clock import Clock
from postroad.verbs.receipts import Receipt

LINES_MAX: Final = 10_000
"""Lines of one batch; the answer has a line for each."""
FULL: Final = re.compile(rb"\S")
CHUNK: Final = 1_000
"""Messages stored by one transaction: 100 gave 60 % of the pace, 5,000 no more."""
SCAN_BYTES: Final = 128 << 10
"""How many bytes are searched at once: 0.3 ms of empty lines."""
DECODED: Final = 64
"""How many lines are decoded at once, in some 0.5 ms."""


Together = Annotated[
    bool, Meta(description="Store all in one transaction, or none if one of them is bad")
]


class LineAnswer(Struct, frozen=True, omit_defaults=True):
    """The answer to one line: a receipt, or what is wrong with it. Lines count from 1."""

    line: int
    status: int
    id: str = ""
    queue: str = ""
    duplicate: bool = False
    earlier: str = ""
    problem: Problem | None = None


class Summary(Struct, frozen=True):
    """The last line of an answer: without it, the answer was cut off."""

    done: bool
    stored: int
    duplicates: int
    refused: int


@give(
    "/v1/messages:batch",
    scope=Scope.send,
    much=True,
    takes=SendRequest,
    takes_media=NDJSON,
    lines=(LineAnswer, Summary),
    audited=False,
)
async def batch(request: Request, together: Together = False) -> Stream:
    """Send many: each line is a message, and is stored or refused for itself. Answers a line each,
    in order, and then a summary."""
    here, tenant = request.context, request.tenant
    lines = await lines_of(request.stream(), LINES_MAX, here.road.store.clock)
    if len(lines) > LINES_MAX:
        raise BodyTooLarge(f"the batch has more than {LINES_MAX} lines, the limit: send less")
    if together:
        return Stream(_told(await store_together(here, tenant, lines)), media_type=NDJSON)
    return Stream(_answers(here, tenant, lines), media_type=NDJSON)


async def store_together(
    here: Context, tenant: str, lines: Sequence[tuple[int, bytes]]
) -> list[LineAnswer]:
    """Store all in one transaction; if one of them is bad, none is stored, and it is named."""
    sends: list[Send] = []
    for count, (number, line) in enumerate(lines, 1):
        if count % DECODED == 0:
            await here.road.store.clock.sleep(0)  # others have their turn
        try:
            sends.append(to_send(decode(line, SEND), tenant))
        except BadRequest as error:
            raise BadRequest(f"line {number}: {error}", error.fields) from None
    said = await here.admission.store(tenant, len(sends), here.road.send_many(sends))
    here.meter.accepted(sum(not receipt.duplicate for receipt in said))
    return [_line(number, receipt) for (number, _), receipt in zip(lines, said, strict=True)]


async def _told(answers: Sequence[LineAnswer]) -> AsyncIterator[bytes]:
    duplicates = sum(answer.duplicate for answer in answers)
    yield msgspec.json.Encoder().encode_lines(answers)
    yield _summary(len(answers) - duplicates, duplicates, 0)


async def lines_of(
    pieces: AsyncIterable[bytes], most: int, clock: Clock
) -> list[tuple[int, bytes]]:
    """The lines with something in them, each with its number; one more than `most` at the most."""
    lines = Lines(most)
    async for piece in pieces:
        for at in range(0, len(piece), SCAN_BYTES):
            lines.take(piece[at : at + SCAN_BYTES])
            await clock.sleep(0)  # others have their turn
    return lines.end()


class Lines:
    """Lines, as a text comes. Empty ones are stepped over many at a time: 30 MB of them made 30
    million objects, and in one piece held up the loop for 66 ms."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: list[tuple[int, bytes]] = []
        self._number = 1
        self._parts: list[bytes] = []
        """The pieces of a line that has begun."""

    def take(self, text: bytes) -> None:
        """What comes next."""
        at = 0
        while at < len(text) and len(self._found) <= self._most:
            if not self._parts:
                full = FULL.search(text, at)
                begin = full.start() if full else len(text)
                self._number += text.count(b"\n", at, begin)
                at = begin
                if not full:
                    return
            end = text.find(b"\n", at)
            stop = len(text) if end < 0 else end
            self._parts.append(text[at:stop])
            at = stop
            if end >= 0:
                _ = self.end()  # there are more

    def end(self) -> list[tuple[int, bytes]]:
        """The line that has begun is whole; all that were found."""
        if self._parts:
            self._found.append((self._number, b"".join(self._parts)))
            self._parts.clear()
        return self._found


async def _answers(
    here: Context, tenant: str, lines: Sequence[tuple[int, bytes]]
) -> AsyncIterator[bytes]:
    stored = duplicates = refused = 0
    for start in range(0, len(lines), CHUNK):
        answers = await store(here, tenant, lines[start : start + CHUNK])
        duplicates += sum(answer.duplicate for answer in answers)
        refused += sum(answer.problem is not None for answer in answers)
        fresh = sum(answer.problem is None and not answer.duplicate for answer in answers)
        here.meter.accepted(fresh)
        stored += fresh
        yield msgspec.json.Encoder().encode_lines(answers)
    yield _summary(stored, duplicates, refused)


def _summary(stored: int, duplicates: int, refused: int) -> bytes:
    return msgspec.json.encode(Summary(True, stored, duplicates, refused)) + b"\n"


async def store(here: Context, tenant: str, lines: Sequence[tuple[int, bytes]]) -> list[LineAnswer]:
    """Store the good ones in one transaction; an answer for each."""
    sends: dict[int, Send] = {}
    said: dict[int, Receipt | PostroadError] = {}
    for count, (number, line) in enumerate(lines, 1):
        if count % DECODED == 0:
            await here.road.store.clock.sleep(0)  # others have their turn
        try:
            sends[number] = to_send(decode(line, SEND), tenant)
        except PostroadError as error:
            said[number] = error
    try:
        work = here.road.send_each(list(sends.values()))
        answers = await here.admission.store(tenant, len(sends), work)
        said |= zip(sends, answers, strict=True)
    except Overloaded as error:
        said |= dict.fromkeys(sends, error)
    return [_line(number, said[number]) for number, _ in lines]


def _line(number: int, said: Receipt | PostroadError) -> LineAnswer:
    if isinstance(said, Receipt):
        status = 200 if said.duplicate else 201
        return LineAnswer(number, status, said.id, said.queue, said.duplicate, said.earlier)
    told = problem(said)
    return LineAnswer(number, told.status, problem=told)


ROUTES: Final = (batch,)
