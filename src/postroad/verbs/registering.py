"""Registering functions as handlers of queues, or to be called by a timetable."""

from collections.abc import Callable
from typing import TypeVar

from msgspec.structs import replace

from postroad.model.errors import BadInput
from postroad.model.ticks import Missed, Schedule
from postroad.ports.clock import Clock
from postroad.ports.log import Log
from postroad.ports.ticks import Ticks
from postroad.transports.handler import Handle, Handler, HandlerTransport, timetable_handle
from postroad.transports.job import body_reader, takes_message
from postroad.transports.webhook.transforms import Transforms
from postroad.verbs.cron import Drafting, Scheduler, Timetable, check_plan
from postroad.verbs.handler_options import HandlerOptions, handler_home, handler_policy

F = TypeVar("F", bound=Handle)
G = TypeVar("G", bound=Callable[..., object])


class Registry:
    """The registered functions of one road."""

    def __init__(self, handlers: HandlerTransport) -> None:
        self.functions = handlers
        self.timetables: list[Timetable] = []
        self.transforms = Transforms()

    def handler(self, name: str, options: HandlerOptions) -> Callable[[F], F]:
        """Register a function, plain or async, as the handler of a queue."""
        policy, concurrency = handler_policy(name, options)

        def register(function: F) -> F:
            if not takes_message(function):
                raise BadInput(f"the handler of {name!r} is called with one argument, the message")
            home = handler_home(name, function, options)
            self._add(name, Handler(function, policy, concurrency, body_reader(function), home))
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
            policy, concurrency = handler_policy(queue, options)
            handle = timetable_handle(function)
            home = handler_home(queue, function, options)
            self._add(queue, Handler(handle, policy, concurrency, body_reader(handle), home))
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
