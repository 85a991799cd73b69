"""Statements by name: the base of what SQLite and PostgreSQL do alike."""

from abc import ABC, abstractmethod
from typing import Any

Value = int | str | bytes | float | None
Row = tuple[Any, ...]


class Statements(ABC):
    """Runs statements by name. A label says what for, where statements are counted."""

    @abstractmethod
    async def select(self, label: str, name: str, *values: Value) -> list[Row]:
        """Run a statement that changes nothing; answers its rows."""

    @abstractmethod
    async def count(self, label: str, name: str, *values: Value) -> int:
        """Run a statement; answers how many rows it changed."""

    async def changes(self, label: str, name: str, *values: Value) -> bool:
        """Run a statement; answers whether it changed anything."""
        return await self.count(label, name, *values) > 0

    @abstractmethod
    async def insert(self, label: str, name: str, *values: Value) -> int:
        """Run a statement that stores a row; answers its number."""

    async def execute(self, label: str, name: str, *values: Value) -> None:
        """Run a statement that changes something."""
        _ = await self.changes(label, name, *values)  # it need not say what

    async def first(self, label: str, name: str, *values: Value) -> Row | None:
        """Run a statement that changes nothing; answers its first row, or None."""
        rows = await self.select(label, name, *values)
        return rows[0] if rows else None
