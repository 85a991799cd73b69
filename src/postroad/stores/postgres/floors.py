"""Floors: the ready time from which on each level is searched. What lies before has been seen."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from postroad.model.states import NEVER


class FloorQuestion:
    """A claim that is under way."""

    def __init__(self, floors: list[int]) -> None:
        self.floors = floors
        self.next = 0
        self.full = False


class Floors:
    """Times by owner and level: owners serve different pools. A ring for an earlier time, also one
    that comes while a question is under way, moves the floors back."""

    def __init__(self) -> None:
        self._floors: dict[tuple[int, int], int] = {}
        self._unfinished: set[int] = set()
        """Owners that have seen only part of everything: their next claim goes on from there."""

    def ring(self, level: int, at_ms: int) -> None:
        """Note that something is ready at a level from a time on."""
        for key, floor_ms in self._floors.items():
            if key[1] == level and at_ms < floor_ms:
                self._floors[key] = at_ms

    def forget(self) -> None:
        """Search everything again: it is not known what was missed."""
        self._floors = dict.fromkeys(self._floors, 0)
        self._unfinished.clear()

    def leave(self, owner: int) -> None:
        """Forget an owner."""
        self._floors = {key: floor for key, floor in self._floors.items() if key[0] != owner}

    @contextmanager
    def asked(self, owner: int, levels: Sequence[int], *, whole: bool) -> Iterator[FloorQuestion]:
        """Ask, and note from when on to ask `next` time and whether this answer was `full`;
        `whole` asks for everything."""
        keys = [(owner, level) for level in levels]
        start = whole and owner not in self._unfinished
        asked = FloorQuestion([0 if start else self._floors.get(key, 0) for key in keys])
        self._floors |= dict.fromkeys(keys, NEVER)  # what rings meanwhile is lower
        try:
            yield asked
        except BaseException:
            self._lower(zip(keys, asked.floors, strict=True))
            self._unfinished.discard(owner)
            raise
        self._lower((key, asked.next) for key in keys)
        if whole:
            (self._unfinished.add if asked.full else self._unfinished.discard)(owner)

    def _lower(self, found: "Iterator[tuple[tuple[int, int], int]]") -> None:
        for key, floor_ms in found:
            self._floors[key] = min(self._floors.get(key, NEVER), floor_ms)
