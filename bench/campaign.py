"""campaign: one sender process against the seed's loop, and imports against COPY."""

from pathlib import Path

from bench.databases import start_server
from bench.shape import Rates, Run, Say

NAME = "campaign"
SLICE_S = 5.0

# The seed's own figures: 150 a job, 200 quoted as the most a worker does, 225 for e-mail.
LOOPS = {
    "150 at once, 20 connections": (150, 20),
    "200 at once, 20 connections": (200, 20),
    "225 at once, 50 connections": (225, 50),
}


def lineup(_folder: Path, say: Say) -> list[Run]:
    """Ours, the loop at three settings, an import and a COPY."""
    server = start_server()
    say(f"PostgreSQL {server.version // 10_000}.{server.version % 10_000}, a private server; the")
    say("provider answers after 30 ms, every 50th time after 500 ms")
    dsn = server.dsn()
    return [
        Run("ours", "one process, one job", "bench.campaigns:send", {"server": dsn, "jobs": 1}),
        *(
            Run(
                "peers",
                setting,
                "bench.seed_loop:run",
                {"server": dsn, "send_rate": rate, "connections": connections},
            )
            for setting, (rate, connections) in LOOPS.items()
        ),
        Run("ours", "20,000 rows a commit", "bench.campaigns:import_rows", {"server": dsn}),
        Run("limit", "one COPY", "bench.campaigns:copy_rows", {"server": dsn}),
    ]


def reached(rates: Rates) -> dict[str, float]:
    """What each bar got."""
    return {
        "times-seed-loop": rates.rate("campaign") / rates.rate("seed-loop", "peers"),
        "import-share-of-copy": rates.rate("import") / rates.rate("copy", "limit"),
    }
