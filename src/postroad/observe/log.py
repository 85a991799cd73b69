"""Structured logs: one line an event, `retry_level` with all work."""

import contextlib
import json
import logging
import re
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TextIO

from postroad.model.ladder import POLL_INTERVALS_S, queries_per_hour
from postroad.model.terminal_text import escaped_json
from postroad.model.webhook import WebhookRules
from postroad.ports.clock import SystemClock
from postroad.ports.log import Log

LEVEL_WORDS = (
    "first attempts",
    "first retries",
    "second retries",
    "third retries",
    "fourth retries",
    "fifth retries",
    "last retries",
)
GENERIC_POLLING_PER_HOUR = 7_200
"""Ten generic workers that ask every five seconds: what retry levels replaced."""


LEVELS: Final = {
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warning",
    logging.ERROR: "error",
}
UNPLAIN: Final = re.compile(r"""[\s="\\]|[^ -~]""")
"""What a bare word cannot have in it: a line stays one line, and can be taken apart again."""


class LineLog:
    """Writes one line an event: key=value, or JSON."""

    def __init__(self, floor: int, stream: TextIO, render: Callable[[dict[str, object]], str]):
        self._floor = floor
        self._stream = stream
        self._render = render
        self._clock = SystemClock()

    def is_enabled_for(self, level: int, /) -> bool:
        """Whether events of this level are written."""
        return level >= self._floor

    def debug(self, event: str, /, **facts: object) -> None:
        """Log details for developers."""
        self._say(logging.DEBUG, event, facts)

    def info(self, event: str, /, **facts: object) -> None:
        """Log what happened."""
        self._say(logging.INFO, event, facts)

    def warning(self, event: str, /, **facts: object) -> None:
        """Log what somebody may want to look at."""
        self._say(logging.WARNING, event, facts)

    def error(self, event: str, /, **facts: object) -> None:
        """Log what should not have happened."""
        self._say(logging.ERROR, event, facts)

    def exception(self, event: str, /, **facts: object) -> None:
        """Log an error with the exception that is being handled."""
        self._say(logging.ERROR, event, {"exc_info": sys.exception(), **facts})

    def _say(self, level: int, event: str, facts: dict[str, object]) -> None:
        if level < self._floor:
            return
        raised = facts.pop("exc_info", None)
        at = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
        time = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"
        line = {"timestamp": time, "level": LEVELS[level], "event": event, **facts}
        if isinstance(raised, BaseException):
            line["exception"] = "".join(traceback.format_exception(raised)).rstrip()
        with contextlib.suppress(OSError, ValueError):  # nobody reads it: the work goes on
            self._stream.write(f"{escaped_json(self._render(line))}\n")
            self._stream.flush()


def _as_text(line: dict[str, object]) -> str:
    return " ".join(f"{name}={_word(value)}" for name, value in line.items())


def _word(value: object) -> str:
    text = str(value)
    if text and not UNPLAIN.search(text):
        return text
    return json.dumps(text, ensure_ascii=False)


def _as_json(line: dict[str, object]) -> str:
    return json.dumps(line, default=str, ensure_ascii=False)


def make_log(level: str = "info", stream: TextIO | None = None, form: str = "text") -> Log:
    """Make a log to standard error: key=value lines, or lines of JSON."""
    floor = logging.getLevelNamesMapping()[level.upper()]
    return LineLog(floor, stream or sys.stderr, _as_json if form == "json" else _as_text)


def log_levels(
    log: Log,
    intervals_s: tuple[float, ...] = POLL_INTERVALS_S,
) -> None:
    """Log what polling by retry level would cost while the bell is down: the sum at info, each
    level at debug."""
    per_hour = queries_per_hour(intervals_s)
    log.info(
        "retry levels: store queries per hour",
        levels=len(per_hour),
        while_bell_is_down=sum(per_hour),
        generic_polling=GENERIC_POLLING_PER_HOUR,
    )
    for level, (interval_s, queries) in enumerate(zip(intervals_s, per_hour, strict=True)):
        log.debug(
            "retry level configuration",
            retry_level=level,
            poll_interval=f"{interval_s:g}s",
            queries_per_hour=queries,
            description=LEVEL_WORDS[min(level, len(LEVEL_WORDS) - 1)],
        )


def log_guard(log: Log, rules: WebhookRules) -> None:
    """Log which networks webhooks may reach beside public servers."""
    log.info(
        "webhook guard",
        allow=", ".join(rules.allow) or "no private or special network",
        deny=", ".join(rules.deny) or "none beside those",
        schemes="http, https" if rules.http else "https",
        ports=", ".join(map(str, rules.ports)) or "all",
    )
