"""processes: handlers of 1 ms of pure Python, in two processes against one, on both databases."""

import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from bench.databases import start_server
from bench.pg_roads import drain_busy
from bench.shape import RunFailed, Say, Seen
from bench.stand import ROOT

NAME = "processes"
SECONDS = 90.0
ROUND_S = 30.0
"""Of four runs."""
MESSAGES = 6_000
"""Two processes that start together need a quarter of a second to share the lanes: the drain must
last much longer than that."""
BUSY_US = 1_000
PROCESSES = 2


def watch(folder: Path, seconds: float, say: Say) -> Seen:
    """Rounds of one and two processes, in turn."""
    server = start_server()
    rates: dict[str, list[float]] = defaultdict(list)
    agreed: list[bool] = []
    for number in range(max(1, int(seconds / ROUND_S))):
        order = (1, PROCESSES) if number % 2 == 0 else (PROCESSES, 1)
        for count in order:
            (taken,) = drain_busy(
                folder, 0.0, server=server.dsn(), workers=count, busy_us=BUSY_US, least=MESSAGES
            )
            rates[f"postgres-{count}"].append(taken.rate)
            agreed.append(taken.agrees)
        for count in order:
            with TemporaryDirectory(dir=folder) as own:
                said = _on_sqlite(Path(own), 0 if count == 1 else count)
            rates[f"sqlite-{count}"].append(MESSAGES / said["seconds"])
            agreed.append(said["recorded"] == said["received"] == MESSAGES)
        say(f"round {number + 1}: { {name: round(each[-1]) for name, each in rates.items()} }")
    medians = {name: statistics.median(each) for name, each in rates.items()}
    ratios = {
        f"{name}-two-times-one": medians[f"{name}-{PROCESSES}"] / medians[f"{name}-1"]
        for name in ("postgres", "sqlite")
    }
    counts = {"counts-agree": sum(agreed) / len(agreed)}
    return Seen(dict(medians), {}, {"cores": PROCESSES}, {**ratios, **counts})


def _on_sqlite(folder: Path, processes: int) -> dict[str, float]:
    words = (sys.executable, "-m", "bench.process_road", folder, str(MESSAGES), str(processes))
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RunFailed(done.stderr)
    return msgspec.json.decode(done.stdout, type=dict[str, float])
