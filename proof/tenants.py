"""tenants: another tenant's message starts within a second beside 50,000 dead lanes. neighbours: its p99 is at most
1.5 times the calm one beside 100,000 waiting messages, or 500 broken servers."""

import sys
import tempfile
from unittest.mock import patch

from postroad.cli.running import calm_collector
from postroad.engine import capacity
from proof.claims import a_server
from proof.shape import Reached
from tests.road.crowding import real_wait_s, simulated_wait_s
from tests.road.neighbours import BACKLOG, BROKEN, real_times, simulated_p99_ms

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


SIZES = {BACKLOG: 100_000, BROKEN: 500}
PAIRS, TIMES_MAX = 4, 1.5


def prove_neighbours(_seconds: float, pairs: int = PAIRS) -> Reached:
    """Of six, how many hold: both troubles in simulated time, on SQLite and on PostgreSQL. Calm over calm, the
    noise of the machine, is printed beside."""
    calm_collector()  # as a server does
    calm_ms, held = max(1.0, simulated_p99_ms("", 0)), 0
    with a_server(None) as server:
        stores = {
            "sqlite": lambda path: f"sqlite:///{path}.db",
            "postgres": lambda _path: server.create_road(),
        }
        for trouble, size in SIZES.items():
            times = max(1.0, simulated_p99_ms(trouble, size)) / calm_ms
            held += times <= TIMES_MAX
            sys.stdout.write(f"simulated, {size:,} {trouble}: {times:.2f} times\n")
            for name, make in stores.items():
                times, noise = real_times(trouble, size, pairs, make)
                held += times <= TIMES_MAX
                said = f"{times:.2f} times, calm over calm {noise:.2f}"
                sys.stdout.write(f"{name}, {size:,} {trouble}: {said}\n")
                sys.stdout.flush()
    return Reached(floor=6, reached=held, broken=0)


def prove_unguarded(_seconds: float, size: int = 5_000) -> Reached:
    """Without a tenant's share of the capacity the same measure breaches, really and by far."""
    with (
        patch.object(capacity, "share", lambda most, others: most - others),
        tempfile.TemporaryDirectory() as folder,
    ):
        times, noise = real_times(
            BACKLOG, size, 1, lambda path: f"sqlite:///{folder}/{path.name}.db"
        )
    sys.stdout.write(f"unguarded, {size:,} {BACKLOG}: {times:.2f} times, noise {noise:.2f}\n")
    return Reached(floor=1, reached=int(times > TIMES_MAX), broken=0)
