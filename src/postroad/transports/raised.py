"""What handlers raise, as something that is the outcome of a try."""

import asyncio

from postroad.model.foreign import error_text


class Cut(SystemExit):
    """Raised in a handler that is cut: its `finally` runs, then the process ends."""


def as_outcome(error: BaseException) -> Exception:
    """What a try has come to; raised again when it is not the handler's own: a cut or a stop.

    An engine that ends by what a handler raises takes all other jobs with it, and so does the next
    one, which gets the same message. Ctrl+C ends a run by a signal, and is no exception here. A
    future takes no StopIteration, and nobody would be told."""
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise error
        return RuntimeError("the handler awaited a task that was cancelled")
    if isinstance(error, Cut) or _is_closed(error):
        raise error
    return named(error)


def _is_closed(error: BaseException) -> bool:
    """Whether a task is thrown away with its loop. A handler raises in a loop that runs."""
    return isinstance(error, GeneratorExit) and asyncio._get_running_loop() is None  # noqa: SLF001


def named(error: BaseException) -> Exception:
    """The same, whatever it is; also of one whose `__repr__` raises."""
    try:
        text = repr(error)
    except Exception:  # noqa: BLE001 - a stranger's __repr__ may do anything
        text = f"{type(error).__name__}: {error_text(error)}"
    return RuntimeError(f"the handler raised {text}")
