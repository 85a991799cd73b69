"""An asyncio event loop in simulated time, in which one seed decides every interleaving.

Sets of tasks have a repeatable order here; sets of futures or coroutines (`as_completed`) do not.
Nodes must not share an `asyncio.Lock` or `Queue`, which a crashed holder never gives back: put it
behind a node of its own and await that node's `spawn`.
"""

import asyncio
import gc
import hashlib
import heapq
import math
import random
import re
import sys
import threading
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context, ContextVar, copy_context
from functools import partial
from typing import Any, Final, NoReturn, Self, TypeVar

__all__ = ["Node", "NotSimulated", "SimLoop", "Stuck", "TimeLimit"]

T = TypeVar("T")
Coro = Generator[Any, None, T] | Coroutine[Any, Any, T]
Word = str | int | float | bytes | None

# This many callbacks at one instant are a task that spins on sleep(0), not work: about a second.
SPIN_MAX: Final = 250_000


class Stuck(RuntimeError):
    """The simulation cannot continue: nothing can run, or time cannot move. Names the tasks that
    wait and where."""


class TimeLimit(RuntimeError):
    """Virtual time would pass the limit of the run; names the tasks that wait and where."""


class NotSimulated(RuntimeError):
    """Threads, sockets, processes and signals do not exist in simulated time."""


class Node:
    """A simulated process: all that its code schedules belongs to it."""

    def __init__(self, loop: "SimLoop", name: str) -> None:
        self.name = name
        self.alive = True
        self.stopped_until = 0.0
        self.held: list[asyncio.Handle] = []
        self._loop = loop

    def spawn(self, coro: Coroutine[Any, Any, T], *, name: str | None = None) -> asyncio.Task[T]:
        """Start a coroutine as a task of this node."""
        if not self.alive:
            coro.close()
            raise RuntimeError(f"node {self.name} has crashed: restart it as a new loop.node()")
        context = copy_context()
        context.run(_current_node.set, self)
        return self._loop.create_task(coro, name=name, context=context)

    def crash(self) -> None:
        """Stop for ever: no callback, `except` or `finally` of this node runs again."""
        self.alive, self.stopped_until = False, math.inf

    async def die(self) -> None:
        """Crash at this line of the node's own code; after `crash` it runs on to its next await."""
        self.crash()
        _ = await self._loop.create_future()  # never done: waiters are cancelled

    def pause(self, seconds: float) -> None:
        """Hold back all callbacks of this node, as SIGSTOP does; those due meanwhile run late."""
        self.stopped_until = max(self.stopped_until, self._loop.time() + seconds)
        # An empty context: the wake-up must not die with a node that asked for the pause.
        # It is not taken back.
        _ = self._loop.call_at(self.stopped_until, self._resume, context=Context())

    def _resume(self) -> None:
        self._loop._ready += self.held  # noqa: SLF001 - if it is too early they are held again
        self.held.clear()


_current_node: ContextVar[Node | None] = ContextVar("postroad_sim_node", default=None)


class _SimTask(asyncio.Task[T]):
    """Hashes by birth order, because TaskGroup and wait() iterate over sets of tasks."""

    def __init__(self, coro: Coro[T], loop: "SimLoop", context: Context, order: int) -> None:
        self.order = order
        self.node = context.get(_current_node)
        name = f"{self.node.name}/" if self.node else ""
        name += f"{getattr(coro, '__name__', 'task')}-{order}"
        super().__init__(coro, loop=loop, name=name, context=context)
        self._log_destroy_pending = False  # only close() destroys it

    def __hash__(self) -> int:
        return self.order


