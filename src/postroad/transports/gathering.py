"""Handlers that get many messages at once: gathered over all lanes of a handler in this process,
each with an outcome of its own."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import copy_context
from inspect import Parameter
from itertools import islice
from typing import Any, Final, get_args, get_origin

from msgspec import Struct

from postroad.model.errors import BadInput
from postroad.model.texts import kind_of
from postroad.ports.clock import Clock, Timer
from postroad.transports import job as received
from postroad.transports.call_plan import check_returns
from postroad.transports.job import Job, is_async, named, resolved
from postroad.transports.raised import as_outcome

Answers = Mapping[str, Exception | None]
ENDED: Final = "the call of the handler was ended"


class Some(Exception):
    """Raise in a handler with `batch`: these messages failed, by their ids, each with its error
    where a mapping is given; the others are delivered."""

    def __init__(self, failed: Iterable[str] | Mapping[str, Exception], reason: str = "") -> None:
        super().__init__(reason or "the handler names it among those that failed")
        self.failed: dict[str, Exception] = (
            {one: _error(told) for one, told in failed.items()}
            if isinstance(failed, Mapping)
            else {one: RuntimeError(str(self)) for one in failed}
        )


class GatheredCall(Struct, eq=False):
    """A call of the function, and the messages that it has got."""

    batch: list[tuple[Job, "asyncio.Future[None]"]]
    task: "asyncio.Task[None]"


class Gatherer:
    """Gathers messages until there are enough, or the first has waited long enough; then calls the
    function with the list, and hands each its own answer. At most so many calls run at once."""

    def __init__(
        self,
        function: Callable[[list[Job]], Awaitable[Any]],
        most: int,
        within_s: float,
        clock: Clock,
        calls_max: int = 0,
    ) -> None:
        self._function = function
        self.most, self._within_ms = most, int(within_s * 1000)
        self._calls_max = calls_max
        self._clock = clock
        self._waiting: dict[str, tuple[Job, asyncio.Future[None]]] = {}
        self._timer: Timer | None = None
        self._calls: set[asyncio.Task[None]] = set()
        self._begun: dict[str, GatheredCall] = {}
        """The calls of messages that have not taken their answers."""
        self._held_up = False
        """It is time for a call, but too many run."""
        self._context = copy_context()

    def open(self) -> None:
        """Calls run in the context of whoever opens lanes. In that of a message, what a hook has
        set for it would hold for all messages of the call."""
        self._context = copy_context()

    async def handle(self, message: Job) -> None:
        """Wait for the call that this message is part of; raises what it came to."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[message.id] = (message, answer)
        self._gather()
        try:
            await answer
        finally:
            self._waiting.pop(message.id, None)  # it was cut
            self._begun.pop(message.id, None)
            if not self._waiting:  # a road that is opened again has another loop
                self._forget_timer()

    def stop(self, number: str) -> bool:
        """Whether the wait of a message that was cancelled may be cut. Not once its call has begun,
        which is cut itself when all of its messages are cancelled."""
        call = self._begun.get(number)
        if call is None:
            return True
        for message, _ in call.batch:
            message.cancelled = message.cancelled or message.id == number
        self._cut(call)
        return False

    def _gather(self) -> None:
        if len(self._waiting) >= self.most:
            self._call()
        elif self._waiting and self._timer is None:
            self._timer = self._clock.later(self._within_ms, self._call)

    def _call(self) -> None:
        """Call the function with those that have not been cut meanwhile."""
        self._forget_timer()
        self._held_up = 0 < self._calls_max <= len(self._calls)
        if self._held_up:
            return
        alive = (pair for pair in self._waiting.values() if not pair[1].done())
        batch = list(islice(alive, self.most))
        if not batch:
            return
        loop = asyncio.get_running_loop()
        task = loop.create_task(self._run(batch), context=self._context.copy())
        call = GatheredCall(batch, task)
        self._calls.add(task)
        task.add_done_callback(lambda _: self._ended(call))
        for message, answer in batch:
            del self._waiting[message.id]
            self._begun[message.id] = call
            answer.add_done_callback(lambda _: self._cut(call))
        self._gather()

    def _ended(self, call: GatheredCall) -> None:
        self._calls.discard(call.task)
        for _, answer in call.batch:  # one that was cut before it began has given none
            _give(answer, RuntimeError(ENDED))
        if self._held_up:
            self._call()

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _cut(self, call: GatheredCall) -> None:
        """End a call that nobody waits for any more."""
        if call.task.cancelling():
            return
        if all(message.cancelled or answer.cancelled() for message, answer in call.batch):
            call.task.cancel()

    async def _run(self, batch: list[tuple[Job, "asyncio.Future[None]"]]) -> None:
        whole: Exception | None = RuntimeError(ENDED)
        answers: Answers = {}
        try:
            answers = _checked(await self._function([message for message, _ in batch]))
            whole = None
        except Some as some:
            answers, whole = some.failed, None
        except BaseException as error:  # noqa: BLE001 - it is the outcome of each of them
            whole = as_outcome(error)
        finally:  # whatever it was: an answer that is not given is waited for
            whole = whole or _stray(answers, batch)
            for message, answer in batch:
                _give(answer, whole or answers.get(message.id))


