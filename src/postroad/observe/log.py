"""Structured logs: one line an event, `retry_level` with all work.

A road logs to Python's `logging`, as logger "postroad", if the program around it has a handler
there. While it has none, the road writes lines of its own to standard error."""

import contextlib
import json
import logging
import re
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final, TextIO

from postroad.model.egress import proxy_text, read_proxies
from postroad.model.ladder import POLL_INTERVALS_S, queries_per_hour
from postroad.model.terminal_text import escaped, escaped_json, escaped_line
from postroad.model.webhook import WebhookRules
from postroad.observe.outage import Outage
from postroad.ports.clock import Clock, SystemClock
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
LEVELS: Final = {
    logging.DEBUG: "debug",
    logging.INFO: "info",
    logging.WARNING: "warning",
    logging.ERROR: "error",
}
UNPLAIN: Final = re.compile(r"""[\s="\\]|[^ -~]""")
"""What a bare word cannot have in it: a line stays one line, and can be taken apart again."""
LOGGER: Final = logging.getLogger("postroad")
CALLER: Final = 4
"""Frames between Python's `logging` and the code that logs."""

Write = Callable[[int, str, dict[str, object], BaseException | None], None]


class RoadLog:
    """Writes one event per call from a level on, by a function."""

    def __init__(
        self, floor: int, clock: Clock, write: Write, hears: Callable[[int], bool]
    ) -> None:
        self._floor = floor
        self._write = write
        self._hears = hears
        self._outage = Outage(clock, self.warning, self.info)

    def is_enabled_for(self, level: int, /) -> bool:
        """Whether events of this level are written."""
        return level >= self._floor and self._hears(level)

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

    def store_failed(self, doing: str, error: Exception, /) -> None:
        """Log that something could not be done for want of the store, in a few lines in all."""
        self._say(logging.DEBUG, doing, {"error": str(error)})
        self._outage.failed(doing, error)

    def store_works(self, doing: str, /) -> None:
        """Log the end of an outage, if this had failed."""
        self._outage.works(doing)

    def _say(self, level: int, event: str, facts: dict[str, object]) -> None:
        if level < self._floor:
            return
        raised = facts.pop("exc_info", None)
        self._write(level, event, facts, raised if isinstance(raised, BaseException) else None)


class LineWriter:
    """Writes events as lines to a stream: key=value with tracebacks below, or JSON."""

    def __init__(self, stream: TextIO | None, form: str, clock: Clock) -> None:
        self._stream = stream
        self._render = _as_json if form == "json" else _as_text
        self._clock = clock

    def write(
        self, level: int, event: str, facts: dict[str, object], raised: BaseException | None
    ) -> None:
        """Write one event."""
        at = datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
        time = f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03}Z"
        line = {"timestamp": time, "level": LEVELS[level], "event": event, **facts}
        stream = self._stream or sys.stderr
        with contextlib.suppress(OSError, ValueError):  # nobody reads it: the work goes on
            stream.write(f"{self._render(line, _trace(raised))}\n")
            stream.flush()


class HostWriter:
    """Hands events to the handlers that the program has for our logger; while it has none, writes
    them as lines."""

    def __init__(self, lines: LineWriter) -> None:
        self._lines = lines

    def hears(self, level: int) -> bool:
        """Whether somebody gets events of this level."""
        if has_handlers(LOGGER):
            return LOGGER.isEnabledFor(level)
        return level >= LOGGER.level and not LOGGER.disabled

    def write(
        self, level: int, event: str, facts: dict[str, object], raised: BaseException | None
    ) -> None:
        """Write one event."""
        if not has_handlers(LOGGER):
            if self.hears(level):
                self._lines.write(level, event, facts, raised)
            return
        trace = _trace(raised)
        if escaped(trace) != trace:  # no terminal or file can be sent some of it
            facts, raised = {**facts, "exception": escaped(trace)}, None
        extra = {"event": event, "facts": facts}
        text = escaped_line(event).replace("%", "%%") + " %s" if facts else escaped_line(event)
        args = (_Facts(facts),) if facts else ()
        LOGGER.log(level, text, *args, exc_info=raised, extra=extra, stacklevel=CALLER)


class OwnHandler(logging.Handler):
    """A handler of ours: it is not the program's wish to have our events."""


def has_handlers(logger: logging.Logger) -> bool:
    """Whether the program has a handler, not ours, that gets what this logger logs."""
    found: logging.Logger | None = logger
    while found is not None:
        if any(not isinstance(each, OwnHandler | logging.NullHandler) for each in found.handlers):
            return True
        found = found.parent if found.propagate else None
    return False


class _Facts:
    """Facts that become text when a handler writes them."""

    def __init__(self, facts: dict[str, object]) -> None:
        self._facts = facts

    def __str__(self) -> str:
        return _pairs(self._facts)


def _trace(raised: BaseException | None) -> str:
    return "".join(traceback.format_exception(raised)).rstrip() if raised else ""


def _pairs(facts: dict[str, object]) -> str:
    return escaped_json(" ".join(f"{name}={_word(value)}" for name, value in facts.items()))


def _as_text(line: dict[str, object], trace: str) -> str:
    # Indented: no text in an exception can pass for a line of the log.
    below = "".join(f"\n  {escaped_line(each)}" for each in trace.splitlines())
    return _pairs(line) + below


def _word(value: object) -> str:
    text = str(value)
    if text and not UNPLAIN.search(text):
        return text
    return json.dumps(text, ensure_ascii=False)


def _as_json(line: dict[str, object], trace: str) -> str:
    told = {**line, "exception": trace} if trace else line
    return escaped_json(json.dumps(told, default=str, ensure_ascii=False))


def make_log(
    level: str = "info",
    stream: TextIO | None = None,
    form: str = "text",
    clock: Clock | None = None,
) -> Log:
    """Make a log to a stream; without one, to the program's handlers of "postroad", else to
    standard error. Lines are key=value or JSON."""
    clock = clock or SystemClock()
    floor = logging.getLevelNamesMapping()[level.upper()]
    lines = LineWriter(stream, form, clock)
    if stream is not None:
        return RoadLog(floor, clock, lines.write, lambda _: True)
    host = HostWriter(lines)
    return RoadLog(floor, clock, host.write, host.hears)


def log_levels(
    log: Log,
    intervals_s: tuple[float, ...] = POLL_INTERVALS_S,
) -> None:
    """Log what polling by retry level would cost while notifications are down: the sum at info,
    each level at debug."""
    per_hour = queries_per_hour(intervals_s)
    log.info(
        "retry levels: store queries per hour while notifications are down",
        levels=len(per_hour),
        queries=sum(per_hour),
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
    proxies = read_proxies(rules.proxies)
    log.info(
        "webhook guard",
        allow=", ".join(rules.allow) or "no private or special network",
        deny=", ".join(rules.deny) or "none beside those",
        schemes="http, https" if rules.http else "https",
        ports=", ".join(map(str, rules.ports)) or "all",
        proxy=proxy_text(proxies.pop("", None)) or "none",
        tenants_with_own_proxy=len(proxies),
    )
