"""Watches the engine's own connections, and reads their pragmas back while they write."""

from typing import Any

import apsw

from bench.shape import Durability


class Witness:
    """Sees every apsw connection that this process opens from now on."""

    def __init__(self, *, always_full: bool = False) -> None:
        self._connections: list[apsw.Connection] = []
        self._always_full = always_full
        self.accepting = 0
        self.recording = 0
        apsw.connection_hooks.append(self._see)

    def _see(self, connection: apsw.Connection) -> None:
        self._connections.append(connection)
        if self._always_full:
            connection.authorizer = _full_only

    def watch(self) -> None:
        """From now on note `synchronous` at each insert; slow, so not while time is taken."""
        for connection in self._connections:
            connection.exec_trace = self._trace

    def _trace(self, cursor: apsw.Cursor, sql: str, _bindings: object) -> bool:
        if "into message" in sql:
            self.accepting = _pragma(cursor.connection, "synchronous")
        elif "into history" in sql:
            self.recording = _pragma(cursor.connection, "synchronous")
        return True

    def durability(self) -> Durability:
        """What was seen; the connections must be open and at rest."""
        for connection in self._connections:
            connection.exec_trace = None
        modes = {_pragma(connection, "journal_mode") for connection in self._connections}
        return Durability("+".join(sorted(modes)), self.accepting)


def _full_only(action: int, name: str | None, value: str | None, *_: object) -> int:
    """`pragma synchronous = normal` does nothing: results are recorded with FULL as well."""
    weaker = action == apsw.SQLITE_PRAGMA and name == "synchronous" and value == "normal"
    return apsw.SQLITE_IGNORE if weaker else apsw.SQLITE_OK


def _pragma(connection: apsw.Connection, name: str) -> Any:
    return connection.execute(f"pragma {name}").get