def _stray(answers: Answers, batch: list[tuple[Job, "asyncio.Future[None]"]]) -> Exception | None:
    """What is wrong with failures of messages that the call did not get: they would be lost."""
    stray = answers.keys() - {message.id for message, _ in batch}
    if not stray:
        return None
    return ValueError(
        f"a handler with batch= names {next(iter(stray))!r:.60} as failed, which it did not get: "
        "give the ids of its messages (`message.id`)"
    )


def _give(answer: "asyncio.Future[None]", wrong: Exception | None) -> None:
    if answer.done():
        return  # it was cut at its deadline
    if wrong is None:
        answer.set_result(None)
    else:
        answer.set_exception(wrong)


def _checked(said: object) -> Answers:
    """What a handler returned: nothing, or a mapping of ids to what went wrong."""
    if said is None:
        return {}
    if not isinstance(said, Mapping):
        raise TypeError(
            f"a handler with batch= returned {kind_of(said)}: return nothing, or a mapping "
            "of message ids to exceptions"
        )
    return {one: _error(told) for one, told in said.items() if told is not None}


def _error(told: object) -> Exception:
    """What a future can raise: anything but StopIteration, which is no exception to it."""
    if isinstance(told, Exception) and not isinstance(told, StopIteration):
        return told
    return RuntimeError(repr(told) if isinstance(told, Exception) else str(told))


def one_of(function: Callable[..., Any]) -> Callable[[Job], None]:
    """A function that takes one message of a handler's list, by which bodies are read."""
    if not is_async(function):
        raise BadInput(
            f"{named(function)}: a handler with batch= is a coroutine: write `async def`, and "
            "`await asyncio.to_thread(…)` for work that blocks"
        )
    check_returns(function)
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or any(map(_is_needed, parameters[1:])):
        raise BadInput(f"{named(function)}: a handler with batch= takes one thing, the list")
    hint = resolved(function, parameters[0].annotation)
    kind = get_origin(hint) or hint
    is_list = not isinstance(kind, type) or kind is Parameter.empty or issubclass(list, kind)
    inner = get_args(hint)[0] if get_args(hint) and is_list else received.Message
    if not is_list or not (inner is received.Message or get_origin(inner) is received.Message):
        raise BadInput(f"{named(function)} gets a list of messages: write list[Message[…]]")

    def one(message: Job) -> None: ...

    one.__annotations__ = {"message": inner}
    return one


def _is_needed(parameter: Parameter) -> bool:
    stretches = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return parameter.default is Parameter.empty and parameter.kind not in stretches
