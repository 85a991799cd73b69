"""tenants: another tenant's message starts within a second beside 50,000 dead lanes."""

import sys
import tempfile

from proof.claims import a_server
from proof.shape import Reached
from tests.road.crowding import real_wait_s, simulated_wait_s

LANES, MOST_S, FLOOR = 50_000, 60.0, 3


def prove(_seconds: float, lanes: int = LANES) -> Reached:
    """Of three, how many start it in time: the simulation, SQLite and PostgreSQL."""
    waits: dict[str, float | None] = {"simulated": simulated_wait_s(lanes)}
    with tempfile.TemporaryDirectory() as folder:
        waits["sqlite"] = real_wait_s(f"sqlite:///{folder}/road.db", lanes, MOST_S)
    with a_server(None) as server:
        waits["postgres"] = real_wait_s(server.create_road(), lanes, MOST_S)
    for name, wait_s in waits.items():
        said = "not at all" if wait_s is None else f"after {wait_s:.3f} s"
        sys.stdout.write(f"{name}, beside {lanes:,} dead lanes: {said}\n")
    started = sum(wait_s is not None and wait_s < 1 for wait_s in waits.values())
    return Reached(floor=FLOOR, reached=started, broken=0)
