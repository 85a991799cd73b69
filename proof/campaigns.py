"""campaign-rate, campaign-kills: limits and promises of campaigns at full size."""

import asyncio
import sys
import tempfile
import time
from pathlib import Path

from proof.shape import Reached
from tests.campaigns.killing import Killed, killed_run, paced_run
from tests.servers.postgres import PrivatePostgres

RATE, SHARE = 50, 0.90
DISTURBED_S, KILL_EVERY_S = 120.0, 5.0
UNDISTURBED_S = 30.0
RECIPIENTS, KILLS, STOPS = 100_000, 20, 5


def prove_rate(seconds: float) -> Reached:
    """Four senders on one credential of 50/s, killed and restarted; then in peace."""
    seed, took_s = int(time.time()), max(seconds, DISTURBED_S)
    with (
        PrivatePostgres() as server,
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory() as two,
    ):
        killed = asyncio.run(
            paced_run(
                server.create_database(),
                Path(one),
                rate=RATE,
                seconds=took_s,
                kills=int(took_s / KILL_EVERY_S),
                seed=seed,
            )
        )
        say(f"with kills: {killed}")
        peace = asyncio.run(
            paced_run(
                server.create_database(),
                Path(two),
                rate=RATE,
                seconds=UNDISTURBED_S,
                kills=0,
                seed=seed,
            )
        )
        say(f"in peace: {peace}")
    broken = sum(run.busiest > RATE for run in (killed, peace)) + killed.twice + peace.twice
    return Reached(floor=SHARE, reached=round(peace.share, 3), broken=broken)


def prove_kills(_seconds: float) -> Reached:
    """100,000 recipients, 20 kills, 5 stops."""
    with PrivatePostgres() as server, tempfile.TemporaryDirectory() as folder:
        run = asyncio.run(
            killed_run(
                server.create_database(),
                Path(folder),
                recipients=RECIPIENTS,
                kills=KILLS,
                stops=STOPS,
                seed=int(time.time()),
            )
        )
    return reached_of(run, RECIPIENTS)


def reached_of(run: Killed, recipients: int) -> Reached:
    """Say how a run with kills went, and count its recipients."""
    say(f"{run.kills} kills: {run.exact}; the receiver took {run.taken}")
    for breach in run.breaches:
        say(breach)
    counted = run.exact.sent + run.exact.failed + run.exact.uncertain + run.exact.unsent
    return Reached(floor=recipients, reached=counted, broken=len(run.breaches))


def say(line: str) -> None:
    """Print a line at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
