"""fleet-kills, server-stops, takeover: separate worker processes on a private PostgreSQL."""

import sys
import time

from postroad.model.limits import Limits
from proof.shape import Reached
from tests.crash.orders import Parcel, tag
from tests.fleet.fleet import Fleet
from tests.fleet.killing import kill_fleet
from tests.fleet.stopping import crash_server
from tests.fleet.words import Work
from tests.servers.postgres import PrivatePostgres

MESSAGES = 20_000
EVERY_S = 4.0
SHIPPED = Work("", "", Limits())
STOPS, STOPPED_MESSAGES = 8, 4_000


def prove(seconds: float, messages: int = MESSAGES, order: Work = SHIPPED) -> Reached:
    """Four workers, one killed every few seconds while 20,000 messages come in over the time."""
    with PrivatePostgres() as pg:
        report = kill_fleet(pg.create_database(), messages, EVERY_S, seconds, order)
    sys.stdout.write(
        f"{report.accepted:,} messages, {report.kills} kills ({report.in_flight} of workers with "
        f"tries in flight), {report.cut} tries of unknown outcome, {report.repeats} repeats: "
        f"{report.states}\n"
    )
    broken = [*report.breaches]
    if report.repeats > report.cut:
        broken.append(f"repeats: {report.repeats} of {report.cut} unknown outcomes")
    if report.accepted != messages:
        broken.append(f"accepted: {report.accepted} of {messages}")
    sys.stdout.write("".join(f"{line}\n" for line in broken))
    return Reached(floor=messages, reached=sum(report.states.values()), broken=len(broken))


def prove_stops(_seconds: float, stops: int = STOPS, messages: int = STOPPED_MESSAGES) -> Reached:
    """The server is stopped in immediate mode again and again, under load."""
    with PrivatePostgres() as pg:
        report = crash_server(pg, stops, messages)
    sys.stdout.write(
        f"{report.accepted:,} messages, {report.kills} stops, {report.repeats} repeats: "
        f"{report.states}\n"
    )
    sys.stdout.write("".join(f"{line}\n" for line in report.breaches))
    broken = len(report.breaches) + (report.repeats > report.cut)
    return Reached(floor=messages, reached=sum(report.states.values()), broken=broken)


def prove_takeover(_seconds: float, order: Work = SHIPPED) -> Reached:
    """How much of the time that a takeover may take is left: 30 s from the owner's last sign of
    life, and until its peers look next."""
    bound_s = (order.limits.lease_ms + order.limits.beat_ms) / 1000
    with PrivatePostgres() as pg, Fleet(pg.create_database()) as fleet:
        (first,) = fleet.crew(1, order=order)
        fleet.send([Parcel(tag("quick", 0, n), wait_ms=90_000) for n in range(100)])
        fleet.wait(lambda: len(fleet.said("start", first)) == 100, "all are started")
        (second,) = fleet.crew(1, order=order)
        fleet.kill(first)
        start_s = time.monotonic()
        # One of each lane: what was in flight when a lease was lost goes one at a time.
        lanes = {line.lane for line in fleet.said("start", first)}
        fleet.wait(
            lambda: {line.lane for line in fleet.said("start", second)} >= lanes,
            "taken over",
            2 * bound_s,
        )
        took_s = time.monotonic() - start_s
    sys.stdout.write(f"taken over after {took_s:.1f} s\n")
    return Reached(floor=1.0, reached=round(bound_s / took_s, 3), broken=0)
