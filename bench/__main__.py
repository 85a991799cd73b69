"""`python -m bench NAME --seconds N`: exit 0 all bars hold, 1 one is missed, 2 not comparable."""

import argparse
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any, cast

import msgspec
from rich.console import Console

from bench import (
    batches,
    blocked,
    campaign,
    engine_postgres,
    engine_sqlite,
    fanout,
    hub,
    idle,
    ingest,
    lanes,
    lists,
    mail,
    pages,
    processes,
    rabbitmq,
    report,
    webhooks,
)
from bench.disk import HERE, TEMPORARY, refuse_memory, workspace
from bench.rounds import Standings, hold, plan
from bench.shape import Bar, Benchmark, Besides, Refused, RunFailed, Watch

ROUNDS_S = 60.0
# Adding one: a module with NAME, SLICE_S, lineup and reached, named here, with floors in bars.toml.
BENCHMARKS: dict[str, Benchmark] = {
    module.NAME: cast("Benchmark", module)
    for module in (
        *(engine_sqlite, engine_postgres, blocked, webhooks, ingest, campaign, rabbitmq),
        mail,
    )
}
# Those that have no rounds: a module with NAME, SECONDS and watch.
WATCHES: dict[str, Watch] = {
    each.NAME: cast("Watch", each)
    for each in (idle, lanes, lists, hub, fanout, processes, pages, batches)
}


def main(arguments: list[str]) -> int:
    asked = _arguments(arguments)
    console = Console(width=None if sys.stdout.isatty() else 120, highlight=False, markup=False)
    look = _watch if asked.name in WATCHES else _measure
    try:
        content = look(asked, console)
    except (Refused, RunFailed) as error:
        console.print(f"{asked.name}: {error}", style="red")
        nothing = {"bench": asked.name, "ours": {}, "peers": {}, "limit": {}, "bars": []}
        _last_line({**nothing, "error": str(error)})
        return 2 if isinstance(error, Refused) else 1
    report.save(asked.results / f"{asked.name}.json", content, asked.seconds)
    _last_line(content)
    return 0 if all(bar["holds"] for bar in content["bars"]) else 1


def _arguments(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=sorted(BENCHMARKS | WATCHES))
    parser.add_argument("--seconds", type=float, help="for all rounds together; 60")
    parser.add_argument("--folder", type=Path, default=TEMPORARY, help="where the data lies")
    parser.add_argument("--bars", type=Path, default=HERE / "bars.toml", help="the floors")
    parser.add_argument("--results", type=Path, default=HERE / "results")
    asked = parser.parse_args(arguments)
    if asked.seconds is None:
        asked.seconds = WATCHES[asked.name].SECONDS if asked.name in WATCHES else ROUNDS_S
    if asked.seconds <= 0:
        parser.error("--seconds: give a positive number")
    return asked


def _measure(asked: argparse.Namespace, console: Console) -> dict[str, Any]:
    benchmark = BENCHMARKS[asked.name]
    floors = tomllib.loads(asked.bars.read_text())
    filesystem = refuse_memory(asked.folder)
    say = partial(console.print, soft_wrap=True)
    with console.status(f"{asked.name} …"), workspace(asked.folder) as folder:
        lineup = benchmark.lineup(folder, say)
        slices = sum(run.slices for run in lineup)
        around_s = getattr(benchmark, "AROUND_S", 0.0) * len(lineup)
        planned = plan(asked.seconds, slices, benchmark.SLICE_S, around_s)
        say(
            f"{asked.name}: {planned.rounds} rounds of {len(lineup)} runs, "
            f"{planned.slice_s:.2g} s for each of {slices} slices, on {filesystem}"
        )
        standings = hold(lineup, planned, folder, say)
    bars = judge(benchmark, standings, floors)
    report.show(console, asked.name, standings, bars)
    line = report.line(asked.name, standings, filesystem, bars)
    # Some figures have others that say what they are worth.
    beside = benchmark.beside(standings) if isinstance(benchmark, Besides) else {}
    for name, ratio in beside.items():
        say(f"{name}: {ratio}")
    line["limit"] |= beside
    return line


def _watch(asked: argparse.Namespace, console: Console) -> dict[str, Any]:
    watch = WATCHES[asked.name]
    floors = tomllib.loads(asked.bars.read_text())
    refuse_memory(asked.folder)
    say = partial(console.print, soft_wrap=True)
    with console.status(f"{asked.name} …"), workspace(asked.folder) as folder:
        seen = watch.watch(folder, asked.seconds, say)
    wanted = {**floors["every"], **floors[asked.name]}
    bars = [Bar(bar, floor, seen.reached[bar]) for bar, floor in wanted.items()]
    for side, figures in (("ours", seen.ours), ("beside it", seen.peers), ("at most", seen.limit)):
        say(f"{side}: {figures}")
    report.show_bars(console, bars)
    sides = {"ours": seen.ours, "peers": seen.peers, "limit": seen.limit}
    return {"bench": asked.name, **sides, "bars": report.judged(bars)}


def judge(
    benchmark: Benchmark, standings: Standings, floors: dict[str, dict[str, float]]
) -> list[Bar]:
    """Every floor of the table, and what was reached of it."""
    reached = {"counts-agree": standings.agreement(), **benchmark.reached(standings)}
    wanted = {**floors["every"], **floors[benchmark.NAME]}
    return [Bar(bar, floor, reached[bar]) for bar, floor in wanted.items()]


def _last_line(content: dict[str, Any]) -> None:
    sys.stdout.write(msgspec.json.encode(content).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
