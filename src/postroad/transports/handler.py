"""Handlers: functions of this process as recipients."""

import asyncio
import contextvars
import inspect
from collections.abc import Awaitable, Callable
from functools import cached_property
from typing import Any

import msgspec
from msgspec import Struct

from postroad.model.errors import Reject, RetryLater, UnknownQueue
from postroad.model.ids import to_text
from postroad.model.outcome import DELIVERED, Outcome, failed, later, rejected
from postroad.model.words import HANDLER_SHARDS, LaneKey, Message, Policy, Queue

ERROR_CHARACTERS_MAX = 2_000


class Job:
    """What a handler gets."""

    def __init__(self, message: Message) -> None:
        self._message = message

    @property
    def id(self) -> str:
        """The message's id, the same over all tries."""
        return to_text(self._message.id)

    @cached_property
    def headers(self) -> dict[str, str]:
        """What the sender gave beside the body."""
        packed = self._message.headers
        return msgspec.json.decode(packed, type=dict[str, str]) if packed else {}

    @cached_property
    def body(self) -> Any:
        """What was sent: plain data, or bytes if bytes were sent."""
        if self.headers.get("content-type") == "application/octet-stream":
            return self._message.body
        return msgspec.json.decode(self._message.body)

    @property
    def level(self) -> int:
        """How many steps of its ladder the message has climbed."""
        return self._message.level

    @property
    def attempt(self) -> int:
        """Which try this is, from 1."""
        return self._message.attempts + 1


Handle = Callable[[Job], Awaitable[object]] | Callable[[Job], object]


class Handler(Struct, frozen=True):
    """A registered function and how it is to be called."""

    function: Handle
    policy: Policy
    concurrency: int


class HandlerTransport:
    """Only processes that registered a handler claim its lanes; 16 shards let it scale out."""

    name = "handler"
    shards = HANDLER_SHARDS

    def __init__(self) -> None:
        self.handlers: dict[str, Handler] = {}

    def address(self, queue: str, tenant: str) -> LaneKey:
        """The lane, without its shard, of a handler's queue."""
        return LaneKey(self.name, queue, tenant=tenant)

    def policy(self, queue: str) -> Policy:
        """The policy that the handler was registered with."""
        if queue not in self.handlers:
            raise UnknownQueue(
                f"no handler {queue!r} is registered here, and this road has none of that name "
                f"yet: register it with @road.handler({queue!r}), or start its worker once"
            )
        return self.handlers[queue].policy

    def pools(self) -> list[str]:
        """One pool a handler."""
        return [f"handler:{name}" for name in self.handlers]

    def concurrency(self, pool: str) -> int:
        """How many calls of one handler may run at once in this process."""
        return self.handlers[pool.removeprefix("handler:")].concurrency

    async def open(self, lane: LaneKey) -> "HandlerSession":
        """Handlers need no connection."""
        return HandlerSession(self.handlers[lane.server])


class HandlerSession:
    """Calls one handler."""

    def __init__(self, handler: Handler) -> None:
        self._function = handler.function
        self._is_async = inspect.iscoroutinefunction(handler.function)

    async def send(self, queue: Queue, message: Message) -> Outcome:  # noqa: ARG002
        """One call, and what it says."""
        try:
            if self._is_async:
                await self._function(Job(message))  # type: ignore[misc]
            else:
                await self._in_thread(Job(message))
        except Reject as error:
            return rejected(_text(error))
        except RetryLater as error:
            return later(str(error), after_ms=error.after_ms)
        except Exception as error:  # noqa: BLE001 - whatever a handler raises is its outcome
            return failed(f"{type(error).__name__}: {_text(error)}")
        return DELIVERED

    async def _in_thread(self, job: Job) -> None:
        loop = asyncio.get_running_loop()
        context = contextvars.copy_context()
        answer = await loop.run_in_executor(None, context.run, self._function, job)
        if inspect.isawaitable(answer):
            await answer

    def overdue(self, seconds: float) -> Outcome:
        """A handler that was cut has failed: its own clean-up has run."""
        return failed(f"cut after {seconds:g} s, the handler's timeout")

    async def close(self) -> None:
        """Nothing to give back."""


def _text(error: BaseException) -> str:
    return str(error)[:ERROR_CHARACTERS_MAX]
