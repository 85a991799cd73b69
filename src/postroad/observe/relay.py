"""Writes what libraries log into our own log. Strangers who make a library complain cannot fill
it."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from postroad.model.foreign import error_text
from postroad.observe.log import LOGGER, OwnHandler
from postroad.ports.clock import Clock, SystemClock
from postroad.ports.log import Log

EVERY_S: Final = 60.0
KINDS_MAX: Final = 256
"""How many different ones are logged within that time."""
CHARACTERS_MAX: Final = 500


class Relay(OwnHandler):
    """Writes a library's warning as one line. The same one is written again after a minute at the
    earliest, with how often it came meanwhile."""

    def __init__(self, log: Log, clock: Clock) -> None:
        super().__init__(logging.WARNING)
        self._log = log
        self._clock = clock
        self._guard = threading.Lock()
        self._kinds: dict[tuple[str, str], tuple[float, int]] = {}
        """When each line was written, and how often it came since, by its logger and text."""

    def emit(self, record: logging.LogRecord) -> None:
        """Handle a record."""
        if record.name == LOGGER.name:  # it came from the log that this one writes to
            return
        first, _, rest = _message(record).partition("\n")
        again = self._again((record.name, first[:100]))
        if again is None:
            return
        raised = record.exc_info[1] if record.exc_info else None
        says = f"{type(raised).__name__}: {error_text(raised)}" if raised else rest
        facts: dict[str, object] = {"says": says[:CHARACTERS_MAX]}
        facts |= {"again": again} if again else {}
        tell = self._log.error if record.levelno >= logging.ERROR else self._log.warning
        tell(first[:CHARACTERS_MAX], library=record.name, **facts)

    def _again(self, kind: tuple[str, str]) -> int | None:
        """How often it came since it was written. None when that was within the minute, or when too
        many others were written: strangers may choose part of the text."""
        now_s = self._clock.steady_s()
        with self._guard:
            written_s, count = self._kinds.get(kind, (-EVERY_S, 0))
            if now_s - written_s < EVERY_S:
                self._kinds[kind] = (written_s, count + 1)
                return None
            if len(self._kinds) >= KINDS_MAX:
                fresh = [each for each in self._kinds.items() if now_s - each[1][0] < EVERY_S]
                self._kinds = dict(fresh)
                if len(fresh) >= KINDS_MAX:
                    return None
            self._kinds[kind] = (now_s, 0)
            return count


def _message(record: logging.LogRecord) -> str:
    """Format the record. A fault in it must not break the library that logs."""
    try:
        return record.getMessage()
    except Exception as error:  # noqa: BLE001 - of a library's values, or of its mistake
        return f"{str(record.msg)[:CHARACTERS_MAX]} (its values are missing: {error_text(error)})"


@contextmanager
def relayed(log: Log, clock: Clock | None = None) -> Iterator[None]:
    """Relay what libraries log, inside a program of our own."""
    relay = Relay(log, clock or SystemClock())
    root = logging.getLogger()
    root.addHandler(relay)
    try:
        yield
    finally:
        root.removeHandler(relay)
