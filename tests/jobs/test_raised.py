"""Whatever a handler raises is the outcome of its try, and ends no engine: the next process would
get the same message, and end, too."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from postroad import Message, Postroad
from tests.jobs.conftest import Within


class Stranger(BaseException):
    """No Exception, as those of some test and actor libraries."""

    def __repr__(self) -> str:
        raise RuntimeError


async def awaits_a_cancelled_task() -> None:
    task = asyncio.ensure_future(asyncio.sleep(3600))
    task.cancel()
    await task


def exits() -> None:
    raise SystemExit(3)


def stranger() -> None:
    raise Stranger("hm")


def stop_iteration() -> None:
    next(iter(()))


def generator_exit() -> None:
    raise GeneratorExit


RAISE: dict[str, tuple[Callable[[], None], str]] = {
    "exit": (exits, "RuntimeError: the handler raised SystemExit(3)"),
    "generator": (generator_exit, "RuntimeError: the handler raised GeneratorExit()"),
    "stranger": (stranger, "RuntimeError: the handler raised Stranger: hm"),
}
AWAITED = "RuntimeError: the handler awaited a task that was cancelled"


def story(road: Postroad, within: Within, *queues: str) -> list[str]:
    """What each try ended with. A later message is delivered in the same run."""

    @road.handler("later")
    async def later(_message: Message[object]) -> None: ...

    async def run() -> list[str]:
        async with road:
            sent = [await road.send(queue, 1) for queue in queues]
            last = await road.send("later", 1)
            await road.run(until_idle=True)
            assert (await road.explain(last.id)).state == "delivered"
            return [(await road.explain(one.id)).tries[-1].error for one in sent]

    answer: list[str] = within(run())
    return answer


@pytest.mark.parametrize("kind", list(RAISE))
def test_a_coroutine_that_raises_no_exception_has_failed(
    road: Postroad, within: Within, kind: str
) -> None:
    raises, error = RAISE[kind]

    @road.handler("alone", retries=0)
    async def alone(_message: Message[object]) -> None:
        raises()

    @road.handler("many", retries=0, batch=1)
    async def many(_messages: list[Message[object]]) -> None:
        raises()

    @road.handler("thread", retries=0)
    def thread(_message: Message[object]) -> None:
        raises()

    assert story(road, within, "alone", "many", "thread") == [error] * 3


def test_a_coroutine_that_awaits_a_cancelled_task_has_failed(
    road: Postroad, within: Within
) -> None:
    """Nobody has stopped it: it is tried again as after any failure, with a reason."""

    @road.handler("alone", retries=0)
    async def alone(_message: Message[object]) -> None:
        await awaits_a_cancelled_task()

    assert story(road, within, "alone") == [AWAITED]


def test_a_hook_that_raises_no_exception_fails_the_try(road: Postroad, within: Within) -> None:
    @road.around
    @asynccontextmanager
    async def hook(message: Message[object]) -> AsyncIterator[None]:
        if message.body == 1 and kind_of[message.id]:
            raise Stranger("a hook")
        yield

    kind_of: dict[str, bool] = {}

    @road.handler("alone", retries=0)
    async def alone(_message: Message[object]) -> None: ...

    async def run() -> str:
        async with road:
            sent = await road.send("alone", 1)
            kind_of[sent.id] = True
            await road.run(until_idle=True)
            return (await road.explain(sent.id)).tries[-1].error

    assert within(run()) == "RuntimeError: the handler raised Stranger: a hook"


def test_a_thread_that_ends_an_iterator_has_failed_at_once(road: Postroad, within: Within) -> None:
    """A future takes no StopIteration: the try stood still until its timeout."""

    @road.handler("thread", retries=0, timeout=100)
    def thread(_message: Message[object]) -> None:
        stop_iteration()

    assert story(road, within, "thread") == ["RuntimeError: the handler raised StopIteration()"]
