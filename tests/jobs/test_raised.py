"""Whatever a handler raises is the outcome of its try, and ends no engine: the next process would
get the same message, and end, too."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

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


def own_task() -> "asyncio.Task[object]":
    task = asyncio.current_task()
    assert task is not None
    return task


def exits() -> None:
    raise SystemExit(3)


def stranger() -> None:
    raise Stranger("hm")


def stop_iteration() -> None:
    next(iter(()))


def generator_exit() -> None:
    raise GeneratorExit


def ctrl_c() -> None:
    raise KeyboardInterrupt


RAISE: dict[str, tuple[Callable[[], None], str]] = {
    "exit": (exits, "RuntimeError: the handler raised SystemExit(3)"),
    "generator": (generator_exit, "RuntimeError: the handler raised GeneratorExit()"),
    "keyboard": (ctrl_c, "RuntimeError: the handler raised KeyboardInterrupt()"),
    "stranger": (stranger, "RuntimeError: the handler raised Stranger: hm"),
}
CANCELLED_ITSELF = (
    "the handler's task was cancelled, and not by Postroad: use asyncio.timeout() in the handler, "
    "or the option timeout="
)
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

    @road.handler("provided", retries=0)
    async def provided(_number: int, _logger: logging.Logger) -> None:
        raises()

    assert story(road, within, "alone", "many", "thread", "provided") == [error] * 4


def test_a_coroutine_that_awaits_a_cancelled_task_has_failed(
    road: Postroad, within: Within
) -> None:
    """Nobody has stopped it: it is tried again as after any failure, with a reason."""

    @road.handler("alone", retries=0)
    async def alone(_message: Message[object]) -> None:
        await awaits_a_cancelled_task()

    assert story(road, within, "alone") == [AWAITED]


@pytest.mark.parametrize("ordered", [False, True])
def test_a_coroutine_that_cancels_its_own_task_has_failed(
    road: Postroad, within: Within, caplog: pytest.LogCaptureFixture, *, ordered: bool
) -> None:
    """Only the engine's own stop gives a try back: this one ran again and again, as its first."""
    calls = list[str]()

    @road.handler("now", retries=0, ordered=ordered, on_exhausted="skip")
    async def now(_message: Message[object]) -> None:
        calls.append("now")
        own_task().cancel()
        await asyncio.sleep(3600)

    @road.handler("soon", retries=0)
    async def soon(_message: Message[object]) -> None:
        calls.append("soon")
        asyncio.get_running_loop().call_later(0.01, own_task().cancel)
        await asyncio.sleep(3600)

    @road.handler("many", retries=0, batch=1)
    async def many(_messages: list[Message[object]]) -> None:
        calls.append("many")
        own_task().cancel()
        await asyncio.sleep(3600)

    told = story(road, within, "now", "now", "soon", "many")
    assert told == [CANCELLED_ITSELF] * 3 + ["RuntimeError: the call of the handler was ended"]
    assert sorted(calls) == ["many", "now", "now", "soon"]
    assert "a handler was cut" in caplog.text


def test_a_cancellation_of_a_try_that_ended_does_not_meet_the_next_one(
    road: Postroad, within: Within
) -> None:
    """The same task tries the messages that come after it."""
    calls = list[str]()

    @road.handler("mixed")
    async def mixed(message: Message[int]) -> None:
        calls.append(message.id)
        if message.body % 3 < 2:
            own_task().cancel()
        if message.body % 3 == 1:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)
        if message.body % 3 == 2:
            await asyncio.sleep(0)

    async def run() -> list[tuple[str, int]]:
        async with road:
            sent = [await road.send("mixed", number) for number in range(60)]
            await road.run(until_idle=True)
            told = [await road.explain(one.id) for one in sent]
            return [(one.state, len(one.tries)) for one in told]

    assert within(run()) == [("delivered", 1)] * 60
    assert len(calls) == 60


def test_a_try_that_ends_with_its_whole_program_is_given_back(
    road: Postroad, within: Within
) -> None:
    """As `asyncio.run` ends a program: it cancels all tasks, those of the tries too."""

    @road.handler("long", retries=0)
    async def long(message: Message[object]) -> None:
        if message.body == 1:
            for task in asyncio.all_tasks() - {outer[0]}:
                task.cancel()
            await asyncio.sleep(3600)

    outer = list[asyncio.Task[object]]()

    async def run() -> tuple[str, int]:
        outer.append(own_task())
        async with road:
            sent = await road.send("long", 1)
            running = asyncio.create_task(road.run())
            with suppress(asyncio.CancelledError):
                await running
            told = await road.explain(sent.id)
            return told.state, len(told.tries)

    assert within(run()) == ("waiting", 0)


def test_a_hook_that_raises_no_exception_fails_the_try(road: Postroad, within: Within) -> None:
    @road.around
    @asynccontextmanager
    async def hook(message: Message[object]) -> AsyncIterator[None]:
        if message.body == 1 and kind_of[message.id]:
            raise KeyboardInterrupt
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

    assert within(run()) == "RuntimeError: the handler raised KeyboardInterrupt()"


def test_a_thread_that_ends_an_iterator_has_failed_at_once(road: Postroad, within: Within) -> None:
    """A future takes no StopIteration: the try stood still until its timeout."""

    @road.handler("thread", retries=0, timeout=100)
    def thread(_message: Message[object]) -> None:
        stop_iteration()

    assert story(road, within, "thread") == ["RuntimeError: the handler raised StopIteration()"]
