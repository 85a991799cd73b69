"""An open PostgreSQL store: its connections, its bell, and how statements reach them."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

import msgspec
from msgspec import Struct, field

from postroad.model.errors import NotOpen, StoreError
from postroad.observe.log import make_log
from postroad.observe.tasks import Tasks
from postroad.ports.clock import Clock, system_chance
from postroad.ports.log import Log
from postroad.stores.bell import Ring
from postroad.stores.postgres import migration
from postroad.stores.postgres.bell import FleetBell
from postroad.stores.postgres.clock import DatabaseClock
from postroad.stores.postgres.connections import (
    ANSWER_S,
    QUERIES,
    Raw,
    StoreConnection,
    connected,
    is_pooled,
    read_address,
)
from postroad.stores.postgres.floors import Floors
from postroad.stores.postgres.listening import NotifyListener
from postroad.stores.statements import Row, Statements, Value

ARRIVALS_BATCH: Final = 500
MOVE: Final = "move arrivals to their rungs"
RETRY_S: Final = 1.0


class StoreAnswer(Struct, frozen=True):
    """What every function returns: the database's time, and whom to ring."""

    now: int
    rings: list[Ring] = field(default_factory=list)


class Moved(StoreAnswer, frozen=True):
    """How many arrivals were moved to their rungs."""

    moved: int = 0


A = TypeVar("A", bound=StoreAnswer)


