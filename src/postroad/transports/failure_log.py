"""Logs what handlers do wrong: each fault in full, but not a thousand times."""

from functools import partial

from postroad.model.entities import Message
from postroad.model.foreign import CHARACTERS_MAX, error_text
from postroad.model.ids import to_text
from postroad.model.outcome import Outcome
from postroad.model.redaction import Redaction
from postroad.observe.gathering import EventGathering
from postroad.ports.clock import Clock
from postroad.ports.log import Log


class FailureLog:
    """A traceback costs 0.6 ms and a kilobyte, and all that fail may fail alike: one is logged
    every ten seconds, then how many came like it. Every try's error is with its message."""

    def __init__(self, log: Log, clock: Clock, redaction: Redaction | None = None) -> None:
        self._log = log
        self._redaction = redaction or Redaction()
        self._gathering = EventGathering(clock)

    def shown(self, queue: str, message: Message, outcome: Outcome) -> Outcome:
        """Return the outcome of a try, without the fields of its body that are not shown."""
        return self._redaction.outcome(queue, message.body, outcome)

    def raised(self, queue: str, message: Message, error: Exception) -> None:
        """A handler raised."""
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        line = where.tb_lineno if where is not None else 0
        alike = {"queue": queue, "raised": type(error).__name__, "line": line}
        text = self._redaction.text(queue, message.body, error_text(error))
        # A traceback has the text as it was.
        whole = len(text) < CHARACTERS_MAX and not self._redaction.hides(queue)
        facts = partial(_raised, message, error, text, whole=whole)
        self._gathering.add(self._log.warning, "a handler raised", alike, facts, full=1)

    def raised_in_child(self, queue: str, message: Message, error: str, trace: str) -> None:
        """A handler raised in a child process."""
        alike = {"queue": queue, "raised": error.partition(":")[0]}
        shown = None if self._redaction.hides(queue) else trace
        facts = partial(_facts, message, error=error, exception=shown)
        self._gathering.add(self._log.warning, "a handler raised", alike, facts, full=1)

    def lost(self, queue: str, message: Message, error: str) -> None:
        """The child process of a call has ended."""
        self._tell("the process of a handler ended", queue, message, error)

    def cut(self, queue: str, message: Message, error: str) -> None:
        """One was cut at its timeout."""
        self._tell("a handler was cut", queue, message, error)

    def _tell(self, event: str, queue: str, message: Message, error: str) -> None:
        facts = partial(_facts, message, error=error)
        self._gathering.add(self._log.warning, event, {"queue": queue}, facts, full=1)

    def close(self) -> None:
        """Tell what was counted and not told yet."""
        self._gathering.close()


def _raised(message: Message, error: Exception, text: str, *, whole: bool) -> dict[str, object]:
    told = f"{type(error).__name__}: {text}"
    return _facts(message, error=told, exc_info=error if whole else None)


def _facts(message: Message, **more: object) -> dict[str, object]:
    """Which try it was."""
    try_ = {"retry_level": message.level, "attempt": message.attempts + 1}
    return {"message": to_text(message.id)} | try_ | more
