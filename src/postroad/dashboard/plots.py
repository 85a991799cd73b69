"""Plots: bars of tries by what they gave, and lines of lateness, each with its table. The template
draws them as SVG."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import log2
from typing import Any, Final

from msgspec import Struct

from postroad.dashboard.rendering import count, took, upto
from postroad.model.rollup import median_and_p99

WIDE: Final = 640
LEFT: Final = 46
TOP: Final = 8
FLOOR: Final = 168
MINUTE_MS: Final = 60_000
HOUR_MS: Final = 3_600_000
DAY_MS: Final = 86_400_000
BUCKET_S: Final = 10.0
"""Figures are written so often: they need not be read more often."""
WEEK_FRESH_S: Final = 30.0
"""A bar of the week is an hour."""
GOOD: Final = ("delivered",)
SOFT: Final = ("later", "quota", "unreachable", "unknown", "setup")
ALONE: Final = 8
"""How wide a value is drawn that has no neighbour: less can hardly be seen."""
LATE_MARKS: Final = (1, 32, 1_000, 60_000, 3_600_000, DAY_MS, 30 * DAY_MS)
"""Rules of a plot of durations: up to the first that no value is above, and a second at least."""


class Key(Struct, frozen=True):
    """What a colour means."""

    name: str
    style: str


class Slot(Struct, frozen=True):
    """The figures of a stretch of time."""

    at_ms: int
    tries: dict[str, int]
    late: tuple[int, ...]


class Drawn(Struct, frozen=True):
    """A plot with its table; `said` is its summary in words."""

    name: str
    title: str
    said: str
    keys: tuple[Key, ...]
    rules: list[tuple[float, str]]
    times: list[tuple[int, str, str]]
    rows: list[tuple[str, list[str]]]
    paths: list[tuple[str, str]]
    """The style of each, and what is drawn: bars of one colour are one path."""
    first: str = "from"
    """What stands in the first column of the table."""
    none: str = "Nothing was tried in this time."


OUTCOMES: Final = (
    Key("delivered", "fill-good"),
    Key("put off", "fill-warn"),
    Key("failed", "fill-bad"),
)
LATENESS: Final = (Key("half within", "stroke-info"), Key("99 % within", "stroke-soft"))
LEVELS_MIN: Final = 6
"""The axis of a backlog has at least this retry level: the last of the usual ladder."""
BACKLOG: Final = (Key("waiting", "fill-info"), Key("held", "fill-warn"))
Pair = tuple[int | None, int | None]
"""What half of them, and 99 of 100, kept within."""


def slots(points: Sequence[dict[str, Any]], since_ms: int, step_ms: int, many: int) -> list[Slot]:
    """Return the stretches of time from a moment on, with the figures of the points in each."""
    found: list[list[dict[str, Any]]] = [[] for _ in range(many)]
    for one in points:
        at = (one["at_ms"] - since_ms) // step_ms
        if 0 <= at < many:
            found[at].append(one)
    return [_slot(since_ms + n * step_ms, here) for n, here in enumerate(found)]


def _slot(at_ms: int, here: list[dict[str, Any]]) -> Slot:
    tries: dict[str, int] = {}
    for one in here:
        for kind, number in one["tries"].items():
            tries[kind] = tries.get(kind, 0) + number
    late = tuple(map(sum, zip(*(one["late"] for one in here), strict=True)))
    return Slot(at_ms, tries, late)


def deliveries(name: str, title: str, shown: Sequence[Slot]) -> Drawn:
    """Tries by what they gave."""
    parts = [parts_of(slot.tries) for slot in shown]
    top = _round_up(max(map(sum, parts), default=0))
    total = [sum(column) for column in zip(*parts, strict=True)]
    rows = [
        (_at(slot.at_ms), [count(number) for number in part])
        for slot, part in zip(shown, parts, strict=True)
        if any(part)
    ]
    return Drawn(
        name,
        title,
        f"{count(total[0])} delivered, {count(total[1])} put off, {count(total[2])} failed",
        OUTCOMES,
        [(_y(value, top), _short(value)) for value in (0, top / 2, top)],
        _times(shown),
        rows,
        _bars(parts, top, OUTCOMES),
    )


def _bars(
    parts: Sequence[tuple[int, ...]], top: int, keys: tuple[Key, ...]
) -> list[tuple[str, str]]:
    """A path for each colour, of rectangles that stand on those of the colours before."""
    step = (WIDE - LEFT) / max(1, len(parts))
    width = round(step * 0.8, 1)
    base, paths = [0] * len(parts), []
    for which, key in enumerate(keys):
        path = ""
        for n, part in enumerate(parts):
            if number := part[which]:
                low, high = _y(base[n], top), _y(base[n] + number, top)
                base[n] += number
                x, height = round(LEFT + (n + 0.1) * step, 1), round(max(0.8, low - high), 1)
                path += f"M{x} {high}h{width}v{height}h-{width}z"
        if path:
            paths.append((key.style, path))
    return paths


def lateness(name: str, title: str, shown: Sequence[Slot]) -> Drawn:
    """How long after they were due messages were first tried: half of them, and 99 of 100."""
    late = [slot.late for slot in shown if slot.late]
    whole = median_and_p99(tuple(map(sum, zip(*late, strict=True))))
    pairs = [median_and_p99(slot.late) for slot in shown]
    return _within(name, title, shown, [whole, *pairs], "tried")


def answer_times(
    name: str, title: str, shown: Sequence[Slot], points: Sequence[dict[str, Any]], whole: Pair
) -> Drawn:
    """How long answers took, of an endpoint's points."""
    pairs = {one["at_ms"]: (one["took_p50_ms"], one["took_p99_ms"]) for one in points}
    by_slot = [pairs.get(slot.at_ms, (None, None)) for slot in shown]
    return _within(name, title, shown, [whole, *by_slot], "answered")