class PostgresBase(Statements):
    """The connections of a store, and how statements reach them.

    `read` serves the owners of lanes, `write` takes their results, `accept` takes messages. `side`
    does everything else and helps to accept. Claims run there too: they wait for transactions that
    accept, and must not hold up readings or results. `pace` is opened by the first reservation: a
    slot must not wait for other work. `lists` is opened by the first list: claims must not wait for
    it."""

    def __init__(self, dsn: str, clock: Clock, log: Log | None = None) -> None:
        self.address = read_address(dsn)
        self.clock = DatabaseClock(clock)
        self.log = log or make_log("warning")
        self.tasks = Tasks(self.log)
        self._counts: Counter[str] = Counter()
        chance = system_chance()
        self._read, self._write, self._accept, self._side, self._pace, self._lists = self._lines = [
            StoreConnection(name, self.address, self._counts, clock, chance)
            for name in ("read", "write", "accept", "side", "pace", "lists")
        ]
        self._floors = Floors()
        self._turns: dict[int, str] = {}
        """The tenant after which an owner's next claim continues, when not all could be taken."""
        self.bell = FleetBell(self.clock, self._notify, self._arrived, self._floors, self.tasks)
        self._listener = NotifyListener(
            self.address, self.bell, self._counts, clock, chance, self.tasks
        )
        self._arrivals = asyncio.Event()
        self.events_arrived = asyncio.Event()
        self._open = False
        self._reaped: dict[int, int] = {}
        """How often each owner of this process has learnt that its lanes were taken away."""
        self._looked_whole_s = clock.steady_s()

    @property
    def is_read_by_thread(self) -> bool:
        """False: this store reads in the event loop."""
        return False

    @property
    def queries(self) -> dict[str, int]:
        """Statements sent so far, by what for."""
        return dict(self._counts)

    async def open(self) -> None:
        """Connect, check the server and its schema, begin to listen."""
        pooled = await self._check()
        for line in self._lines:
            line.pooled = pooled
        self._open = True
        if pooled and not self.address.listen:
            self.log.warning(
                "a pooler such as PgBouncer stands before the database: everything works, but the "
                "bell cannot be heard through it and levels are polled; add ?listen=postgresql://… "
                "with the database's own address",
                store=self.address.name,
            )
        else:
            pids = self._lines
            await self._listener.start(lambda pid: any(line.pid == pid for line in pids))
        _ = self.tasks.start(self._move(), MOVE)  # kept there

    async def _check(self) -> bool:
        async with connected(self.address) as raw:
            pooled = await is_pooled(raw)
            async with raw.transaction():  # of a pooler's servers one answers the whole of it
                await self._check_isolation(raw)
            await migration.check(raw, self.address.name)
            async with raw.transaction():
                self.clock.heard(await raw.fetchval(QUERIES["now"]))
        return pooled

    async def _check_isolation(self, raw: Raw) -> None:
        """Refuse a stricter isolation level: a statement that waited for a lock must see what was
        done meanwhile."""
        level = await raw.fetchval("show default_transaction_isolation")
        if level != "read committed":
            raise StoreError(
                f"{self.address.name} has default_transaction_isolation {level!r}: Postroad needs "
                "'read committed'; set it for this user (ALTER ROLE … SET …)"
            )

    def own_line(self, name: str, answer_s: float = ANSWER_S) -> StoreConnection:
        """A further connection for one kind of work, opened when it is first needed."""
        line = StoreConnection(name, self.address, self._counts, self.clock, system_chance())
        line.pooled = self._lines[0].pooled
        line.answer_s = answer_s
        self._lines.append(line)
        return line

    def hear_own(self, who: str, call: Callable[[], None]) -> None:
        """Call it when a process rings for jobs: campaigns, replays or timetables."""
        self.bell.on_own[who] = call

    async def ring_own(self, kind: str) -> None:
        """Tell every process, this one too, that there is work of such a kind."""
        self.bell.ring_own(kind)
        _ = await self._notify(f'{{"own": "{kind}"}}')  # NOTIFY answers nothing

    async def close(self) -> None:
        """Finish what was handed over, then close all connections."""
        await self._listener.close()
        await self.bell.close()
        await self.tasks.close()
        self._open = False
        for line in self._lines:
            await line.close()

    async def _one(self, line: StoreConnection, label: str, query: str, *values: object) -> str:
        self._check_open()
        return await line.one(label, query, values)

    async def select(self, label: str, name: str, *values: Value) -> list[Row]:
        """Run a statement; answers its rows."""
        self._check_open()
        return await self._side.select(label, name, *values)

    async def count(self, label: str, name: str, *values: Value) -> int:
        """Run a statement that returns what it changed; answers how many rows."""
        self._check_open()
        return await self._side.count(label, name, *values)

    async def insert(self, label: str, name: str, *values: Value) -> int:
        """Run a statement that returns the number of its row."""
        self._check_open()
        return await self._side.insert(label, name, *values)

    def _check_open(self) -> None:
        if not self._open:
            raise NotOpen("the road is not open: use it inside `async with road:`")

    def _read_answer(self, text: str, kind: "msgspec.json.Decoder[A]") -> A:
        """Decode an answer, set the clock by it, and ring those whom it names."""
        answer = kind.decode(text)
        self.clock.heard(answer.now)
        if answer.rings:
            self.bell.ring(answer.rings)
        return answer

    async def _notify(self, payload: str) -> object:
        return await self._one(self._side, "bell", "notify", payload)

    # Arrivals: sent inside a caller's own transaction

    def _arrived(self) -> None:
        self._arrivals.set()
        self.events_arrived.set()

    async def _move(self) -> None:
        """Move arrivals to their rungs, in any process that listens."""
        while True:
            await self._arrivals.wait()
            self._arrivals.clear()
            if not self.bell.heard:
                continue
            try:
                while await self.move_arrivals():
                    pass
                self.log.store_works(MOVE)
            except StoreError as error:
                self.log.store_failed(MOVE, error)
                await self.clock.sleep(RETRY_S)
                self._arrivals.set()

    async def move_arrivals(self) -> int:
        """Move one batch; returns how many there were."""
        text = await self._one(self._side, "arrivals", "move_arrivals", ARRIVALS_BATCH)
        return self._read_answer(text, MOVED).moved


MOVED: Final = msgspec.json.Decoder(Moved)


def decoder(kind: type[A]) -> "msgspec.json.Decoder[A]":
    """The decoder of one kind of answer."""
    return msgspec.json.Decoder(kind)


def literal(column: Iterable[int]) -> str:
    """Numbers as PostgreSQL writes an array: asyncpg takes 0.5 µs for each one of a list."""
    return f"{{{','.join(map(str, column))}}}"


def once(column: Sequence[int]) -> str:
    """The same, but of numbers that are all equal only the first."""
    return literal(column[:1] if len(set(column)) == 1 else column)


def flat(rows: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Lists of numbers as (place of the list from 1, number) columns."""
    return (
        [place for place, row in enumerate(rows, start=1) for _ in row],
        [number for row in rows for number in row],
    )
