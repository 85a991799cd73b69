"""replaces: of racing replaces the last body of each key is sent, once."""

import asyncio
import sys

from proof.shape import Reached
from tests.replacing.racing import race
from tests.servers.postgres import PrivatePostgres

REPLACES, KEYS, ROADS = 10_000, 100, 4


def prove(_seconds: float) -> Reached:
    """10,000 racing replaces of 100 keys, from four roads on PostgreSQL."""
    with PrivatePostgres() as pg:
        report = asyncio.run(race(pg.create_road(), REPLACES, KEYS, ROADS))
    sys.stdout.write("".join(f"{line}\n" for line in report.breaches))
    return Reached(floor=REPLACES, reached=report.sent, broken=len(report.breaches))
