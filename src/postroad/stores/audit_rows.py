"""Lines of the audit log as rows, the same on both databases."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from postroad.model.audit import AuditCursor, AuditEnd, AuditFilter, AuditLine, AuditOutcome

WHAT: Final = msgspec.json.Decoder(dict[str, str])


def line_values(line: AuditLine) -> tuple[Any, ...]:
    """A new line as the values of its row."""
    who = (line.tenant, line.actor, line.name, line.address)
    came = (line.outcome, line.status, line.count)
    return (line.at_ms, line.ended_at_ms or 0, *who, line.verb, _text(line.what), *came)


def end_values(number: int, end: AuditEnd) -> tuple[Any, ...]:
    """What completes a line."""
    return (number, end.at_ms, end.outcome, end.status, end.count, _text(end.what))


def page_values(which: AuditFilter, after: AuditCursor, limit: int) -> tuple[Any, ...]:
    """What a page is asked for with."""
    times = (which.since_ms, which.until_ms)
    return (which.tenant, *times, which.actor, which.verb, after.at_ms, after.id, limit)


def read_line(row: Sequence[Any]) -> AuditLine:
    """A line from its row."""
    number, at_ms, ended_ms, tenant, actor, name, address, verb, what, outcome, status, count = row
    return AuditLine(
        id=number,
        at_ms=at_ms,
        ended_at_ms=ended_ms or None,
        tenant=tenant,
        actor=actor,
        name=name,
        address=address,
        verb=verb,
        what=WHAT.decode(what),
        outcome=AuditOutcome(outcome),
        status=status,
        count=count,
    )


def _text(what: dict[str, str]) -> str:
    return msgspec.json.encode(what).decode()
