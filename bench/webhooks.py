"""webhooks: signed, logged deliveries to a raw sink, against pgqueuer with aiohttp and a bare client;
and how little one dead and one slow endpoint among a hundred cost the others."""

from pathlib import Path

from bench.databases import start_server
from bench.hook_isolation import CALM, RATIO, TROUBLED
from bench.lateness import Ratio, over, over_itself
from bench.shape import Options, Rates, Run, Say

NAME = "webhooks"
SLICE_S = 3.0
CONTROL = "p99-calm-over-calm"
ISOLATION_SLICES = 14
"""A p99 needs many: two thirds of the time, which are 12 pairs of parts of 200 s."""

PGQUEUERS: dict[str, Options] = {
    "batches of 64, 64 in flight": {"batch": 64, "in_flight": 64},
    "batches of 200, 64 in flight": {"batch": 200, "in_flight": 64},
    "batches of 500, 100 in flight": {"batch": 500, "in_flight": 100},
}


def lineup(_folder: Path, say: Say) -> list[Run]:
    """Ours on both stores, durable as the peer is and as shipped; the peer at three settings."""
    server = start_server()
    say(f"PostgreSQL {server.version // 10_000}.{server.version % 10_000}, a private server")
    dsn = server.dsn()
    ours = [
        Run(
            "ours",
            f"PostgreSQL, 64 in flight, results {word}",
            "bench.hook_roads:on_postgres",
            {"server": dsn, "recording": recording},
        )
        for recording, word in (("on", "wait for the disk"), ("off", "do not wait"))
    ]
    peers = [
        Run("peers", setting, "bench.hook_peers:pgqueuer", {"server": dsn, **options})
        for setting, options in PGQUEUERS.items()
    ]
    bare = Run("limit", "64 in flight", "bench.hook_peers:bare", {"in_flight": 64})
    sqlite = Run(
        "ours",
        "SQLite, 64 in flight, results wait for the disk",
        "bench.hook_roads:on_sqlite",
        {"recording": "on"},
    )
    isolation = Run("ours", "98 good of 100", "bench.hook_isolation:run", slices=ISOLATION_SLICES)
    return [ours[0], peers[0], bare, peers[1], ours[1], peers[2], sqlite, isolation]


def reached(rates: Rates) -> dict[str, float]:
    """`webhooks` waits for the disk at every commit, as pgqueuer does."""
    ours = rates.rate("webhooks")
    return {
        "times-pgqueuer-aiohttp": ours / rates.rate("pgqueuer-aiohttp", "peers"),
        "share-of-bare-pyreqwest": ours / rates.rate("bare-pyreqwest", "limit"),
        # 1 over how much later the others are: 1 is not at all, 0.909 is by a tenth.
        RATIO: _isolation(rates).value,
    }


def beside(rates: Rates) -> dict[str, Ratio]:
    """What the isolation's figure is worth: its interval, and calm parts over calm parts."""
    control = over_itself(rates.late_us(CALM))
    return {RATIO: _isolation(rates)} | ({CONTROL: control} if control else {})


def _isolation(rates: Rates) -> Ratio:
    return over(rates.late_us(CALM), rates.late_us(TROUBLED))
