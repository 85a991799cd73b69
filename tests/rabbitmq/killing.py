"""Brokers, channels and workers that die in mid-load; and what came of each message."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from msgspec import Struct
from msgspec.structs import replace

from postroad.model.ids import to_text
from tests.crash.book import Book, now_ms
from tests.crash.killing import Report, check
from tests.crash.orders import Parcel, tag
from tests.fleet.fleet import Fleet
from tests.fleet.killing import BOXES, check_lanes
from tests.fleet.states import ask, look_into
from tests.fleet.words import Line, Mail
from tests.servers.postgres import PrivatePostgres
from tests.servers.rabbitmq import UNSTUCK, PrivateRabbit

WORKERS = 2
RECOVERY_S = 120.0
HEARD_S, WRITTEN_S = 3.0, 0.3
LOST_S = 3.0
"""On a busy machine a worker hears so much later that its broker is gone: what it begins before that
is begun again, and only counted as not known if it is by then."""
IMPATIENT = "application:set_env(rabbit, consumer_timeout, {})"
"""A channel closes with an error, when it looks after its consumers and one of them holds a message
for longer than so many milliseconds: at every tick of its own, once a minute, or when told to."""
PATIENCE_MS = 1_800_000
TRIES = """
select id, attempts from postroad.history
union all select id, attempts from postroad.dead
union all select id, attempts from postroad.broker_message where done = 0
"""


def assorted(count: int, seed: int = 0) -> list[Parcel]:
    """Messages for handlers, good ones and flaky ones, and for boxes that share servers' lanes."""
    dice = random.Random(seed)
    parcels = []
    for number in range(count):
        queue = dice.choice(("quick", "flaky", dice.choice(BOXES), dice.choice(BOXES)))
        fails = dice.choice((0, 0, 1, 2, 9)) if queue == "flaky" else dice.choice((0, 0, 0, 1))
        parcels.append(
            Parcel(
                tag(queue, 0, number),
                wait_ms=dice.choice((0, 1, 5, 20, 60)),
                fails=0 if queue == "quick" else fails,
                delay_ms=dice.choice((0, 0, 0, 400)),
            )
        )
    return parcels


class Known(Struct, frozen=True):
    """What the state store knew of tries when something had died, and when it was asked."""

    at_ms: int
    tries: dict[str, int]
    worker: str = ""
    """Who died; "" when it was not a worker."""

    def misses(self, line: Line) -> bool:
        """Whether this try had begun and its result was not known: it may be made again."""
        begun = line.word == "start" and line.at_ms <= self.at_ms
        theirs = self.worker in ("", line.worker)
        return begun and theirs and self.tries.get(line.id, 0) < line.attempt


def known(state: str) -> Known:
    at_ms = now_ms()
    return Known(at_ms, {to_text(row[0]): row[1] for row in ask(state, TRIES)})


class Stage:
    """A broker, a state store and a fleet on both, with a sender that goes on."""

    def __init__(self, rabbit: PrivateRabbit, server: PrivatePostgres, messages: int) -> None:
        self.rabbit = rabbit
        self.state = server.create_road()
        self.vhost = rabbit.create_vhost()
        self.fleet = Fleet(f"{self.vhost}?state={self.state}")
        self.report = Report()
        self._messages = messages
        self._cuts: list[Known] = []

    def play(self, blows: int, strike: Callable[["Stage"], None]) -> Report:
        """So many blows while messages come and go; then everything must come to its end."""
        mail = Mail("", "", batch=10, rest_ms=20, anew=True)
        with self.fleet as fleet:
            fleet.crew(WORKERS)
            sender = fleet.mail(assorted(self._messages), mail)
            for _ in range(blows):
                self.wait_done(30, "some are done")
                strike(self)
                self.report.kills += 1
            fleet.wait_sent(sender, RECOVERY_S)
            fleet.wait(self.all_over, "all is over", RECOVERY_S)
            for name in sorted(fleet.workers):
                fleet.stop(name)
            self._check(fleet.fsynced_lines())
        return self.report

    def wait_done(self, count: int, what: str) -> None:
        """So many ends of tries from now on, or all that can be."""
        before = len(self.fleet.said("done"))
        self.fleet.wait(
            lambda: len(self.fleet.said("done")) > before + count or self.all_over(),
            what,
            RECOVERY_S,
        )

    def all_over(self) -> bool:
        """Everything that was accepted is delivered or dead."""
        accepted = {line.id for line in self.fleet.said("accepted")}
        return bool(accepted) and accepted <= self._finished()

    def _finished(self) -> set[str]:
        rows = ask(
            self.state, "select id from postroad.history union all select id from postroad.dead"
        )
        return {to_text(row[0]) for row in rows}

    def note_cut(self, cut: Known | None = None) -> None:
        """Something died: what was not known then may be done again."""
        self._cuts.append(cut or known(self.state))

    def _check(self, lines: Sequence[Line]) -> None:
        missed = [line for one in self._cuts for line in lines if one.misses(line)]
        cut = Counter(line.id for line in missed) + doubled(missed, lines)
        check(Book(lines), look_into(self.state), cut, self.report)
        check_lanes([line for line in lines if not _competing(line)], self.report)
        if self.report.repeats > self.report.cut:
            over = f"{self.report.repeats} repeats of {self.report.cut} unknown results"
            self.report.breach("repeats", over)


