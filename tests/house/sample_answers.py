"""Answers, dropped in every way that the checker has to see: each line that ends in `# dropped`."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import cache, partial
from typing import Literal, Protocol


class Refusal(Exception):
    """Why not."""


Wrong = Refusal | None


class Outlet(Protocol):
    """Something that may refuse."""

    async def publish(self, texts: list[str]) -> list[Wrong]:
        """What became of each."""

    def put(self, text: str) -> bool:
        """Whether it is kept."""


class Queue:
    """One that may refuse."""

    def __init__(self, call: Callable[[str], Awaitable[Wrong]]) -> None:
        self.call = call
        self.kept = asyncio.Event()

    def put(self, text: str) -> bool:
        """Whether it is kept."""
        return bool(text)

    def itself(self) -> "Queue":
        """The same."""
        return self

    def later(self, text: str) -> asyncio.Future[list[Wrong]]:
        """What became of it, in a while."""
        raise NotImplementedError(text)


def told(text: str) -> Wrong:
    """What is wrong with it."""
    return Refusal(text)


@cache
def known(text: str) -> bool:
    """Whether it is known."""
    return bool(text)


async def drops(queue: Queue, outlet: Outlet, both: Queue | Outlet, ended: Future[bool]) -> None:
    """All of these are rejected."""
    told("…")  # dropped
    known("a")  # dropped
    queue.put("a")  # dropped
    both.put("ä")  # dropped
    partial(queue.put, "a")()  # dropped
    ended.result()  # dropped
    await queue.call("a")  # dropped
    await queue.later("a")  # dropped
    await outlet.publish(["a"])  # dropped
    await asyncio.wait_for(outlet.publish(["a"]), 1)  # dropped
    await asyncio.gather(outlet.publish(["a"]), return_exceptions=True)  # dropped
    await asyncio.to_thread(queue.put, "a")  # dropped
    answer = queue.later("a")
    await answer  # dropped
    task = asyncio.create_task(outlet.publish(["a"]))
    await task  # dropped
    put = queue.put
    put("a")  # dropped
    queue.itself().put("a")  # dropped
    [queue][0].put("a")  # dropped


class Full(Queue):
    """One that is full."""

    def put(self, text: str) -> bool:
        """Never."""
        super().put(text)  # dropped
        return False


async def nothing() -> None:
    """Nothing is answered."""


def always() -> Literal[True]:
    """One answer alone."""
    return True


async def keeps(queue: Queue, outlet: Outlet, names: dict[str, int]) -> None:
    """None of these is: used, put away, empty, or a library's."""
    if queue.put("a") or await outlet.publish(["a"]):
        _ = queue.put("b")  # a reason
    always()
    queue.itself().kept.set()
    names.pop("a", None)
    await nothing()
    await asyncio.gather(nothing(), nothing())
    await queue.kept.wait()
    task = asyncio.create_task(nothing())
    task.cancel()
    await task
