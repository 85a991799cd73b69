"""The words of a benchmark: a run is one start of one contestant, a taken is what it gave."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

Side = Literal["ours", "peers", "limit"]
Say = Callable[[str], None]
Options = dict[str, int | str]


class Durability(Struct, frozen=True, order=True):
    """Read back from a live connection, never from what was asked for."""

    journal_mode: str
    synchronous: int
    """While a message is accepted: 2 is FULL, each commit is on the disk before it is answered."""


NO_STORE = Durability("no store", 2)
"""Of a contestant that keeps nothing: it is beside the comparison, not in it."""


class Taken(Struct, frozen=True):
    """What a contestant did in one round, as its store and its sink say."""

    name: str
    accepted: int
    recorded: int
    received: int
    timed: int
    """How many of them went through in `seconds`; the others warmed up or probed."""
    seconds: float
    cpu_s: float
    durability: Durability
    recording: int = 2
    """`synchronous` while results are recorded."""
    late_us: list[list[int]] = []
    """How late each one was, part by part, where this is what is asked."""
    left_out: int = 0
    """How many of them were not looked at, because the machine stood still or others were busy."""
    others: float = 0.0
    """The most that other programs used of the machine in any part that is looked at."""

    @property
    def rate(self) -> float:
        """Messages a second, from the first one handed over to the last one recorded."""
        return self.timed / self.seconds

    @property
    def cpu_us(self) -> float:
        """Processor time for each, in all threads and processes of the contestant."""
        return self.cpu_s / self.timed * 1e6

    @property
    def agrees(self) -> bool:
        """Nothing was lost on the way, and nothing came twice."""
        return self.accepted == self.recorded == self.received > 0


class Run(Struct, frozen=True):
    """One start of one contestant, in a process of its own."""

    side: Side
    setting: str
    call: str
    """`module:function`, called with (folder, seconds, **options); answers a list of Taken."""
    options: Options = {}
    slices: int = 1
    """How much of a round's time it gets."""


class Bar(Struct, frozen=True):
    """A floor and what was reached."""

    bar: str
    floor: float
    reached: float

    @property
    def holds(self) -> bool:
        """Whether it is cleared."""
        return self.reached >= self.floor


class Refused(Exception):
    """The comparison would be unfair, so there is none: exit code 2."""


class RunFailed(Exception):
    """A contestant did not come through: exit code 1."""


class Rates(Protocol):
    """What a benchmark's bars are worked out from."""

    def rate(self, name: str, side: Side = "ours") -> float:
        """The median rate over the rounds, at the best setting."""

    def late_us(self, name: str) -> list[list[int]]:
        """How late each of ours was, part by part, of all rounds."""


class Seen(Struct, frozen=True):
    """What a watch saw: figures of each side, and what each of its bars got."""

    ours: dict[str, object]
    peers: dict[str, object]
    limit: dict[str, object]
    reached: dict[str, float]


@runtime_checkable
class Besides(Protocol):
    """A benchmark whose figures have others that say what they are worth."""

    def beside(self, rates: Rates) -> Mapping[str, Struct]:
        """By name."""


class Watch(Protocol):
    """A module of this package that looks at one thing for some time, without rounds."""

    NAME: str
    SECONDS: float
    """How long, unless it is said."""

    def watch(self, folder: Path, seconds: float, say: Say) -> Seen:
        """Look for so long."""


class Benchmark(Protocol):
    """A module of this package that can be run by its name."""

    NAME: str
    SLICE_S: float
    """How long one run of one contestant should take."""

    def lineup(self, folder: Path, say: Say) -> list[Run]:
        """Prepare what all rounds share; who runs in each round, in which order."""

    def reached(self, rates: Rates) -> dict[str, float]:
        """What each bar of this benchmark got."""
