"""SIGTERM and SIGINT end a run; then they are handed on to whoever heard them before it."""

import asyncio
import signal
from collections.abc import Callable
from typing import Any


class TrappedSignal:
    """Hears one signal for one run."""

    def __init__(self, number: signal.Signals, stop: Callable[[], None]) -> None:
        self.number = number
        self.before: Any = signal.getsignal(number)
        self.heard = False
        self.over = False
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self.theirs = self._heard_by_loop()
        self._loop.add_signal_handler(number, stop)
        # asyncio alone forgets one that comes while its pipe is full, as it is when a loop that
        # was held up has some hundred calls of other threads before it.
        signal.signal(number, self)

    def __call__(self, *_: object) -> None:
        """It came."""
        self.heard = True
        self._loop.call_soon_threadsafe(self._stop)

    def close(self) -> None:
        """From now on the signal goes to who heard it before."""
        self.over = True
        now = signal.getsignal(self.number)
        while isinstance(now, TrappedSignal) and now.over:  # else it is a run's that goes on
            now = now.before
        self._loop.remove_signal_handler(self.number)
        if now is not None:  # as one is that Python did not set
            signal.signal(self.number, now)
        if self.theirs is not None and not isinstance(now, TrappedSignal):
            callback, words = self.theirs._callback, self.theirs._args  # noqa: SLF001
            self._loop.add_signal_handler(self.number, callback, *words)

    def _heard_by_loop(self) -> Any:
        """What a host has given the loop, as aiohttp does: a loop keeps one for each signal, says
        nowhere which, and would drop it. (uvloop keeps it out of sight.)"""
        if isinstance(self.before, TrappedSignal):
            return self.before.theirs
        return getattr(self._loop, "_signal_handlers", {}).get(self.number)


class SignalTrap:
    """SIGTERM and SIGINT end the run, where this is the main thread of a process."""

    def __init__(self, stop: Callable[[], None] | None) -> None:
        self._stop = stop
        self._signals: list[TrappedSignal] = []

    def __enter__(self) -> None:
        if self._stop is None:
            return
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                self._signals.append(TrappedSignal(number, self._stop))
        except (ValueError, RuntimeError):
            pass  # another thread, or simulated time: stop() alone ends the run

    def __exit__(self, *_: object) -> None:
        for one in self._signals:
            one.close()

    def hand_on(self) -> None:
        """The run has ended. Not before: a handler that leaves the program would cut it short."""
        for one in self._signals:
            if one.heard and _is_told(signal.getsignal(one.number)):
                signal.raise_signal(one.number)


def _is_told(handler: Any) -> bool:
    """Whether it belongs to a host, as uvicorn's does: the default, and what asyncio.run has in its
    place, would break off what has just ended in good order."""
    runner = getattr(getattr(handler, "func", None), "__self__", None)
    plain = handler is signal.default_int_handler or isinstance(runner, asyncio.Runner)
    return callable(handler) and not plain
