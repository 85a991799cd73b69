"""What the store does with the dead set."""

from typing import Protocol

from postroad.model.dead import DeadFilter, DeadLetter, DeadMessage, Place, ReplayMode


class DeadSet(Protocol):
    """Lists, replays and deletes messages that will not be tried again."""

    async def dead_page(self, which: DeadFilter, after: Place, limit: int) -> list[DeadMessage]:
        """Return the dead that the filter names, the latest death first, from a place on."""

    async def dead_letter(self, tenant: str | None, number: int) -> DeadLetter | None:
        """Return one dead message with its body, headers and tries."""

    async def dead_replay(
        self, which: DeadFilter, mode: ReplayMode, *, count: int, dry_run: bool
    ) -> int:
        """Put up to `count` of them, the longest dead first, back on their rungs, due now and
        without a deadline, in one transaction. Named ones may also be exhausted heads that hold
        their order groups; one that is neither raises, and nothing is changed."""

    async def dead_purge(self, which: DeadFilter, *, count: int, dry_run: bool) -> int:
        """Delete up to `count` of them and their tries, the longest dead first, in one
        transaction; a named one that is not dead raises, and nothing is changed."""

    async def dead_trim(self, keep: int) -> int:
        """Delete a slice of the longest dead beyond `keep`; returns how many were deleted."""
