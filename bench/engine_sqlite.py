"""engine-sqlite: no-op handlers end to end on SQLite, against huey and a bare apsw loop."""

from pathlib import Path

from bench.shape import Rates, Run, Say

NAME = "engine-sqlite"
SLICE_S = 1.0

HUEYS = {
    "1 thread beside the producer": ("thread", 1, "beside"),
    "4 threads beside the producer": ("thread", 4, "beside"),
    "1 process beside the producer": ("process", 1, "beside"),
    "4 processes beside the producer": ("process", 4, "beside"),
    "filled first, then 1 thread": ("thread", 1, "after"),
}
RAWS = {"with the engine's index": "place", "without an index": "none"}


def lineup(_folder: Path, _say: Say) -> list[Run]:
    """Ours as shipped and with FULL for everything, huey at five settings, the bare loop at two."""
    hueys = [
        Run("peers", setting, "bench.hueys:run", {"kind": kind, "workers": workers, "mode": mode})
        for setting, (kind, workers, mode) in HUEYS.items()
    ]
    raws = [
        Run("limit", setting, "bench.raw_apsw:run", {"index": index})
        for setting, index in RAWS.items()
    ]
    return [
        Run("ours", "every commit FULL", "bench.roads:deliver"),
        *hueys,
        Run("ours", "FULL to accept, NORMAL to record", "bench.roads:deliver_as_shipped"),
        *raws,
        Run("ours", "in turns on one file", "bench.roads:send"),
    ]


def reached(rates: Rates) -> dict[str, float]:
    """`engine` has FULL for every commit, as huey has; peers and limit count at their best."""
    engine = rates.rate("engine")
    return {
        "times-huey": engine / rates.rate("huey", "peers"),
        "share-of-raw-apsw": engine / rates.rate("raw-apsw", "limit"),
        "send-64-times-sequential": rates.rate("send-64") / rates.rate("send-sequential"),
    }
