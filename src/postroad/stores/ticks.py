"""What became of the ticks of schedules: both databases list it alike."""

from postroad.model.ticks import Fate, TickNote
from postroad.stores.statements import Statements


class TickNotes(Statements):
    """Lists what became of ticks."""

    async def tick_notes(self, name: str, after_ms: int, limit: int) -> list[TickNote]:
        """What became of a schedule's ticks after a time, in order."""
        rows = await self.select("insight", "tick_notes", name, after_ms, limit)
        return [TickNote(at, Fate(fate), message, decided) for at, fate, message, decided in rows]