def _within(
    name: str, title: str, shown: Sequence[Slot], found: Sequence[Pair], done: str
) -> Drawn:
    """Two lines. `found` is the pair of the whole time, then that of each slot."""
    whole, *pairs = found
    known = [value for pair in pairs for value in pair if value is not None]
    most = max(known, default=0)
    top = next((mark for mark in LATE_MARKS[2:] if mark >= most), LATE_MARKS[-1])
    said = f"half in {took(whole[0])}, 99 % in {took(whole[1])}"
    rows = [
        (_at(slot.at_ms), [took(value) for value in pair])
        for slot, pair in zip(shown, pairs, strict=True)
        if pair[0] is not None
    ]
    lines = [
        (LATENESS[which].style, _path([pair[which] for pair in pairs], top)) for which in (1, 0)
    ]
    return Drawn(
        name,
        title,
        said if known else f"nothing was {done}",
        LATENESS,
        [(_log_y(value, top), took(value)) for value in LATE_MARKS if value <= top],
        _times(shown),
        rows,
        [line for line in lines if line[1]],
        none=f"Nothing was {done} in this time.",
    )


def backlog(
    name: str, waiting: Mapping[int, int], held: Mapping[int, int], *, whole: bool = True
) -> Drawn:
    """What waits and what is held at each retry level."""
    levels = range(max((LEVELS_MIN, *waiting, *held)) + 1)
    parts = [(waiting.get(level, 0), held.get(level, 0)) for level in levels]
    top = _round_up(max(map(sum, parts)))
    said = [upto(sum(column), whole) for column in zip(*parts, strict=True)]
    step = (WIDE - LEFT) / len(parts)
    return Drawn(
        name,
        "Backlog by retry level",
        f"{said[0]} waiting, {said[1]} held",
        BACKLOG,
        [(_y(value, top), _short(value)) for value in (0, top / 2, top)],
        [(round(LEFT + (level + 0.5) * step), "middle", str(level)) for level in levels],
        [
            (str(n), [upto(number, whole) for number in part])
            for n, part in enumerate(parts)
            if any(part)
        ],
        _bars(parts, top, BACKLOG),
        "level",
        "Nothing waits.",
    )


def backlog_of(told: dict[str, Any]) -> Drawn:
    """The same of an explained queue or lane."""
    waiting, held = (
        {int(level): number for level, number in told[state].items()}
        for state in ("waiting", "held")
    )
    return backlog("backlog", waiting, held)


def _path(values: list[int | None], top: int) -> str:
    """A line through values, broken where there is none; one alone is a short stroke."""
    step, path, pen = (WIDE - LEFT) / max(1, len(values)), "", "M"
    for n, value in enumerate(values):
        if value is None:
            pen = "M"
            continue
        alone = pen == "M" and values[n + 1 : n + 2] in ([], [None])
        half = max(step * 0.25, ALONE / 2 if alone else 0)
        middle = LEFT + (n + 0.5) * step
        path += f"{pen}{middle - half if pen == 'M' else middle + half:.1f} {_log_y(value, top)}"
        if pen == "M":
            path += f"h{half * 2:.1f}"
        pen = "L"
    return path


def parts_of(tries: dict[str, int]) -> tuple[int, int, int]:
    """Tries that delivered, were put off, and failed."""
    good = sum(tries.get(kind, 0) for kind in GOOD)
    soft = sum(tries.get(kind, 0) for kind in SOFT)
    return good, soft, sum(tries.values()) - good - soft


def _times(shown: Sequence[Slot]) -> list[tuple[int, str, str]]:
    step_ms = shown[1].at_ms - shown[0].at_ms
    long_ms = step_ms * len(shown)
    form = "%H:%M" if long_ms <= DAY_MS * 2 else "%a %d"
    found = []
    for n, anchor in enumerate(("start", "middle", "middle", "middle", "end")):
        at = datetime.fromtimestamp((shown[0].at_ms + long_ms * n / 4) / 1000, UTC)
        found.append((round(LEFT + (WIDE - LEFT) * n / 4), anchor, f"{at:{form}}"))
    return found


def _at(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1000, UTC):%a %d, %H:%M}"


def _y(value: float, top: float) -> float:
    return round(TOP + (FLOOR - TOP) * (1 - value / top), 1)


def _log_y(value: float, top: float) -> float:
    return _y(log2(min(max(1.0, value), top)), log2(top))


def _round_up(most: int) -> int:
    """The least of 4, 10, 20, 40, 100, … that is not smaller."""
    size = 1
    while True:
        for step in (4, 10, 20):
            if most <= step * size:
                return step * size
        size *= 10


def _short(value: float) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"
