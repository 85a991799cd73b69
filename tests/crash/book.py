"""The lines of the ledger: what senders and handlers say while their process still lives."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cached_property

import msgspec
from msgspec import Struct


class Entry(Struct, frozen=True, omit_defaults=True):
    """One line. `tag` names the parcel: queue/key/life/number, so one key's tags are in order."""

    word: str
    id: str = ""
    tag: str = ""
    attempt: int = 0
    at_ms: int = 0
    note: str = ""

    def line(self) -> bytes:
        return msgspec.json.encode(self) + b"\n"


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Book:
    """The ledger, read. A life is what one engine process wrote, up to "gone"."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries = list(entries)

    def said(self, word: str) -> list[Entry]:
        return [entry for entry in self.entries if entry.word == word]

    @cached_property
    def lives(self) -> "list[Book]":
        """One book for each process that has come and gone."""
        lives, start = [], 0
        for place, entry in enumerate(self.entries):
            if entry.word == "gone":
                lives.append(Book(self.entries[start:place]))
                start = place + 1
        return lives

    @cached_property
    def starts(self) -> Counter[str]:
        return Counter(entry.id for entry in self.said("start"))

    @cached_property
    def successes(self) -> Counter[str]:
        return Counter(entry.id for entry in self.said("done") if entry.note == "ok")

    def in_flight(self) -> set[tuple[str, int]]:
        """Tries, by id and number, that started and did not end."""
        started = {(entry.id, entry.attempt) for entry in self.said("start")}
        return started - {(entry.id, entry.attempt) for entry in self.said("done")}

    def by_key(self) -> dict[tuple[str, str], list[str]]:
        """The tags of each ordered key that were started, in the order of sending."""
        keys: dict[tuple[str, str], set[str]] = defaultdict(set)
        for entry in self.said("start"):
            queue, key, _ = entry.tag.split("/", 2)
            if key != "-":
                keys[(queue, key)].add(entry.tag)
        return {key: sorted(tags) for key, tags in keys.items()}
