"""What `postroad top` draws: trouble first, then lanes and queues, then jobs and workers."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct

from postroad.cli.charts import late_text, rate_text, sparkline
from postroad.cli.jobs import come_cells
from postroad.cli.printing import ago, cut, grid
from postroad.model.terminal_text import escaped_line
from postroad.model.wording import duration_text

Look = dict[str, Any]
Cells = Sequence[object]
BUCKET_S: Final = 10
HELD: Final = ("blocked_queues", "paused_queues", "disabled_endpoints")
LATE_MS: Final = 60_000
"""A message that is due for longer, and that nothing holds, is trouble."""
LOST_MS: Final = 3_600_000
"""Workers that were lost within this time are trouble."""
ROWS_LEAST, ROWS_MOST = 3, 1_000
WIDE: Final = 110
LANE_SPARK: Final = 30
"""Buckets in the sparkline of a lane, on a wide terminal."""


class Part(Struct, frozen=True):
    """A table of the view; its columns are named as `grid` reads them."""

    columns: tuple[str, ...]
    rows: list[Cells]
    spare: bool = False
    """Whether it is shown only where the others have left space."""


def drawn(look: Look, width: int, height: int) -> list[str]:
    """The lines of the view, as many and as long as fit."""
    top = [*_head(look, width), "", *_trouble(look, max(ROWS_LEAST, height // 3)), ""]
    tables = (_lanes(look, width), _queues(look), _jobs(look), _workers(look), _levels(look))
    parts = [part for part in tables if part.rows]
    for part, rows in zip(parts, _shares(parts, height - len(top)), strict=True):
        if rows:
            top += [*_table(part, rows), ""]
    return [cut(escaped_line(line), width) for line in top[:height]]


def _shares(parts: Sequence[Part], lines: int) -> list[int]:
    """How many rows each part gets: one each, then a few, then the first ones what is left."""
    rows = [0] * len(parts)
    for most in (1, ROWS_LEAST, ROWS_MOST):
        for n, part in enumerate(parts):
            if part.spare and most < ROWS_MOST:
                continue
            around = 0 if rows[n] else 3  # its head of two lines, and an empty one
            more = min(len(part.rows), most) - rows[n]
            more = max(0, min(more, lines - around))
            rows[n] += more
            lines -= more + around if more else 0
    return rows


def _table(part: Part, most: int) -> list[str]:
    first, *others = part.columns
    if len(part.rows) > most:
        name = first.rstrip("~")
        first = f"{name} ({most} of {len(part.rows)}){first.removeprefix(name)}"
    return grid((first, *others), part.rows[:most])


# The head


def _head(look: Look, width: int) -> list[str]:
    stats = look["stats"]
    minute, now_ms = stats["minute"], stats["now_ms"]
    counts = [f"{stats[name]:,} {name}" for name in ("waiting", "held", "uncertain")]
    counts += [f"{sum(stats['dead'].values()):,} dead"]
    counts += [f"oldest due {ago(stats['oldest_due_ms'], now_ms)}"]
    outcomes = [f"{count:,} {kind}" for kind, count in minute["tries"].items()]
    tried = f"last minute: {rate_text(minute['tries_per_second'])} tries/s"
    late = f"late p50 {late_text(minute['late_p50_ms'])}, p99 {late_text(minute['late_p99_ms'])}"
    return ["   ".join(counts), "   ".join([tried, late, *outcomes]), _line(look, width)]


def _line(look: Look, width: int) -> str:
    """Tries a second over the last minutes, as a sparkline."""
    figures = look["figures"]
    rates = series(figures)[-max(10, width - 40) :]
    most = rate_text(max(rates, default=0))
    minutes = len(rates) * BUCKET_S / 60
    return f"{sparkline(rates)}│ tries/s, last {minutes:.0f} min, most {most}"


def series(figures: Look, name: str | None = None) -> list[float]:
    """Tries a second in each complete bucket of ten seconds, of one family or of all."""
    first = figures["since_ms"] // 1000 // BUCKET_S
    sums = [0.0] * max(0, figures["complete_until_ms"] // 1000 // BUCKET_S - first)
    for point in figures["points"]:
        place = point["at_ms"] // 1000 // BUCKET_S - first
        if name in (None, point["name"]) and 0 <= place < len(sums):
            sums[place] += sum(point["tries"].values()) / BUCKET_S
    return sums


# Trouble


def _trouble(look: Look, most: int) -> list[str]:
    found = list(troubles(look))
    if not found:
        return ["no trouble"]
    shown = found if len(found) <= most else found[: most - 1]
    rest = [f"! and {len(found) - len(shown)} more"] if len(shown) < len(found) else []
    return [f"! {each}" for each in shown] + rest


def troubles(look: Look) -> Iterable[str]:
    """What is wrong, the worst first, each with its reason."""
    stats, now_ms = look["stats"], look["stats"]["now_ms"]
    yield from _missing_workers(look)
    for lane in look["lanes"]:
        if lane["circuit"]["opened"]:
            probe_ms = max(0, lane["circuit"]["until_ms"] - now_ms)
            yield (
                f"circuit open: {lane['transport']} {lane['server']}, {lane['held']:,} held, next "
                f"probe in {duration_text(probe_ms)}: {lane['circuit']['reason']}"
            )
    for queue in sorted(look["queues"], key=lambda row: -row["held"]):
        if queue["held"] and not queue["because"].startswith("circuit open"):
            yield f"held: {queue['held']:,} of {queue['queue']}: {queue['because']}"
    yield from _unlisted(look)
    minute, hour = stats["minute"]["dead"], stats["hour"]["dead"]
    if minute or hour:
        lately = f"{minute:,} in the last minute, " if minute else ""
        yield f"the dead set grew: by {lately}{hour:,} in the last hour"
    if stats["uncertain"]:
        yield f"{stats['uncertain']:,} uncertain: settle them with `postroad message settle`"
    if stats["uncertain_recipients"]:
        yield (
            f"{stats['uncertain_recipients']:,} recipients of campaigns are uncertain: "
            "settle them with `postroad campaign settle`"
        )
    due_ms = stats["oldest_due_ms"]
    if due_ms and now_ms - due_ms > LATE_MS:
        yield f"late: the first message is due for {ago(due_ms, now_ms)}, and nothing holds it"


def _unlisted(look: Look) -> Iterable[str]:
    """How many there are besides: of a large road only the first lanes and queues are listed."""
    stats, lanes, queues = look["stats"], look["lanes"], look["queues"]
    circuits = stats["open_circuits"] - sum(lane["circuit"]["opened"] > 0 for lane in lanes)
    if circuits > 0:
        yield f"{circuits:,} more circuits are open: see `postroad lanes`"
    listed = sum((row["block"] != "") + row["paused"] for row in queues)
    blocked = sum(stats[name] for name in HELD) - listed
    if blocked > 0:
        yield f"{blocked:,} more queues are blocked or paused: see `postroad queues`"


def _missing_workers(look: Look) -> Iterable[str]:
    stats, workers = look["stats"], look["workers"]
    if workers is None:
        return
    now_ms = stats["now_ms"]
    if stats["waiting"] and all(worker["state"] == "lost" for worker in workers):
        yield f"nobody delivers: {stats['waiting']:,} messages wait, and no worker is alive"
    for worker in workers:
        if worker["state"] == "lost" and now_ms - worker["heard_at_ms"] < LOST_MS:
            silent = ago(worker["heard_at_ms"], now_ms)
            yield f"lost: worker {worker['pid']} on {worker['host']}, silent for {silent}"


# The tables


def _lanes(look: Look, width: int) -> Part:
    """Lanes to the same server or handler are one row."""
    rows: dict[str, dict[str, Any]] = {}
    for lane in look["lanes"]:
        name = f"{lane['transport']}:{lane['server']}"
        row = rows.setdefault(name, {"lanes": 0, "waiting": 0, "held": 0, "because": ""})
        for each in ("waiting", "held"):
            row[each] += lane[each]
        row["lanes"] += 1
        row["because"] = row["because"] or lane["because"]
    for point in look["figures"]["points"]:
        rows.setdefault(point["name"], {"lanes": 0, "waiting": 0, "held": 0, "because": ""})
    rates = {name: series(look["figures"], name) for name in rows}
    busy = {name: sum(each[-6:]) / max(1, len(each[-6:])) for name, each in rates.items()}
    spark = LANE_SPARK if width >= WIDE else 0
    order = sorted(
        rows, key=lambda name: (-rows[name]["held"], -busy[name], -rows[name]["waiting"])
    )
    cells: list[Cells] = [
        (
            name,
            rows[name]["lanes"],
            rows[name]["waiting"],
            rows[name]["held"],
            rate_text(busy[name]),
            late_text(_p99(look, name)),
            *([sparkline(rates[name][-spark:])] if spark else []),
            rows[name]["because"],
        )
        for name in order
    ]
    lately = (f"last {spark * BUCKET_S // 60} min",) if spark else ()
    heads = (
        "lanes to~~",
        "lanes#",
        "waiting#",
        "held#",
        "tries/s#",
        "late p99#",
        *lately,
        "because~",
    )
    return Part(heads, cells)


def _p99(look: Look, name: str) -> int | None:
    """The worst of the last minute's buckets."""
    since_ms = look["figures"]["complete_until_ms"] - 60_000
    found = [
        point["late_p99_ms"]
        for point in look["figures"]["points"]
        if point["name"] == name and point["at_ms"] >= since_ms
    ]
    return max((each for each in found if each is not None), default=None)


