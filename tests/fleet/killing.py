"""Kill workers of a fleet, one every few seconds, and hold the database against the ledger."""

import random
from collections import Counter, defaultdict
from collections.abc import Sequence

from tests.crash.book import Book
from tests.crash.killing import Report, check
from tests.crash.orders import Parcel, tag
from tests.fleet.fleet import Fleet
from tests.fleet.states import look_into, tries_of, waiting
from tests.fleet.words import BRISK, Line, Mail, Work

CREW = 4
KILLS_MIN = 2
"""On a busy machine a kill may take as long as all the sending."""
BOXES = [f"box-{server}.{box}" for server in range(6) for box in range(3)]
KEYS = [f"k{number}" for number in range(12)]


def assorted(count: int, seed: int = 0) -> list[Parcel]:
    """Messages of all kinds: handlers, ordered keys, boxes that share servers' lanes."""
    dice = random.Random(seed)
    parcels = []
    for number in range(count):
        queue = dice.choice(("quick", "quick", "keys", "flaky", dice.choice(BOXES)))
        key = dice.choice(KEYS) if queue == "keys" else "-"
        fails = dice.choice((0, 0, 0, 1, 2)) if queue == "flaky" else 0
        parcels.append(
            Parcel(
                tag(queue, 0, number, key),
                wait_ms=dice.choice((0, 1, 5, 20, 60)),
                fails=fails,
                delay_ms=dice.choice((0, 0, 0, 300)) if key == "-" else 0,
            )
        )
    return parcels


def kill_fleet(dsn: str, messages: int, every_s: float, send_s: float, order: Work) -> Report:
    """Four workers, one of them killed every so many seconds while messages come in over some
    time and until half of the rest is delivered; then everything must come to its end."""
    report = Report()
    cut: Counter[str] = Counter()
    batch = 20
    rest_ms = int(send_s * 1000 * batch / messages)
    with Fleet(dsn) as fleet:
        fleet.crew(CREW, order=order)
        sender = fleet.mail(assorted(messages), Mail("", "", batch=batch, rest_ms=rest_ms))
        dice = random.Random(0)
        while not fleet.said("sent", sender) or report.kills < KILLS_MIN:
            fleet.rest(every_s)
            fleet.wait(lambda: bool(fleet.workers & fleet.present()), "somebody is here")
            name = dice.choice(sorted(at_work(fleet) or fleet.workers & fleet.present()))
            fleet.kill(name)
            report.kills += 1
            lost = tries_cut(fleet, name)
            report.in_flight += bool(lost)
            cut += lost
            fleet.work(order=order)
        # A lease, its watcher's turn, and the work itself.
        patience_s = 90 + order.limits.lease_ms / 250
        fleet.wait(lambda: waiting(dsn) == 0, "all is over", patience_s)
        for name in sorted(fleet.workers):
            fleet.stop(name)
        lines = fleet.fsynced_lines()
        check(Book(lines), look_into(dsn), cut, report)
        check_lanes(lines, report)
    return report


def at_work(fleet: Fleet) -> set[str]:
    """Workers with tries in flight."""
    flying: Counter[str] = Counter()
    for line in fleet.lines:
        flying[line.worker] += (line.word == "start") - (line.word == "done")
    return {name for name, count in flying.items() if count > 0} & fleet.workers


def tries_cut(fleet: Fleet, name: str) -> Counter[str]:
    """Tries of a killed worker that the database knows nothing of: they may be made again. Its
    lanes are still its own, so nobody else has touched them."""
    fleet.wait(lambda: bool(fleet.said("killed", name)), "the ledger has its last words")
    started = fleet.said("start", name)
    known = tries_of(fleet.dsn)
    return Counter(line.id for line in started if known.get(line.id, line.attempt) < line.attempt)


def check_lanes(lines: Sequence[Line], report: Report) -> None:
    """One worker per lane: nobody starts where another one who lives is at work."""
    busy: dict[str, dict[str, set[tuple[str, int]]]] = defaultdict(lambda: defaultdict(set))
    killed: set[str] = set()
    for line in lines:
        if line.word == "killed":
            killed.add(line.worker)
        elif line.word == "start":
            others = [w for w, own in busy[line.lane].items() if own and w not in killed]
            if set(others) - {line.worker}:
                report.breach("one worker", f"{line.lane}: {line.worker} starts beside {others}")
            busy[line.lane][line.worker].add((line.id, line.attempt))
        elif line.word == "done":
            busy[line.lane][line.worker].discard((line.id, line.attempt))


SMALL = Work("", "", BRISK)
