"""ingest: `POST /v1/messages` from 64 connections and NDJSON batches, against the same server
answering without storing."""

from pathlib import Path

from bench.shape import Rates, Run, Say

NAME = "ingest"
SLICE_S = 3.0
BATCHES = {"1,000 lines, 2 connections": (1_000, 2), "5,000 lines, 2 connections": (5_000, 2)}


def lineup(_folder: Path, _say: Say) -> list[Run]:
    """Ours single and in batches, and the limit: no store behind the same route."""
    batches = [
        Run("ours", setting, "bench.posting:batch", {"lines": lines, "connections": connections})
        for setting, (lines, connections) in BATCHES.items()
    ]
    return [
        Run("ours", "64 connections", "bench.posting:single"),
        Run("limit", "64 connections", "bench.posting:single", {"storing": 0}),
        *batches,
    ]


def reached(rates: Rates) -> dict[str, float]:
    """What each bar got."""
    single = rates.rate("single")
    return {
        "share-of-not-storing": single / rates.rate("not-storing", "limit"),
        "batch-times-single": rates.rate("batch") / single,
    }
