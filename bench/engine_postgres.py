"""engine-postgres: no-op handlers on one private server, against pgqueuer and a bare COPY."""

from pathlib import Path

from bench.databases import start_server
from bench.shape import Options, Rates, Run, Say

NAME = "engine-postgres"
SLICE_S = 2.0
BUSY_US = 100
"""Two processes are compared with one by handlers that compute: beside no-ops the server takes a third
of both cores, and the ratio cannot be more than 1.33 (decision 009)."""

OURS = {  # workers, whether results wait for the disk, messages a `send_many`, callers of it
    "1 process, every commit waits; 1,000 from 1 caller": (1, "on", 1_000, 1),
    "1 process, results do not wait; 1,000 from 2 callers": (1, "off", 1_000, 2),
    "2 processes, results do not wait; 500 from 4 callers": (2, "off", 500, 4),
}
PGQUEUERS: dict[str, Options] = {
    "batches of 100, enqueue by 500": {"batch": 100, "enqueue": 500},
    "batches of 500, enqueue by 1,000": {"batch": 500, "enqueue": 1_000},
    "batches of 1,000, enqueue by 5,000": {"batch": 1_000, "enqueue": 5_000},
}
POOL = 10
"""Connections of the pool that asyncpg makes unless it is told otherwise."""
POOLED = {f"{setting}, a pool of {POOL}": {**o, "pool": POOL} for setting, o in PGQUEUERS.items()}
COPIES = {f"{size:,} rows a commit": size for size in (1_000, 5_000, 20_000)}


def lineup(_folder: Path, say: Say) -> list[Run]:
    """Ours at three settings, pgqueuer at three over one connection and over a pool, COPY at three
    sizes."""
    server = start_server()
    say(f"PostgreSQL {server.version // 10_000}.{server.version % 10_000}, a private server")
    dsn = server.dsn()
    ours = [
        Run("ours", setting, "bench.pg_roads:drain", {"server": dsn, **_options(*values)})
        for setting, values in OURS.items()
    ]
    peers = [
        Run("peers", setting, "bench.pgqueuers:run", {"server": dsn, **options})
        for setting, options in PGQUEUERS.items()
    ]
    pooled = [
        Run("peers", setting, "bench.pgqueuers:run", {"server": dsn, **options})
        for setting, options in POOLED.items()
    ]
    copies = [
        Run("limit", setting, "bench.raw_copy:run", {"server": dsn, "batch": size})
        for setting, size in COPIES.items()
    ]
    pair = [
        Run(
            "ours",
            f"handlers compute for {BUSY_US} µs",
            "bench.pg_roads:drain_busy",
            {"server": dsn, "workers": n, "busy_us": BUSY_US},
        )
        for n in (1, 2)
    ]
    turns = zip(ours, peers, copies, pooled, strict=True)
    return [run for turn in turns for run in turn] + pair


def _options(workers: int, recording: str, batch: int, callers: int) -> Options:
    return {"workers": workers, "recording": recording, "batch": batch, "callers": callers}


def reached(rates: Rates) -> dict[str, float]:
    """`engine` waits for the disk at every commit, as pgqueuer does; peers and limit count at
    their best."""
    send_many = rates.rate("send-many")
    return {
        "times-pgqueuer": rates.rate("engine") / rates.rate("pgqueuer", "peers"),
        "handlers-times-pgqueuer": rates.rate("engine") / rates.rate("pgqueuer-pool", "peers"),
        "send-many-times-pgqueuer": send_many / rates.rate("pgqueuer-enqueue", "peers"),
        "send-many-share-of-copy": send_many / rates.rate("copy", "limit"),
        "two-busy-processes-times-one": rates.rate("2-busy-processes")
        / rates.rate("1-busy-process"),
    }
