"""What people see (a table) and what programs read (one line of JSON)."""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

import apsw
import msgspec
from rich.console import Console
from rich.table import Table

from bench.rounds import Standings
from bench.shape import Bar, Side

SIDES: tuple[Side, ...] = ("ours", "peers", "limit")


def show(console: Console, name: str, standings: Standings, bars: list[Bar]) -> None:
    """The standings and the bars, for people."""
    table = Table(
        "side", "contestant", "setting", "messages/s", "CPU µs each", "rounds", title=name
    )
    for side in SIDES:
        for who in standings.names(side):
            for setting, rate in standings.settings(side, who).items():
                taken = standings.taken[(side, who, setting)]
                cpu_us = median(one.cpu_us for one in taken)
                table.add_row(side, who, setting, f"{rate:,.0f}", f"{cpu_us:,.0f}", str(len(taken)))
    console.print(table)
    syncs_us = sorted(standings.syncs_us)
    console.print(
        f"disk: one fdatasync takes {median(syncs_us):,.0f} µs "
        f"({syncs_us[0]:,.0f} to {syncs_us[-1]:,.0f} over the rounds)"
    )
    show_bars(console, bars)


def show_bars(console: Console, bars: list[Bar]) -> None:
    """Which bars hold, for people."""
    verdicts = Table("bar", "floor", "reached", "")
    for bar in bars:
        word, style = ("holds", "green") if bar.holds else ("missed", "red")
        verdicts.add_row(bar.bar, f"{bar.floor:g}", f"{bar.reached:.3g}", word, style=style)
    console.print(verdicts)


def line(name: str, standings: Standings, filesystem: str, bars: list[Bar]) -> dict[str, Any]:
    """The last line's content."""
    sides: dict[str, dict[str, Any]] = {
        side: {who: _figures(standings, side, who, filesystem) for who in standings.names(side)}
        for side in SIDES
    }
    syncs_us = [round(took) for took in standings.syncs_us]
    sides["limit"]["fdatasync"] = {"median_us": round(median(syncs_us)), "rounds_us": syncs_us}
    return {"bench": name, **sides, "bars": judged(bars)}


def judged(bars: list[Bar]) -> list[dict[str, Any]]:
    """The bars, for programs."""
    return [
        {"bar": b.bar, "floor": b.floor, "reached": round(b.reached, 4), "holds": b.holds}
        for b in bars
    ]


def _figures(standings: Standings, side: Side, who: str, filesystem: str) -> dict[str, Any]:
    settings = standings.settings(side, who)
    best = next(iter(settings))
    taken = standings.taken[(side, who, best)]
    return {
        "messages_per_s": round(settings[best], 1),
        "setting": best,
        "settings": {setting: round(rate, 1) for setting, rate in settings.items()},
        "rounds": [round(one.rate, 1) for one in taken],
        "cpu_us_per_message": round(median(one.cpu_us for one in taken), 1),
        "accepted": sum(one.accepted for one in taken),
        "recorded": sum(one.recorded for one in taken),
        "received": sum(one.received for one in taken),
        "durability": {
            "journal_mode": taken[0].durability.journal_mode,
            "synchronous": taken[0].durability.synchronous,
            "synchronous_while_recording": taken[0].recording,
            "filesystem": filesystem,
        },
    }


def save(path: Path, content: dict[str, Any], seconds: float) -> None:
    """The same with where and when it was measured, for later."""
    path.parent.mkdir(parents=True, exist_ok=True)
    measured = {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": seconds,
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0],
        "machine": platform.machine(),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
    }
    written = msgspec.json.encode({**content, "measured": measured})
    path.write_bytes(msgspec.json.format(written, indent=2) + b"\n")
