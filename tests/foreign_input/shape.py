"""What a door is, and how the work behind it grows: foreign bytes are read in linear time."""

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from msgspec import Struct

GROWN: Final = 16
RATIO_MAX: Final = 64.0
"""Linear work grows as its input does, 16 times, and more when caches are cold; quadratic work would
grow 256 times."""
ROUNDS: Final = 5
AGAIN: Final = 3
FLOOR_S: Final = 20e-6
"""Less than that is the call itself."""

Fill = tuple[bytes, bytes]
"""What stands before and behind what is repeated."""
BARE: Final[Fill] = (b"", b"")
FILLS: Final[Mapping[str, bytes]] = {
    "ats": b"@",
    "backslashes": b"\\",
    "blanks": b" ",
    "braces": b"{",
    "brackets": b"[",
    "colons": b":",
    "commas": b",",
    "dashes": b"-",
    "digits": b"9",
    "dots": b".",
    "equals": b"=",
    "letters": b"a",
    "line ends": b"\r\n",
    "nuls": b"\0",
    "pairs": b"a=b&",
    "percents": b"%41",
    "quotes": b'"',
    "slashes": b"/",
    "tabs": b"\t",
    "ticks": b"`",
    "underscores": b"_",
}


class Door(Struct, frozen=True):
    """A way in for bytes that others made."""

    name: str
    call: Callable[[bytes], object]
    covers: tuple[str, ...]
    """The patterns and parsers in src that it goes through, as `file:name`."""
    size: int = 65_536
    """Of the larger input; below the door's own limit, where it has one."""
    frames: tuple[Fill, ...] = (BARE,)
    fills: tuple[str, ...] = tuple(FILLS)
    shapes: Mapping[str, Callable[[int], bytes]] = {}
    """Hostile in a way of its own: what makes about so many bytes."""
    raises: tuple[type[BaseException], ...] = ()
    """How it says that it does not take something."""

    def inputs(self, size: int) -> dict[str, bytes]:
        """All that is tried, by name."""
        framed = {
            f"{name} in {before[-20:]!r}…{behind[:20]!r}": before
            + FILLS[name] * (size // len(FILLS[name]))
            + behind
            for before, behind in self.frames
            for name in self.fills
        }
        return framed | {name: make(size) for name, make in self.shapes.items()}


def ratio(door: Door, small: bytes, large: bytes) -> float:
    """How much more CPU time of this thread the larger one takes, the least of five of each; and
    once more while it looks bad, on a busy machine."""
    least_s = float("inf")
    before_s = float("inf")
    for _ in range(AGAIN):
        before_s = max(FLOOR_S, min(before_s, *(_once_s(door, small) for _ in range(ROUNDS))))
        for _ in range(ROUNDS):
            least_s = min(least_s, _once_s(door, large))
            if least_s <= RATIO_MAX * before_s:  # more rounds would only make it less
                return least_s / before_s
    return least_s / before_s


def _once_s(door: Door, given: bytes) -> float:
    start_s = time.thread_time()
    with suppress(*door.raises):
        door.call(given)
    return time.thread_time() - start_s


def breaches(door: Door) -> list[str]:
    """The inputs for which the work grows faster than they do."""
    small, large = door.inputs(door.size // GROWN), door.inputs(door.size)
    found = {name: ratio(door, small[name], large[name]) for name in large if name in small}
    return [f"{door.name}: {name}: {x:.0f} times" for name, x in found.items() if x > RATIO_MAX]


def in_pieces(make: Callable[[], Any], data: bytes, size: int = 1) -> None:
    """Hand over byte by byte to what takes pieces; it says True when it wants no more."""
    take = make()
    for at in range(0, len(data), size):
        if take(data[at : at + size]):
            return
