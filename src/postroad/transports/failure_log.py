"""Logs what handlers do wrong: each fault in full, but not a thousand times."""

from typing import Final

from postroad.model.entities import Message
from postroad.model.foreign import CHARACTERS_MAX, error_text
from postroad.model.ids import to_text
from postroad.ports.clock import Clock
from postroad.ports.log import Log

TELL_EVERY_S: Final = 10.0
FAULTS_MAX: Final = 1_000

Fault = tuple[object, ...]


class FailureLog:
    """A traceback costs 0.6 ms and a kilobyte, and all that fail may fail alike: one is told every
    ten seconds, with how many came like it since. Every try's error is with its message."""

    def __init__(self, log: Log, clock: Clock) -> None:
        self._log = log
        self._clock = clock
        self._told: dict[Fault, tuple[float, int]] = {}

    def raised(self, queue: str, message: Message, error: Exception) -> None:
        """A handler raised."""
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        fault = (queue, type(error), where.tb_lineno if where is not None else 0)
        if (like_it := self._like_it(fault)) is None:
            return
        text = error_text(error)
        cut = None if len(text) >= CHARACTERS_MAX else error
        why = f"{type(error).__name__}: {text}"
        facts = _facts(queue, message, like_it)
        self._log.warning("a handler raised", **facts, error=why, exc_info=cut)

    def cut(self, queue: str, message: Message, error: str) -> None:
        """One was cut at its timeout."""
        if (like_it := self._like_it((queue,))) is not None:
            self._log.warning("a handler was cut", **_facts(queue, message, like_it), error=error)

    def _like_it(self, fault: Fault) -> int | None:
        """How many came like it since it was told; None when it is not to be told again yet."""
        now_s = self._clock.steady_s()
        until_s, count = self._told.get(fault, (now_s, 0))
        if now_s < until_s:
            self._told[fault] = (until_s, count + 1)
            return None
        if len(self._told) >= FAULTS_MAX:
            self._told.clear()
        self._told[fault] = (now_s + TELL_EVERY_S, 0)
        return count


def _facts(queue: str, message: Message, like_it: int) -> dict[str, object]:
    """Which try it was."""
    facts: dict[str, object] = {
        "queue": queue,
        "message": to_text(message.id),
        "retry_level": message.level,
        "attempt": message.attempts + 1,
    }
    return facts | ({"more_like_it": like_it} if like_it else {})