class SimLoop(asyncio.BaseEventLoop):
    """A loop with a virtual clock, a seeded order and nodes that crash; a context manager."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.rng = random.Random(seed)  # noqa: S311
        self.exceptions: list[BaseException] = []
        self.log: list[tuple[float, str, tuple[Word, ...]]] = []
        self._now, self._limit_s = 0.0, math.inf
        self._ready: list[asyncio.Handle] = []  # the base has a deque; a pick must be O(1) anywhere
        self._scheduled: list[asyncio.TimerHandle] = []
        # Strong references: a collected task would run its finally blocks when the collector likes.
        self._tasks: list[_SimTask[Any]] = []
        self._task_count, self._turns, self._checked_at = 0, 0, -1.0
        self._nodes: list[Node] = []
        self._thread = threading.get_ident()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def time(self) -> float:
        """Virtual seconds since the loop was made."""
        return self._now

    def node(self, name: str) -> Node:
        """Make a node; a restart after a crash is a new node of the same name."""
        self._nodes.append(Node(self, name))
        return self._nodes[-1]

    def note(self, *words: Word) -> None:
        """Append (time, node name, words) to the event log."""
        # Any other type may carry an address, or the order of a set, into the digest.
        if not all(isinstance(word, Word) for word in words):
            raise TypeError(f"note() takes {Word}; got {[type(word) for word in words]}")
        node = _current_node.get()
        self.log.append((self._now, node.name if node else "", words))

    def digest(self) -> str:
        """SHA-256 of the event log: the same for the same seed, in any process."""
        return hashlib.sha256("\n".join(map(repr, self.log)).encode()).hexdigest()

    def run(self, coro: Coroutine[Any, Any, T], *, limit_s: float = 1e9, strict: bool = True) -> T:
        """Run a coroutine to its end; if `strict`, then raise what nobody handled, as a group."""
        self._limit_s, before = limit_s, len(self.exceptions)
        # The collector runs after so many allocations of the process, which no seed decides.
        collecting = gc.isenabled()
        gc.disable()
        try:
            result = self.run_until_complete(coro)
        except BaseException as error:
            self._gather_forgotten()
            for other in self.exceptions[before:]:
                error.add_note(f"not handled in the simulation: {other!r}")
            raise
        finally:
            if collecting:
                gc.enable()
        self._gather_forgotten()
        if strict and len(self.exceptions) > before:
            raise BaseExceptionGroup("not handled in the simulation", self.exceptions[before:])
        return result

    def close(self) -> None:
        """Discard all that is pending, without running a line of it, and close the loop."""
        super().close()
        hook = sys.unraisablehook
        sys.unraisablehook = type  # silent even on a full stack; 3.12 reports each frame
        try:
            _vanish([task.get_coro() for task in self._tasks if not task.done()])
        finally:
            sys.unraisablehook = hook
        self._tasks.clear()
        self._nodes.clear()

    dispose = close

    def create_task(
        self, coro: Coro[T], *, name: object = None, context: Context | None = None
    ) -> asyncio.Task[T]:
        """Make a task. It is named per loop, as asyncio's own counter is per process."""
        self._task_count += 1
        own = copy_context() if context is None else context  # an empty context is false
        task = _SimTask(coro, self, own, self._task_count)
        task.set_name(name or task.get_name())
        self._tasks.append(task)
        if self._task_count % 1000 == 0:
            self._tasks = [t for t in self._tasks if not t.done() or t._log_traceback]  # noqa: SLF001
        return task

    def call_soon_threadsafe(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        """`call_soon`, refused to other threads."""
        if threading.get_ident() != self._thread:
            raise NotSimulated("call_soon_threadsafe: simulated time has only one thread")
        return self.call_soon(callback, *args, context=context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Collect what asyncio would only log."""
        self.exceptions.append(context.get("exception") or RuntimeError(context["message"]))

    def _run_once(self) -> None:
        """Run one callback, chosen by the seed among those that are ready."""
        ready, timers = self._ready, self._scheduled
        if not ready or (timers and timers[0].when() <= self._now):
            self._jump()
        index = int(self.rng.random() * len(ready)) if len(ready) > 1 else 0
        ready[index], ready[-1] = ready[-1], ready[index]
        handle = ready.pop()
        node = _node_of(handle)
        if node and node.stopped_until > self._now:
            node.held.append(handle)
        elif not handle.cancelled():
            handle._run()  # noqa: SLF001
        self._turns += 1
        if self._turns % SPIN_MAX == 0:
            self._check_progress()

    def _jump(self) -> None:
        """Move to the earliest timer that can still fire; all timers due then become ready."""
        timers = self._scheduled
        while timers and (not self._ready or timers[0].when() <= self._now):
            timer, node = timers[0], _node_of(timers[0])
            if node and not node.alive:
                node.held.append(timer)
            elif not timer.cancelled():
                if timer.when() > self._limit_s:
                    raise TimeLimit(f"virtual time would pass {self._limit_s} s; {self._waiting()}")
                self._now = max(self._now, timer.when())
                self._ready.append(timer)
            heapq.heappop(timers)
        if not self._ready:
            raise Stuck(f"nothing can run any more; {self._waiting()}")

    def _check_progress(self) -> None:
        if self._now == self._checked_at:
            raise Stuck(f"time stood still for {SPIN_MAX} callbacks; {self._waiting()}")
        self._checked_at = self._now
        self._scheduled[:] = [timer for timer in self._scheduled if not timer.cancelled()]
        heapq.heapify(self._scheduled)
        gc.collect()  # at this turn in every process

    def _waiting(self) -> str:
        tasks = [t for t in self._tasks if not t.done() and (not t.node or t.node.alive)]
        waiting = [f"{task.get_name()} at {_where(task)}" for task in tasks]
        crashed = [node.name for node in self._nodes if not node.alive] or ["none"]
        return f"waiting: {', '.join(waiting)}; crashed nodes: {', '.join(crashed)}"

    def _gather_forgotten(self) -> None:
        """Collect the failures that nobody asked for; a crash loses those of its node."""
        handles = [*self._ready, *(handle for node in self._nodes for handle in node.held)]
        # A failure that a callback is about to get is not forgotten.
        told = {id(arg) for handle in handles for arg in handle._args or ()}  # noqa: SLF001
        for task in self._tasks:
            error = task.exception() if task._log_traceback else None  # noqa: SLF001
            if error and id(task) not in told and (not task.node or task.node.alive):
                self.exceptions.append(error)


def _node_of(handle: asyncio.Handle) -> Node | None:
    context: Context = handle._context  # type: ignore[attr-defined]  # noqa: SLF001
    return context.get(_current_node)


def _where(task: asyncio.Task[Any]) -> str:
    """File and line where a task waits: its innermost frame outside asyncio."""
    place = ""
    coro: object = task.get_coro()
    while frame := getattr(coro, "cr_frame", None) or getattr(coro, "gi_frame", None):
        if not place or not frame.f_globals["__name__"].startswith("asyncio."):
            place = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        coro = getattr(coro, "cr_await", None) or getattr(coro, "gi_yieldfrom", None)
    return place


def _vanish(coros: list[Coro[object]]) -> None:
    """Free suspended coroutines without running their `except` and `finally` blocks."""
    # close() throws GeneratorExit into a frame, which on a full stack cannot run and is dropped.
    # Never freeing them would do too, but keep a simulated world in memory for every seed.
    try:
        _vanish(coros)
    except RecursionError:
        while coros:
            try:
                coros[-1].close()
            except RecursionError:
                if getattr(coros[-1], "cr_frame", None):
                    raise  # not even room to call close(): our caller has one frame more
            del coros[-1]


def _refuse(name: str, *_: object, **__: object) -> NoReturn:
    raise NotSimulated(f"loop.{name}: simulated time has no threads, sockets or processes")


_REAL = "run_in_|getaddr|getname|create_[cdsu]|connect_|start_tls|send|sock_|subproc|add_|remove_"
for _name in filter(re.compile(_REAL).match, dir(asyncio.AbstractEventLoop)):
    setattr(SimLoop, _name, staticmethod(partial(_refuse, _name)))
