"""replaces: of racing replaces the last body of each key is sent, once."""

import asyncio
import sys
import tempfile

from proof.shape import Reached
from tests.replacing.racing import RaceReport, race, race_with_due
from tests.servers.postgres import PrivatePostgres

REPLACES, KEYS, ROADS = 10_000, 100, 4


def prove(_seconds: float) -> Reached:
    """10,000 racing replaces of 100 keys, from four roads on PostgreSQL and from one on SQLite; then as
    many of keys that all roads share, while what is replaced becomes due and is delivered."""
    with PrivatePostgres() as pg, tempfile.TemporaryDirectory() as folder:
        reports = [
            asyncio.run(race(pg.create_road(), REPLACES, KEYS, ROADS)),
            asyncio.run(race(f"sqlite:///{folder}/far.db", REPLACES, KEYS, 1)),
            asyncio.run(race_with_due(pg.create_road(), REPLACES, KEYS, ROADS)),
            asyncio.run(race_with_due(f"sqlite:///{folder}/near.db", REPLACES, KEYS, 1)),
        ]
    broken = sum(_tell(report) for report in reports)
    idle = sum(not (report.replaced and report.started) for report in reports[2:])
    sent = sum(min(report.sent, REPLACES) for report in reports)
    return Reached(floor=REPLACES * len(reports), reached=sent, broken=broken + idle)


def _tell(report: RaceReport) -> int:
    sys.stdout.write(
        f"{report.sent:,} sent: {report.replaced:,} replaced, {report.started:,} had started, "
        f"{report.slow:,} took longer than a commit may\n"
    )
    sys.stdout.write("".join(f"{line}\n" for line in report.breaches))
    return len(report.breaches)
