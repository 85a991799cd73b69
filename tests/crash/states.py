"""What a road's file says of its messages, by SQL and not by the engine's own words."""

from pathlib import Path

import apsw
from msgspec import Struct

from postroad.model.ids import to_text

# uncertain ones lie on a rung below the first level; held ones on one that is blocked for ever.
STATES = """
select m.id, case when r.level < 0 then 'uncertain'
                  when r.blocked_until >= 4611686018427387904 then 'held'
                  else 'waiting' end, m.attempts, m.level, m.marks, r.lane_id, ''
  from message m join rung r on r.id = m.rung_id
union all select id, state, attempts, level, 0, 0, '' from history
union all select id, 'dead', attempts, level, 0, lane_id, reason from dead
"""


class State(Struct, frozen=True):
    """One message."""

    state: str
    attempts: int
    level: int
    marks: int
    lane: int
    reason: str


class Found(Struct, frozen=True):
    """One file."""

    messages: dict[str, State]
    attempt_rows: int
    lanes_owned: int
    lanes_suspect: int
    twice: list[str]
    """Messages in more than one table, which no moment should show."""
    integrity: str

    def count(self, state: str) -> int:
        return sum(message.state == state for message in self.messages.values())


def look_into(path: Path) -> Found:
    """Read the file; closing it brings its log home, so give it a copy or the last word."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:

        def number(query: str) -> int:
            value = connection.execute(query).get
            return value if isinstance(value, int) else -1

        messages: dict[str, State] = {}
        twice: list[str] = []
        for found, *rest in connection.execute(STATES):
            name = to_text(found)
            twice += [name] if name in messages else []
            messages[name] = State(*rest)
        return Found(
            messages,
            number("select count(*) from attempt"),
            number("select count(*) from lane where owner is not null"),
            number("select count(*) from lane where crashes > 0"),
            twice,
            str(connection.execute("pragma integrity_check").get),
        )
    finally:
        connection.close()
