"""Registering functions as handlers of queues, or to be called by a timetable."""

import inspect
from collections.abc import Callable
from difflib import get_close_matches
from typing import TypedDict, TypeVar

from msgspec.structs import replace

from postroad.model.durations import CENTURY_S, Duration, seconds_of
from postroad.model.entities import Policy
from postroad.model.errors import BadInput
from postroad.model.kept_bodies import kept_ms
from postroad.model.ladder import DEFAULT_LADDER, Ladder, check_ladder, with_retries
from postroad.model.recipients import RESERVED
from postroad.model.ticks import Missed, Schedule
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.ticks import Ticks
from postroad.transports.handler import Handle, Handler, HandlerTransport, is_async
from postroad.transports.job import Job, body_reader, takes_message
from postroad.transports.webhook.transforms import Transforms
from postroad.verbs.cron import Drafting, Scheduler, Timetable, check_plan

F = TypeVar("F", bound=Handle)
G = TypeVar("G", bound=Callable[..., object])


class HandlerOptions(TypedDict, total=False):
    """Options of a handler."""

    retries: int
    ladder: Ladder
    timeout: Duration
    concurrency: int
    ordered: bool
    on_exhausted: str
    at_most_once: bool
    keep_bodies: Duration


class Registry:
    """The registered functions of one road."""

    def __init__(self, handlers: HandlerTransport) -> None:
        self.functions = handlers
        self.timetables: list[Timetable] = []
        self.transforms = Transforms()

    def handler(self, name: str, options: HandlerOptions) -> Callable[[F], F]:
        """Register a function, plain or async, as the handler of a queue."""
        policy, concurrency = _policy(name, options)

        def register(function: F) -> F:
            if not takes_message(function):
                raise BadInput(f"the handler of {name!r} is called with one argument, the message")
            self._add(name, Handler(function, policy, concurrency, body_reader(function)))
            return function

        return register

    def every(
        self, cron: str, tz: str, missed: str, name: str, options: HandlerOptions
    ) -> Callable[[G], G]:
        """Register a function to be called at the times of a cron line."""
        check_plan(cron, tz)
        if missed not in Missed.__members__:
            raise BadInput(f"missed={missed!r}: give {', '.join(map(repr, Missed.__members__))}")

        def register(function: G) -> G:
            named = name or getattr(function, "__name__", "")
            if not named:
                raise BadInput(f"{function!r} has no name of its own: give every(…, name=…)")
            queue = f"cron:{named}"
            policy, concurrency = _policy(queue, options)
            handle = function if _wants(function) else _without_message(function)
            self._add(queue, Handler(handle, policy, concurrency, body_reader(handle)))
            self.timetables.append(Timetable(Schedule(named, cron, tz), Missed(missed), queue))
            return function

        return register

    def adopt(self, other: "Registry") -> None:
        """Add everything that another registry has."""
        for name, handler in other.functions.handlers.items():
            self._add(name, handler)
        self.timetables += other.timetables
        self.transforms.adopt(other.transforms)

    def scheduler(
        self, store: object, clock: Clock, drafting: Drafting, log: Log
    ) -> Scheduler | None:
        """The scheduler of the timetables; None without any."""
        if not self.timetables:
            return None
        if not isinstance(store, Ticks):
            raise BadInput("this store keeps no timetables: road.every needs another one")
        entries = [replace(entry) for entry in self.timetables]
        return Scheduler(store, clock, entries, drafting, log)

    def _add(self, name: str, handler: Handler) -> None:
        if name in self.functions.handlers:
            raise BadInput(f"a handler {name!r} is registered already: names are unique")
        self.functions.handlers[name] = handler


def _wants(function: Callable[..., object]) -> bool:
    """Whether a function of a timetable takes a message."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        if takes_message(function):
            return True
        raise BadInput(
            f"{function!r}: a function of a timetable takes no argument, or the message"
        ) from None
    except ValueError:  # written in C, without a signature
        pass
    return False


def _without_message(function: Callable[..., object]) -> Handle:
    if is_async(function):

        async def call_async(_message: Job) -> None:
            await function()  # type: ignore[misc]

        return call_async

    def call(_message: Job) -> object:
        return function()

    return call


def _check(name: object, options: HandlerOptions) -> None:
    """Raise BadInput for mistakes that only a type checker would have found."""
    if not isinstance(name, str):
        raise BadInput(f"{name!r} is not a name: write @road.handler('welcome') over the function")
    begin = name.partition(":")[0].partition("@")[0] if ":" in name else ""
    if not name or "://" in name or len(name) > 200 or not name.isprintable() or begin in RESERVED:
        raise BadInput(f"{name!r} cannot be a handler's name: give a short word, not an address")
    for option in options.keys() - HandlerOptions.__annotations__:
        near = get_close_matches(option, HandlerOptions.__annotations__, 1)
        known = near or sorted(HandlerOptions.__annotations__)
        raise BadInput(f"handler {name!r}: {option}= is no option; give {', '.join(known)}")


def _policy(name: str, options: HandlerOptions) -> tuple[Policy, int]:
    _check(name, options)
    ladder = check_ladder(options.get("ladder", DEFAULT_LADDER))
    if "retries" in options:
        ladder = with_retries(ladder, options["retries"])
    exhausted = options.get("on_exhausted", "hold")
    if exhausted not in ("hold", "skip"):
        raise BadInput(f"on_exhausted={exhausted!r}: 'hold' or 'skip'")
    timeout_s, concurrency = seconds_of(options.get("timeout", 30.0)), options.get("concurrency", 0)
    if not 0 < timeout_s <= CENTURY_S:
        raise BadInput(f"handler {name!r}: timeout must be seconds or a timedelta, above zero")
    if type(concurrency) is not int or concurrency < 0:
        raise BadInput(f"handler {name!r}: concurrency must be a whole number, not negative")
    policy = Policy(
        ladder=ladder,
        ordered=options.get("ordered", False),
        skip_exhausted=exhausted == "skip",
        at_most_once=options.get("at_most_once", False),
        timeout_ms=int(timeout_s * 1000),
        keep_bodies_ms=kept_ms(options.get("keep_bodies", 0.0)),
    )
    return policy, concurrency
