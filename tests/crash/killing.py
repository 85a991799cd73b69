"""Kill the engine, start it again, and hold its file against another process's ledger."""

import random
import time
from collections import Counter
from itertools import pairwise

from msgspec import Struct, field

from tests.crash.book import Book
from tests.crash.orders import LADDER, Order, Parcel, mixed, tag
from tests.crash.stand import Stand
from tests.crash.states import Found

MARKS_MAX = 3
LINES_MAX = 400
"""The engine is killed when it has written up to so many lines: some 150 ms."""


class Report(Struct):
    """What the kills showed."""

    kills: int = 0
    in_flight: int = 0
    """Kills that found a message in flight; only these count."""
    accepted: int = 0
    cut: int = 0
    """Tries that a kill cut off before their result was recorded."""
    repeats: int = 0
    """Successful tries beyond the first of a message."""
    states: dict[str, int] = field(default_factory=dict)
    breaches: list[str] = field(default_factory=list)

    def breach(self, promise: str, text: str) -> None:
        self.breaches.append(f"{promise}: {text}")


def kill_rounds(rounds: int, seconds: float, seed: int = 0) -> Report:
    """Kill until so many kills found a message in flight, or the time is over; then let the last
    engine finish everything, and check."""
    dice = random.Random(seed)
    until_s = time.monotonic() + seconds
    report = Report()
    cut: Counter[str] = Counter()
    with Stand() as stand:
        while report.in_flight < rounds and time.monotonic() < until_s:
            _one_kill(stand, report, cut, dice)
        found = finish(stand)
        check(stand.fsynced_book(), found, cut, report)
    return report


def _one_kill(stand: Stand, report: Report, cut: Counter[str], dice: random.Random) -> None:
    order = Order(
        parcels=mixed(report.kills, 200, dice),
        senders=4,
        # A short log in every second life: kills find checkpoints under way.
        checkpoint_pages=dice.choice((20, 4_000)),
    )
    lines = dice.choice((0, dice.randrange(40), dice.randrange(LINES_MAX), LINES_MAX))
    start = len(stand.entries)
    stand.live(order)
    stand.wait(lambda: len(stand.entries) > start + lines, f"{lines} lines")
    if stand.kill() != -9:
        report.breach("alive", f"engine {report.kills} ended by itself: {stand.stderr()[-500:]}")
    report.kills += 1
    life, found = stand.book.lives[-1], stand.found()
    report.in_flight += bool(life.in_flight())
    cut += tries_cut(life, found)
    if found.integrity != "ok":
        report.breach("integrity", f"after kill {report.kills}: {found.integrity}")


def tries_cut(life: Book, found: Found) -> Counter[str]:
    """Tries of a killed life that its file knows nothing of: they may be made again."""
    return Counter(
        entry.id
        for entry in life.said("start")
        if entry.id in found.messages
        and found.messages[entry.id].state in ("waiting", "held")
        and found.messages[entry.id].attempts < entry.attempt
    )


def finish(stand: Stand) -> Found:
    """One more engine, which delivers all that waits and ends in good order."""
    stand.live(Order(tells_when_idle=True, hurries=True))
    stand.wait_said("idle")
    code = stand.end()
    found = stand.found()
    if code != 0 or found.lanes_owned:
        raise AssertionError(f"exit code {code}, {found.lanes_owned} lanes owned: {stand.stderr()}")
    return found


# What must hold


def check(
    book: Book, found: Found, cut: Counter[str], report: Report, *, forgets: bool = False
) -> None:
    """Every promise, by the ledger and the file. `forgets`: the server may have forgotten the last
    results, so that a cut try is repeated after the next of its key began."""
    report.accepted = len(book.said("accepted"))
    report.cut = cut.total()
    report.repeats = sum(times - 1 for times in book.successes.values())
    report.states = dict(Counter(m.reason or m.state for m in found.messages.values()))
    _check_file(found, report)
    _check_loss(book, found, report)
    _check_phantoms(book, report)
    _check_tries(book, found, cut, report)
    _check_early(book, report)
    _check_cancelled(book, found, report)
    _check_order(book, found, report, set(cut) if forgets else set())


def _check_file(found: Found, report: Report) -> None:
    if found.integrity != "ok":
        report.breach("integrity", found.integrity)
    for name in found.twice:
        report.breach("one state", f"{name} is in two tables")


def _check_loss(book: Book, found: Found, report: Report) -> None:
    for entry in book.said("accepted"):
        if entry.id not in found.messages:
            report.breach("no loss", f"{entry.id} ({entry.tag}) was accepted and is nowhere")
    for name, message in found.messages.items():
        if message.state == "delivered" and not book.successes[name]:
            report.breach("no loss", f"{name} counts as delivered and nobody had it")
        if message.state in ("waiting", "held"):
            report.breach("idle", f"{name} is {message.state} when all is done")


