"""What the demo sees of its road: mostly what is stored, read by SQL from the file beside it."""

from collections import Counter, deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Self

import apsw
from msgspec import Struct

from postroad.app import Postroad
from postroad.ports.clock import SystemClock
from postroad.ports.sql import load

QUERIES: Final = load("postroad.demo")
RATE_OVER_S: Final = 3.0


class QueueHold(Struct, frozen=True):
    """A queue that is held, and why."""

    queue: str
    server: str
    until_ms: int
    reason: str
    streak: int
    since_ms: int

    @property
    def which(self) -> tuple[str, int, int]:
        """One hold of a queue is not the next one."""
        return self.queue, self.streak, self.since_ms


class LaneSnapshot(Struct, frozen=True):
    """One server's lane, or all lanes of a handler."""

    server: str
    opened: int
    """How often in a row its circuit has opened; 0 is closed."""
    until_ms: int
    reason: str
    in_flight: int
    waiting: int
    delivered: int
    dead: int
    holds: tuple[QueueHold, ...]


class RoadSnapshot(Struct, frozen=True):
    """The road at one moment."""

    now_ms: int
    since_start_s: float
    to_send: int
    accepted: int
    lanes: tuple[LaneSnapshot, ...]
    levels: dict[int, int]
    """Messages that wait, by retry level."""
    outcomes: dict[str, int]
    """Tries so far, by outcome."""
    rate: float
    """Deliveries a second, in real time."""

    @property
    def delivered(self) -> int:
        """Messages that arrived."""
        return sum(lane.delivered for lane in self.lanes)

    @property
    def dead(self) -> int:
        """Messages in the dead set."""
        return sum(lane.dead for lane in self.lanes)

    @property
    def waiting(self) -> int:
        """Messages that are neither."""
        return sum(self.levels.values())


class RoadObserver:
    """Takes snapshots of a road that is open in this process, without changing it."""

    def __init__(self, path: Path, road: Postroad, to_send: int, accepted: Sequence[str]) -> None:
        self._road = road
        self._to_send = to_send
        self._accepted = accepted
        self._start_ms = road.store.clock.now_ms()
        self._real = SystemClock()
        self._arrived: deque[tuple[float, int]] = deque()
        self._file = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def look(self) -> RoadSnapshot:
        """Take a snapshot."""
        now_ms = self._road.store.clock.now_ms()
        with self._file:  # one transaction: the counts fit together
            waiting, levels = self._waiting()
            finished = Counter({(row[0], row[1]): row[2] for row in self._rows("finished")})
            holds = [QueueHold(*row) for row in self._rows("holds", now_ms)]
            rows = self._rows("lanes")
        in_flight = self._in_flight()
        lanes = tuple(
            LaneSnapshot(
                host(server),
                opened,
                until_ms,
                reason,
                in_flight[server],
                max(0, waiting[server] - in_flight[server]),
                finished[server, "delivered"],
                finished[server, "dead"],
                tuple(hold for hold in holds if hold.server == server),
            )
            for server, opened, until_ms, reason in rows
        )
        return RoadSnapshot(
            now_ms,
            (now_ms - self._start_ms) / 1000,
            self._to_send,
            len(self._accepted),
            lanes,
            levels,
            self._outcomes(),
            self._rate(sum(lane.delivered for lane in lanes)),
        )

    def _rows(self, query: str, *values: int) -> list[tuple[Any, ...]]:
        return self._file.execute(QUERIES[query], values).fetchall()

    def _waiting(self) -> tuple[Counter[str], dict[int, int]]:
        servers: Counter[str] = Counter()
        levels: Counter[int] = Counter()
        for server, level, count in self._rows("waiting"):
            servers[server] += count
            levels[level] += count
        return servers, dict(levels)

    def _in_flight(self) -> Counter[str]:
        flying: Counter[str] = Counter()
        if self._road.engine is not None:
            for worker in self._road.engine.lanes.values():
                flying[worker.lane.key.server] += worker.in_flight
        return flying

    def _outcomes(self) -> dict[str, int]:
        engine = self._road.engine
        return {} if engine is None else {str(k): n for k, n in engine.figures.tries.items()}

    def _rate(self, delivered: int) -> float:
        now_s = self._real.steady_s()
        self._arrived.append((now_s, delivered))
        while self._arrived[0][0] < now_s - RATE_OVER_S:
            self._arrived.popleft()
        since_s, before = self._arrived[0]
        return (delivered - before) / (now_s - since_s) if now_s > since_s else 0.0


def news(old: RoadSnapshot, new: RoadSnapshot) -> list[str]:
    """What changed at servers and queues between two snapshots, in words."""
    before = {lane.server: lane for lane in old.lanes}
    told: list[str] = []
    for lane in new.lanes:
        was = before.get(lane.server)
        told += _circuit_news(was.opened if was else 0, lane, new.now_ms)
        told += _hold_news(was.holds if was else (), lane, new.now_ms)
    return told


def _circuit_news(opened: int, lane: LaneSnapshot, now_ms: int) -> list[str]:
    if lane.opened == opened:
        return []
    if lane.opened == 0:
        return [f"{lane.server} answers again: circuit closed"]
    wait = spell((lane.until_ms - now_ms) / 1000)
    if opened == 0:
        return [f"{lane.server} is away, circuit open: {lane.reason}"]
    return [f"{lane.server} probed in vain, next in {wait}"]


def _hold_news(holds: Sequence[QueueHold], lane: LaneSnapshot, now_ms: int) -> list[str]:
    known = {hold.which for hold in holds}
    free = {hold.queue for hold in holds} - {hold.queue for hold in lane.holds}
    told = [
        f"{short(hold.queue)} held {spell((hold.until_ms - now_ms) / 1000)}: {hold.reason}"
        for hold in lane.holds
        if hold.which not in known
    ]
    return told + [f"{short(queue)} may be tried again" for queue in sorted(free)]


def short(queue: str) -> str:
    """A queue's name without scheme and port."""
    server, mark, user = queue.partition("://")[2].partition("/")
    return f"{host(server)}/{user}" if mark else queue


def host(server: str) -> str:
    """A server without scheme and port."""
    return server.rpartition("://")[2].partition(":")[0]


def spell(seconds: float) -> str:
    """A length of time as minutes and seconds."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    return f"{minutes}:{rest:02}"
