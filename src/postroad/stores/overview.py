"""Converts rows of the overview statements, which SQLite and PostgreSQL share, to values."""

from typing import Any, Final

from postroad.model.circuit import Circuit
from postroad.model.facts import Owner
from postroad.model.holds import one_of
from postroad.model.overview import LaneRow, MessageCount, QueueRow
from postroad.model.states import NEVER, State

LOOKED_AT: Final = 300
"""Queues of a tenant, and rungs with messages, that a brief overview looks at."""
Row = tuple[Any, ...]


def read_queue(row: Row) -> QueueRow:
    """Convert a row of a page of queues."""
    tenant, name, transport, paused_at, kind, until_ms, reason, *holds, oldest_ms = row
    because, reasons, waiting, held, uncertain, dead = holds
    return QueueRow(
        tenant,
        name,
        transport,
        paused_at > 0,
        block=kind,
        block_until_ms=until_ms if kind and until_ms < NEVER else None,
        block_reason=reason,
        waiting=waiting,
        held=held,
        because=one_of(because, reasons),
        uncertain=uncertain,
        dead=dead,
        oldest_due_ms=oldest_ms,
    )


def read_lane(row: Row) -> LaneRow:
    """Convert a row of a page of lanes."""
    number, tenant, transport, server, shard, paused_at, *circuit = row[:11]
    process, host, pid, beat_at, queues, because, reasons, *counts, uncertain = row[11:]
    owner = Owner(process, host, pid, beat_at) if process is not None else None
    key = (number, tenant, transport, server, shard)
    counts += [one_of(because, reasons), uncertain]
    return LaneRow(*key, paused_at > 0, Circuit(*circuit), owner, queues, *counts)


def read_count(row: Row) -> MessageCount:
    """Convert a row that counts messages by transport, level and state."""
    transport, level, state, count, oldest_ms = row
    return MessageCount(transport, level, State(state), count, oldest_ms)
