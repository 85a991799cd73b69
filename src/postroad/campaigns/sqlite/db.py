"""One transaction on the file: this room's queries by name."""

from typing import Any, Final

import apsw

from postroad.ports.sql import load

QUERIES: Final = load("postroad.campaigns.sqlite")
Row = tuple[Any, ...]
Value = int | str | bytes | None


class Db:
    """A connection that knows the queries by name."""

    def __init__(self, connection: apsw.Connection, now_ms: int) -> None:
        self.connection = connection
        self.now_ms = now_ms

    def all(self, name: str, *values: Value) -> list[Row]:
        """All rows of a query."""
        return self.connection.execute(QUERIES[name], values).fetchall()

    def one(self, name: str, *values: Value) -> Row | None:
        """The first row of a query, or None."""
        rows = self.all(name, *values)
        return rows[0] if rows else None

    def run(self, name: str, *values: Value) -> None:
        """A query without an answer."""
        self.connection.execute(QUERIES[name], values)

    def changed(self, name: str, *values: Value) -> int:
        """A query without an answer; how many rows it changed."""
        self.run(name, *values)
        return self.connection.changes()
