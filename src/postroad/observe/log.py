"""Structured logs: one line an event, `retry_level` with all work."""

import logging
import sys
from typing import TextIO

import structlog

from postroad.model.ladder import POLL_INTERVALS_S, queries_per_hour
from postroad.model.webhook import WebhookRules

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


def make_log(
    level: str = "info", stream: TextIO | None = None, form: str = "text"
) -> structlog.typing.FilteringBoundLogger:
    """A logger that writes to standard error: key=value lines, or lines of JSON."""
    text = structlog.processors.LogfmtRenderer(
        key_order=["timestamp", "level", "event"], bool_as_flag=False
    )
    lazy = structlog.wrap_logger(
        structlog.PrintLogger(stream or sys.stderr),
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer() if form == "json" else text,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[level.upper()]
        ),
    )
    # Bound once: a lazy logger is built anew at every call, 6 µs each.
    log: structlog.typing.FilteringBoundLogger = lazy.bind()
    return log


def log_levels(
    log: structlog.typing.FilteringBoundLogger,
    intervals_s: tuple[float, ...] = POLL_INTERVALS_S,
) -> None:
    """The retry-level table: what polling would cost while the bell is down."""
    log.info("retry-level polling strategy configured")
    per_hour = queries_per_hour(intervals_s)
    for level, (interval_s, queries) in enumerate(zip(intervals_s, per_hour, strict=True)):
        log.info(
            "retry level configuration",
            retry_level=level,
            poll_interval=f"{interval_s:g}s",
            queries_per_hour=queries,
            description=LEVEL_WORDS[min(level, len(LEVEL_WORDS) - 1)],
        )
    log.info(
        "total store queries per hour",
        while_bell_is_down=sum(per_hour),
        generic_polling=GENERIC_POLLING_PER_HOUR,
    )


def log_guard(log: structlog.typing.FilteringBoundLogger, rules: WebhookRules) -> None:
    """What webhooks may reach beside public servers: nobody should have to guess."""
    log.info(
        "webhook guard",
        allow=", ".join(rules.allow) or "no private or special network",
        deny=", ".join(rules.deny) or "none beside those",
        schemes="http, https" if rules.http else "https",
        ports=", ".join(map(str, rules.ports)) or "all",
    )
