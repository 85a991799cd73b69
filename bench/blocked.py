"""blocked: what 1,000,000 messages of blocked queues cost the healthy queues on their lanes."""

from pathlib import Path

from bench import mailboxes
from bench.shape import Rates, Run, Say

NAME = "blocked"
SLICE_S = 1.0
BLOCKED = 1_000_000

WITH, WITHOUT = f"{BLOCKED:,} blocked", "none blocked"


def lineup(folder: Path, say: Say) -> list[Run]:
    """Two files are built once; every run starts from a copy of its own."""
    empty, full = mailboxes.build(folder, BLOCKED, say)
    return [
        Run("ours", WITH, "bench.mailboxes:run", {"start": str(full), "blocked": BLOCKED}),
        Run("limit", WITHOUT, "bench.mailboxes:run", {"start": str(empty), "blocked": 0}),
    ]


def reached(rates: Rates) -> dict[str, float]:
    """The share of their throughput that healthy queues keep."""
    return {"share-kept": rates.rate("healthy") / rates.rate("healthy", "limit")}
