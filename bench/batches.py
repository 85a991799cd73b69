"""batches: the members of one batch drain as quickly as plain messages, on two worker processes."""

import statistics
from collections import defaultdict
from pathlib import Path

from bench.databases import start_server
from bench.pg_roads import drain_batch, drain_busy
from bench.shape import Say, Seen, Taken

NAME = "batches"
SECONDS = 90.0
ROUND_S = 20.0
"""Of two runs of a full size, on a machine that does other things too."""
MESSAGES = 150_000
"""Two processes that start together need a third of a second to share the lanes: the drain must last
much longer than that."""
PROCESSES = 2


def watch(folder: Path, seconds: float, say: Say) -> Seen:
    """Rounds of plain messages and of one batch, in turn. In less time than one round takes there are
    fewer messages."""
    server = start_server()
    rates: dict[str, list[float]] = defaultdict(list)
    agreed: list[bool] = []
    count = max(500, int(MESSAGES * min(1.0, seconds / ROUND_S)))
    try:
        for number in range(max(1, int(seconds / ROUND_S))):
            order = ("plain", "one-batch") if number % 2 == 0 else ("one-batch", "plain")
            for how in order:
                taken = _drain(folder, how, count, server.dsn())
                rates[how].append(taken.rate)
                agreed.append(taken.agrees)
            say(f"round {number + 1}: { {how: round(each[-1]) for how, each in rates.items()} }")
    finally:
        server.close()
    shares = [one / plain for one, plain in zip(rates["one-batch"], rates["plain"], strict=True)]
    reached = {
        "share-of-plain": statistics.median(shares),
        "counts-agree": sum(agreed) / len(agreed),
    }
    medians = {how: statistics.median(each) for how, each in rates.items()}
    return Seen(dict(medians), {}, {"messages": count, "processes": PROCESSES}, reached)


def _drain(folder: Path, how: str, count: int, server: str) -> Taken:
    if how == "plain":
        options = {"busy_us": 0, "least": count}
        (taken,) = drain_busy(folder, 0.0, server=server, workers=PROCESSES, **options)
    else:
        (taken,) = drain_batch(folder, count, server=server, workers=PROCESSES)
    return taken
