"""What an engine process is told to do."""

import random

from msgspec import Struct

from postroad.model.ladder import Steps

LADDER = Steps(retries=2, delays_ms=(20, 40))
KEYS = ("a", "b", "c")
EVERY = ("quick", "plain", "keys", "flaky", "once")


class Parcel(Struct, frozen=True):
    """One message, and what its handler does with it. `tag`: see book.Entry."""

    tag: str
    wait_ms: int = 0
    fails: int = 0
    """So many of its tries fail."""
    kills: bool = False
    """Its handler kills the process."""
    delay_ms: int = 0
    cancels: bool = False
    """Its sender thinks better of it."""
    pause_ms: int = 0
    """How long its sender rests after it."""

    @property
    def queue(self) -> str:
        return self.tag.split("/")[0]

    @property
    def key(self) -> str:
        return self.tag.split("/")[1]


class Order(Struct, frozen=True):
    """One life of an engine process."""

    parcels: list[Parcel] = []
    senders: int = 0
    """So many send one parcel after the other; 0: all are sent at once before the engine runs."""
    drain_s: float = 5.0
    checkpoint_pages: int = 4_000
    tells_when_idle: bool = False
    hurries: bool = False
    """Its handlers wait for nothing: what was slow in one life is quick in the next."""


def tag(queue: str, life: int, number: int, key: str = "-") -> str:
    return f"{queue}/{key}/{life:04}/{number:05}"


def mixed(life: int, count: int, dice: random.Random) -> list[Parcel]:
    """Parcels of all kinds, for the kill rounds."""
    parcels: list[Parcel] = []
    for number in range(count):
        queue = dice.choice(EVERY)
        key = dice.choice(KEYS) if queue == "keys" else "-"
        ways = {"flaky": (0, 1, 2, 9), "keys": (0, 0, 0, 1, 9)}.get(queue, (0,))
        parcels.append(
            Parcel(
                tag(queue, life, number, key),
                wait_ms=dice.choice((0, 0, 1, 3, 8, 20)),
                fails=dice.choice(ways),
                delay_ms=dice.choice((0, 0, 0, 0, 60, 200)),
                cancels=dice.random() < 0.1,
                pause_ms=dice.choice((0, 1, 3, 8)),
            )
        )
    return parcels
