"""Many messages in one request: a line of JSON each, a line of answer each."""

import re
from collections.abc import AsyncIterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from postroad.api.context import Context
from postroad.api.problems import Problem, problem
from postroad.api.reading import decode
from postroad.api.request import Request, Stream
from postroad.api.routes.messages import SEND, SendRequest, to_send
from postroad.api.routing import give
from postroad.engine.drafting import Send
from postroad.model.errors import BodyTooLarge, Overloaded, PostroadError
from postroad.model.tokens import Scope
from postroad.verbs.sending import Receipt

NDJSON: Final = "application/x-ndjson"
LINES_MAX: Final = 10_000
"""Lines of one batch; the answer has a line for each."""
FULL: Final = re.compile(rb"\S")
CHUNK: Final = 1_000
"""Messages stored by one transaction: 100 gave 60 % of the pace, 5,000 no more."""


class LineAnswer(Struct, frozen=True, omit_defaults=True):
    """The answer to one line: a receipt, or what is wrong with it. Lines count from 1."""

    line: int
    status: int
    id: str = ""
    queue: str = ""
    duplicate: bool = False
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
    gives_media=(NDJSON,),
)
async def batch(request: Request) -> Stream:
    """Send many: each line is a message, and is stored or refused for itself. Answers a line each,
    in order, and then a summary."""
    here, tenant = request.context, request.tenant
    lines = lines_of(await request.body(), LINES_MAX)
    if len(lines) > LINES_MAX:
        raise BodyTooLarge(f"the batch has more than {LINES_MAX} lines, the limit: send less")
    return Stream(_answers(here, tenant, lines), media_type=NDJSON)


def lines_of(text: bytes, most: int) -> list[tuple[int, bytes]]:
    """The lines with something in them, each with its number; one more than `most` at the most.
    Empty ones are stepped over many at a time: 30 MB of them made 30 million objects."""
    found: list[tuple[int, bytes]] = []
    number, at = 1, 0
    while len(found) <= most and (full := FULL.search(text, at)):
        begin = full.start()
        number += text.count(b"\n", at, begin)
        end = text.find(b"\n", begin)
        at = len(text) if end < 0 else end
        found.append((number, text[begin:at]))
    return found


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
    yield msgspec.json.encode(Summary(True, stored, duplicates, refused)) + b"\n"


async def store(here: Context, tenant: str, lines: Sequence[tuple[int, bytes]]) -> list[LineAnswer]:
    """Store the good ones in one transaction; an answer for each."""
    sends: dict[int, Send] = {}
    said: dict[int, Receipt | PostroadError] = {}
    for number, line in lines:
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
        return LineAnswer(number, status, said.id, said.queue, said.duplicate)
    told = problem(said)
    return LineAnswer(number, told.status, problem=told)


ROUTES: Final = (batch,)
