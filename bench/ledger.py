"""Arrivals that child processes write too: shared memory, one place for each number."""

import mmap
import struct
import time

SIZE = 16
ENTRY = struct.Struct("dq")


class Ledger:
    """When each number arrived first, and how often. Made before a worker forks."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._memory = mmap.mmap(-1, max(count, 1) * SIZE)

    def note(self, number: int) -> None:
        """It is here."""
        moment, times = ENTRY.unpack_from(self._memory, number * SIZE)
        ENTRY.pack_into(self._memory, number * SIZE, moment or time.perf_counter(), times + 1)

    def entries(self) -> list[tuple[float, int]]:
        """Of those that arrived."""
        all_of_them = [ENTRY.unpack_from(self._memory, n * SIZE) for n in range(self.count)]
        return [(moment, times) for moment, times in all_of_them if times]

    @property
    def arrived(self) -> int:
        """How many did."""
        return len(self.entries())

    @property
    def once(self) -> int:
        """How many came, less those that came twice."""
        return sum(1 if times == 1 else -times for _, times in self.entries())

    @property
    def seconds(self) -> float:
        """From the first to the last."""
        moments = [moment for moment, _ in self.entries()]
        return max(moments) - min(moments)
