"""SIGTERM and SIGINT end a run; afterwards they go to the handlers that were set before it."""

import asyncio
import signal
from collections.abc import Callable
from typing import Any


class TrappedSignal:
    """Catches one signal during one run, and restores the handler that was set before."""

    def __init__(self, number: signal.Signals, stop: Callable[[], None]) -> None:
        self.number = number
        self.before: Any = signal.getsignal(number)
        self.heard = False
        self.over = False
        self._stop = stop
        self._loop = asyncio.get_running_loop()
        self.theirs = self._heard_by_loop()
        self._loop.add_signal_handler(number, stop)
        # asyncio alone loses a signal that comes while its pipe is full, as it is when other
        # threads have queued some hundred calls for a loop that was held up.
        signal.signal(number, self)

    def __call__(self, *_: object) -> None:
        """Take the signal: the run is asked to stop."""
        self.heard = True
        self._loop.call_soon_threadsafe(self._stop)

    def close(self) -> None:
        """Restore the handler that was set before this one."""
        self.over = True
        now = signal.getsignal(self.number)
        while isinstance(now, TrappedSignal) and now.over:  # else another run still uses it
            now = now.before
        self._loop.remove_signal_handler(self.number)
        if now is not None:  # None: it was not set by Python
            signal.signal(self.number, now)
        if self.theirs is not None and not isinstance(now, TrappedSignal):
            callback, words = self.theirs._callback, self.theirs._args  # noqa: SLF001
            self._loop.add_signal_handler(self.number, callback, *words)

    def _heard_by_loop(self) -> Any:
        """The handler that a host such as aiohttp gave the loop. A loop keeps one for each signal,
        has no public way to read it, and would drop it. (uvloop hides it completely.)"""
        if isinstance(self.before, TrappedSignal):
            return self.before.theirs
        return getattr(self._loop, "_signal_handlers", {}).get(self.number)


class SignalTrap:
    """Catches SIGTERM and SIGINT during a run, if this is the main thread of a process."""

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
        """Raise caught signals again for a host's handlers. Call it after the run has ended: such a
        handler may exit the program."""
        for one in self._signals:
            if one.heard and _is_told(signal.getsignal(one.number)):
                signal.raise_signal(one.number)


def _is_told(handler: Any) -> bool:
    """Whether a handler belongs to a host, as uvicorn's does. The default one, and that of
    asyncio.run, would only interrupt what has just ended in good order."""
    runner = getattr(getattr(handler, "func", None), "__self__", None)
    plain = handler is signal.default_int_handler or isinstance(runner, asyncio.Runner)
    return callable(handler) and not plain
