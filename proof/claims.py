"""postgres-claim, pinned-claim, many-lanes: what the claim costs where it could cost most."""

import sys
from contextlib import AbstractContextManager, nullcontext
from statistics import median

from proof.shape import Reached
from tests.fleet.claiming import Trickle, cost_of_claim, spent_beside_a_pin
from tests.fleet.draining import drain_rate
from tests.servers.postgres import PrivatePostgres

QUEUES, FEW, MANY = 10_000, 1_000, 1_000_000
ALIKE = 0.9
PINNED = 1 / 1.2
LANES, DRAINED, ROUNDS, SHARE = 100, 50_000, 5, 0.3


def a_server(given: PrivatePostgres | None) -> AbstractContextManager[PrivatePostgres]:
    """The one that a test has already, or one for the proof alone."""
    return nullcontext(given) if given else PrivatePostgres()


def prove(
    _seconds: float,
    queues: int = QUEUES,
    few: int = FEW,
    many: int = MANY,
    server: PrivatePostgres | None = None,
) -> Reached:
    """How alike a claim's rows and buffers are beside few and beside many blocked messages."""
    with a_server(server) as pg:
        costs = {count: cost_of_claim(pg.create_database(), queues, count) for count in (few, many)}
    for count, cost in costs.items():
        sys.stdout.write(f"{queues:,} queues, half blocked with {count:,} messages: {cost}\n")
    less, more = costs[few], costs[many]
    alike = min(
        1 - abs(more.rows / less.rows - 1),
        1 - abs(more.buffers / less.buffers - 1),
    )
    return Reached(floor=ALIKE, reached=round(alike, 4), broken=int(less.lanes != more.lanes))


def prove_pinned(
    seconds: float, load: Trickle | None = None, server: PrivatePostgres | None = None
) -> Reached:
    """The claim's time without an open transaction elsewhere, by its time with one that was there
    from the start."""
    with a_server(server) as pg:
        databases = pg.create_database(), pg.create_database()
        free, pinned = spent_beside_a_pin(*databases, seconds, load or Trickle())
    for name, spent in (("free", free), ("pinned", pinned)):
        sys.stdout.write(
            f"{name}, last third of {seconds:.0f} s: {spent.claims} claims, "
            f"{spent.ms_each:.2f} ms and {spent.buffers_each:.0f} buffers each\n"
        )
    return Reached(floor=PINNED, reached=round(free.ms_each / pinned.ms_each, 4), broken=0)


def prove_lanes(
    _seconds: float,
    messages: int = DRAINED,
    lanes: int = LANES,
    rounds: int = ROUNDS,
    server: PrivatePostgres | None = None,
) -> Reached:
    """Lanes with one message each, by few lanes with the same number of messages, just before and
    just after: the speed of machines changes from one second to the next."""
    shares = []
    with a_server(server) as pg:
        for number in range(rounds):
            before = drain_rate(pg.create_database(), lanes, messages)
            many = drain_rate(pg.create_database(), messages, messages)
            after = drain_rate(pg.create_database(), lanes, messages)
            shares.append(many * 2 / (before + after))
            sys.stdout.write(
                f"{number + 1}: {lanes} lanes {before:,.0f}/s and {after:,.0f}/s, "
                f"{messages:,} lanes {many:,.0f}/s: {shares[-1]:.0%}\n"
            )
    return Reached(floor=SHARE, reached=round(median(shares), 4), broken=0)