def doubled(missed: Sequence[Line], lines: Sequence[Line]) -> Counter[str]:
    """Tries that may come twice though none of their own results was lost. A try had failed, and
    its next copy was in the broker when its worker died before the note: the old copy comes again,
    too, and makes a second next one. Workers share a handler's line, so both may be under way."""
    failed = {
        (line.worker, line.id, line.attempt)
        for line in lines
        if line.word == "done" and line.note == "failed"
    }
    twins = [
        line
        for line in missed
        if _competing(line) and (line.worker, line.id, line.attempt) in failed
    ]
    later = {
        (line.id, line.attempt)
        for twin in twins
        for line in lines
        if line.word == "start" and line.id == twin.id and line.attempt > twin.attempt
    }
    return Counter(name for name, _ in later)


def _competing(line: Line) -> bool:
    """Whether it is about a handler's lane, which workers share on a broker."""
    return line.lane != "" and not line.lane.startswith("box#")


def kill_broker(stage: Stage) -> None:
    """Kill -9; the workers stand still when it comes back, so that what they know is counted."""
    stage.rabbit.kill()
    stage.fleet.rest(LOST_S)
    with stage.fleet.frozen():
        stage.note_cut()
        stage.rabbit.start()


def close_channels(stage: Stage) -> None:
    """The broker closes every channel that holds a message for longer than it may. What was not
    noted before comes again, whether its try has ended or not, or begins before its worker has
    heard of it."""
    before = known(stage.state)
    stage.rabbit.eval("[P_ ! tick || P_ <- rabbit_channel:list()], ok")
    stage.fleet.rest(HEARD_S)
    stage.note_cut(replace(before, at_ms=now_ms()))


def kill_worker(stage: Stage) -> None:
    """Kill -9 of one worker; another one comes. All stand still until it is dead, so that what was
    on its way into the store is there, and only what it had not written is not known."""
    name = min(stage.fleet.workers)
    with stage.fleet.frozen():
        stage.fleet.rest(WRITTEN_S)
        stage.note_cut(replace(known(stage.state), worker=name))
        stage.fleet.kill(name)
    stage.fleet.work()


def strike(
    blows: int,
    messages: int,
    how: Callable[[Stage], None],
    rabbit: PrivateRabbit | None = None,
    server: PrivatePostgres | None = None,
) -> Report:
    """The whole story, on servers of its own unless a test has some."""
    brokers: AbstractContextManager[PrivateRabbit] = (
        nullcontext(rabbit) if rabbit else PrivateRabbit(UNSTUCK)
    )
    databases: AbstractContextManager[PrivatePostgres] = (
        nullcontext(server) if server else PrivatePostgres()
    )
    with brokers as broker, databases as database:
        broker.eval(IMPATIENT.format(1 if how is close_channels else PATIENCE_MS))
        try:
            stage = Stage(broker, database, messages)
            report = stage.play(blows, how)
            broker.delete_vhost(stage.vhost)
            return report
        finally:
            broker.eval(IMPATIENT.format(PATIENCE_MS))
