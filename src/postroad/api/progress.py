"""Answers to changes of many messages: one at the end, or progress lines for clients that accept
NDJSON."""

from collections.abc import AsyncIterator, Callable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import Struct

from postroad.api.problems import problem
from postroad.api.request import Request, Response, Stream
from postroad.model.errors import PostroadError

NDJSON: Final = "application/x-ndjson"
TELL_S: Final = 0.5
T = TypeVar("T")
S = TypeVar("S", bound=Struct)
Answered = Response[S] | Stream


class ProgressLine(Struct, frozen=True):
    """Reports progress. The last line has `done` or a problem; without either the answer was cut
    off, and what `said` counts is done."""

    done: bool
    said: Any
    problem: Any = None


async def answer_in_steps(
    request: Request, steps: AsyncIterator[T], shown: Callable[[T], S]
) -> "Answered[S]":
    """Answer with the last of the steps, or, as NDJSON, with one every half second."""
    if NDJSON in request.headers.get("accept", ""):
        return Stream(_lines(request, steps, shown), NDJSON)
    last: list[T] = []
    async for step in steps:  # of thousands only the last
        last = [step]
    return Response(shown(*last))


async def _lines(
    request: Request, steps: AsyncIterator[T], shown: Callable[[T], Struct]
) -> AsyncIterator[bytes]:
    clock = request.context.road.store.clock
    said: Struct | None = None
    tell_s = clock.steady_s() + TELL_S
    try:
        async for step in steps:
            said = request.said = shown(step)
            if clock.steady_s() >= tell_s:
                tell_s = clock.steady_s() + TELL_S
                yield _line(ProgressLine(done=False, said=said))
    except PostroadError as error:
        request.problem_status = problem(error).status
        yield _line(ProgressLine(done=False, said=said, problem=problem(error)))
        return
    yield _line(ProgressLine(done=True, said=said))


def _line(line: ProgressLine) -> bytes:
    return msgspec.json.encode(line) + b"\n"
