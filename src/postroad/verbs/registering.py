"""Registering functions as handlers of queues, or to be called by a timetable."""

import inspect
from collections.abc import Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from postroad.model.errors import BadInput, NotOnRabbitMQ
from postroad.model.ticks import Schedule
from postroad.ports.clock import Clock
from postroad.ports.job_outputs import JobOutputs
from postroad.transports.call_plan import CallPlan, plan_call
from postroad.transports.gathering import Gatherer, one_of
from postroad.transports.handler import Handler, HandlerTransport
from postroad.transports.webhook.transforms import Transforms
from postroad.verbs.cron import check_missed, check_plan
from postroad.verbs.handler_calls import HandlerCall, Home, SendsMany
from postroad.verbs.handler_options import (
    HandlerOptions,
    function_place,
    gathering,
    handler_policy,
)
from postroad.verbs.jobs import NOT_HERE
from postroad.verbs.providing import Providers
from postroad.verbs.scheduler import PlannedTimetable

H = TypeVar("H", bound=Callable[..., Any])
G = TypeVar("G", bound=Callable[..., object])


class Registry:
    """The registered functions of one road."""

    def __init__(self, handlers: HandlerTransport, road: SendsMany, clock: Clock) -> None:
        self.functions = handlers
        self._clock = clock
        self.home = Home(road)
        self.providers = Providers()
        self.plans: dict[str, CallPlan] = {}
        self.timetables: list[PlannedTimetable] = []
        self.transforms = Transforms()

    def handler(
        self, name: str, options: HandlerOptions, make: type[HandlerCall] = HandlerCall
    ) -> Callable[[Callable[..., Any]], Any]:
        """Register a function, plain or async, as the handler of a queue."""
        policy, concurrency = handler_policy(name, options)
        most, within_s = gathering(name, options)

        def register(given: Callable[..., Any]) -> HandlerCall:
            function = given.function if isinstance(given, HandlerCall) else given
            plan = plan_call(one_of(function) if most else function, name, self.providers.values)
            place = function_place(name, function, plan, options)
            gatherer, handle = None, plan.handle
            if most:
                gatherer = Gatherer(function, most, within_s, self._clock, concurrency)
                handle = gatherer.handle
            handler = Handler(handle, policy, concurrency, plan.reads, place, gatherer)
            self._add(name, handler, plan)
            return make(name, function, plan, self.home)

        return register

    def every(
        self, cron: str, tz: str, missed: str, name: str, options: HandlerOptions
    ) -> Callable[[G], G]:
        """Register a function to be called at the times of a cron line."""
        check_plan(cron, tz)
        if_missed = check_missed(missed)

        def register(function: G) -> G:
            named = name or getattr(function, "__name__", "")
            if not named:
                raise BadInput(f"{function!r} has no name of its own: give every(…, name=…)")
            queue = f"cron:{named}"
            policy, concurrency = handler_policy(queue, options)
            plan = plan_call(function, queue, self.providers.values)
            if plan.one or (plan.arguments and plan.arguments.parameters):
                raise BadInput(
                    f"{function!r}: a function of a timetable takes no argument, or the message"
                )
            place = function_place(queue, function, plan, options)
            self._add(queue, Handler(plan.handle, policy, concurrency, plan.reads, place), plan)
            when = Schedule(named, cron, tz)
            self.timetables.append(PlannedTimetable(when, if_missed, queue))
            return function

        return register

    def around(self, hook: H) -> H:
        """Put an async context manager, or an async generator that yields once, around each try of
        a handler. It gets the message; what the handler raises passes through it."""
        if inspect.isasyncgenfunction(hook):
            self.functions.around.append(asynccontextmanager(hook))
        elif inspect.iscoroutinefunction(hook) or not callable(hook):
            raise BadInput(
                f"around({hook!r:.60}): give a function that returns an async context manager, or "
                "an `async def` that takes the message and has one `yield`"
            )
        else:
            self.functions.around.append(hook)
        return hook

    def adopt(self, other: "Registry") -> None:
        """Add everything that another registry has. What is sent to its handlers by their names
        goes this registry's way."""
        for name, handler in other.functions.handlers.items():
            self._add(name, handler, other.plans[name])
        self.functions.around += other.functions.around
        self.providers.adopt(other.providers)
        other.home.host = self.home
        self.timetables += other.timetables
        self.transforms.adopt(other.transforms)

    def check(self, store: object, in_flight_max: int) -> None:
        """Raise BadInput for a handler with a parameter that nobody can give, with lists that never
        fill, or with results that this store cannot keep."""
        for name, handler in self.functions.handlers.items():
            if handler.gatherer is not None and handler.gatherer.most > in_flight_max:
                raise BadInput(
                    f"handler {name!r}: batch={handler.gatherer.most} never fills, since a process "
                    f"has at most {in_flight_max} messages under way: raise "
                    "limits.in_flight_max, or lower batch"
                )
        for name, plan in self.plans.items():
            self.providers.check(name, plan.wanted)
        handlers = self.functions.handlers.values()
        if any(one.policy.result_ttl_ms for one in handlers) and not isinstance(store, JobOutputs):
            raise NotOnRabbitMQ(NOT_HERE)

    def _add(self, name: str, handler: Handler, plan: CallPlan) -> None:
        if name in self.functions.handlers:
            raise BadInput(f"a handler {name!r} is registered already: names are unique")
        self.functions.handlers[name] = handler
        self.plans[name] = plan
        self.providers.bodies |= plan.bodies