def _queues(look: Look) -> Part:
    order = sorted(look["queues"], key=lambda row: (-row["held"], -row["waiting"], row["queue"]))
    names = ("waiting", "held", "dead")
    cells: list[Cells] = [
        (row["queue"], *(row[name] for name in names), row["because"]) for row in order
    ]
    return Part(("queue~~", *(f"{name}#" for name in names), "because~"), cells)


def _jobs(look: Look) -> Part:
    """Jobs that run and tell how far they have come."""
    now_ms = look["stats"]["now_ms"]
    cells: list[Cells] = [
        (
            row["queue"],
            row["id"],
            *come_cells(row["progress"]),
            ago(row["progress"]["at_ms"], now_ms),
        )
        for row in look["jobs"] or ()
    ]
    return Part(("job~", "id", "done#", "%#", "note~", "told#"), cells)


def _workers(look: Look) -> Part:
    now_ms = look["stats"]["now_ms"]
    order = sorted(look["workers"] or (), key=lambda row: (row["state"] == "lost", -row["lanes"]))
    cells: list[Cells] = [
        (
            f"{row['host']} {row['pid']}",
            row["state"],
            row["lanes"],
            row["version"],
            ago(row["started_at_ms"], now_ms),
            ago(row["heard_at_ms"], now_ms),
        )
        for row in order
    ]
    return Part(("worker~", "state", "lanes#", "version", "started#", "heard#"), cells)


def _levels(look: Look) -> Part:
    now_ms = look["stats"]["now_ms"]
    cells: list[Cells] = [
        (row["level"], row["waiting"], row["held"], ago(row["oldest_due_ms"], now_ms))
        for row in look["levels"]
        if row["waiting"] or row["held"]
    ]
    return Part(("level#", "waiting#", "held#", "oldest due#"), cells, spare=True)