def _check_phantoms(book: Book, report: Report) -> None:
    asked = {entry.tag for entry in book.said("asked")}
    accepted = {entry.id: entry.tag for entry in book.said("accepted")}
    for entry in book.said("start"):
        if entry.tag not in asked or accepted.get(entry.id, entry.tag) != entry.tag:
            report.breach("no phantom", f"{entry.id} came as {entry.tag}")


def _check_tries(book: Book, found: Found, cut: Counter[str], report: Report) -> None:
    tags = {entry.id: entry.tag for entry in book.said("start")}
    for name, starts in book.starts.items():
        message = found.messages.get(name)
        if message is None:
            report.breach("no phantom", f"{name} was started and is nowhere")
            continue
        # The file counts a try that it came to know as uncertain or deadly afterwards.
        if starts > message.attempts + cut[name]:
            report.breach("repeats", f"{name}: {starts} starts, {message}, {cut[name]} cut")
        if book.successes[name] > 1 + cut[name]:
            report.breach("repeats", f"{name} was done {book.successes[name]} times")
        if tags[name].startswith("once/") and starts > 1:
            report.breach("at most once", f"{name} was started {starts} times")
        if message.reason == "crash_loop" and cut[name] < 1:
            report.breach("crash loop", f"{name} was never in flight when its process died")
        if message.reason == "exhausted" and message.attempts != LADDER.retries + 1:
            report.breach("ladder", f"{name} died after {message.attempts} tries")


def _check_early(book: Book, report: Report) -> None:
    due_ms = {entry.tag: entry.at_ms for entry in book.said("asked")}
    for entry in book.said("start"):
        if entry.at_ms < due_ms.get(entry.tag, 0):
            report.breach("never early", f"{entry.tag}: {due_ms[entry.tag] - entry.at_ms} ms")


def _check_cancelled(book: Book, found: Found, report: Report) -> None:
    """After the word that a message is cancelled no try of it starts, in no later life either."""
    cancelled: set[str] = set()
    for entry in book.entries:
        if entry.word == "cancel" and entry.note == "cancelled":
            cancelled.add(entry.id)
        elif entry.word == "start" and entry.id in cancelled:
            report.breach("cancel", f"{entry.id} was started after it was cancelled")
    for name in cancelled:
        if found.messages[name].state != "cancelled":
            report.breach("cancel", f"{name} was cancelled and is {found.messages[name]}")


def _check_order(book: Book, found: Found, report: Report, repeated: set[str]) -> None:
    """Of one key, the next is first started when the one before it is over. One that may be
    repeated has succeeded once before the next is started."""
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    over: dict[str, int] = {}
    succeeded: set[str] = set()
    for place, entry in enumerate(book.entries):
        again = entry.tag in succeeded and entry.id in repeated
        if entry.word == "start":
            first.setdefault(entry.tag, place)
            last[entry.tag] = last[entry.tag] if again else place
        elif entry.word == "done" and not again:
            over[entry.tag] = place
            if entry.note == "ok":
                succeeded.add(entry.tag)
    ends = ("crash_loop", "cancelled")
    gone = {name for name, m in found.messages.items() if m.reason in ends or m.state in ends}
    cut_short = {entry.tag for entry in book.said("start") if entry.id in gone}
    for (queue, key), tags in book.by_key().items():
        for one, two in pairwise(tags):
            ended = one in cut_short or over.get(one, len(book.entries)) < first[two]
            if not ended or last[one] > first[two]:
                report.breach("order", f"{queue} {key}: {two} was started before {one} was over")


# A message that kills its process


def crash_loop(
    neighbours: int, restarts_max: int, queue: str = "quick", key: str = "-"
) -> tuple[Report, Found]:
    """A poison message amid its neighbours; the engine is started again each time it dies."""
    report = Report()
    cut: Counter[str] = Counter()
    parcels = [
        Parcel(tag(queue, 0, number, key), wait_ms=number % 4, kills=number == neighbours // 2)
        for number in range(neighbours + 1)
    ]
    with Stand() as stand:
        stand.live(Order(parcels=parcels, tells_when_idle=True))
        while not _said_idle_or_died(stand) and report.kills < restarts_max:
            stand.ended()
            report.kills += 1
            cut += tries_cut(stand.book.lives[-1], stand.found())
            stand.live(Order(tells_when_idle=True))
        if report.kills >= restarts_max:
            report.breach("crash loop", f"it still dies after {restarts_max} restarts")
            stand.kill()
        else:
            stand.end()
        found = stand.found()
        check(stand.fsynced_book(), found, cut, report)
    if report.states != {"delivered": neighbours, "crash_loop": 1}:
        report.breach("crash loop", f"one was to die, {neighbours} to live: {report.states}")
    return report, found


def _said_idle_or_died(stand: Stand) -> bool:
    """True for idle, False for a death."""
    start = len(stand.entries)
    stand.wait(lambda: any(e.word in ("idle", "gone") for e in stand.entries[start:]), "an end")
    return any(entry.word == "idle" for entry in stand.entries[start:])
