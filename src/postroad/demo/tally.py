"""The count at the end: the sender's receipts against the file, reopened after the road closed."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
from msgspec import Struct

from postroad.demo.watch import QUERIES
from postroad.model.ids import to_number


class Death(Struct, frozen=True):
    """Messages of one queue that died of one thing."""

    queue: str
    reason: str
    error: str
    count: int


class DemoCounts(Struct, frozen=True):
    """Where the accepted messages are. `climbs`: level, delivered there, tries they took."""

    accepted: int
    delivered: int
    dead: int
    waiting: int
    lost: int
    climbs: list[tuple[int, int, int]]
    deaths: list[Death]

    def line(self) -> str:
        """The demo's last line."""
        return (
            f"demo: {self.accepted} accepted, {self.delivered} delivered, "
            f"{self.dead} dead, {self.lost} lost"
        )


def tally(path: Path, accepted: Sequence[str]) -> DemoCounts:
    """Look every receipt up in the file."""
    file = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        places: dict[int, str] = dict(_rows(file, "places"))
        found = Counter(places.get(to_number(receipt), "lost") for receipt in accepted)
        return DemoCounts(
            accepted=len(accepted),
            delivered=found["delivered"],
            dead=found["dead"],
            waiting=found["waiting"],
            lost=found["lost"],
            climbs=_rows(file, "climbs"),
            deaths=[Death(*row) for row in _rows(file, "deaths")],
        )
    finally:
        file.close()


def _rows(file: apsw.Connection, query: str) -> list[Any]:
    return file.execute(QUERIES[query]).fetchall()
