"""What an idle server with all its roles sends to its database: an hour of it, in which time jumps
from one timer to the next."""

import asyncio
import math
from collections import Counter

import pytest

from postroad import Postroad
from postroad.api.serving import ApiServer
from postroad.config import Settings
from postroad.hub.serving import HubService, ListenOptions
from postroad.ports.clock import LoopClock
from postroad.stores.postgres import listening, mailboxes
from postroad.stores.postgres.store import PostgresStore
from postroad.verbs.parts import Parts
from tests.postgres.jumping import JumpingLoop

HOUR_S = 3_600.0
MOST = 60


def idle(dsn: str, seconds: float) -> Counter[str]:
    """Statements by what for, of API, engine, hub, campaigns and a timetable in one process."""
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(_idle(dsn, seconds))


async def _idle(dsn: str, seconds: float) -> Counter[str]:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, JumpingLoop)
    settings = Settings(dsn=dsn, listen="127.0.0.1:0", log_level="error")
    road = Postroad(dsn, settings=settings, parts=Parts(clock=LoopClock()))
    store = road.store
    assert isinstance(store, PostgresStore)

    @road.handler("job")
    async def job(_message: object) -> None: ...

    @road.every("0 0 29 2 *")
    async def seldom() -> None: ...

    async with road:
        await road.send("job", 1)
        station = HubService(store, store.clock, road.log, ListenOptions())
        await station.start()
        server = ApiServer(road, settings, delivers=True, station=station)
        serving = asyncio.create_task(server.run(lambda: None))
        async with asyncio.timeout(60):
            while "record" not in store.queries:
                await asyncio.sleep(0.01)
        first = store._listener._probes

        def busy() -> bool:
            # A probe comes back after its statement has ended: time does not jump over it.
            listener = store._listener
            unheard = listener._probes != first and not listener._proof.is_set()
            return unheard or any(line._lock.locked() for line in store._lines)

        loop.selector.busy = busy
        await asyncio.sleep(30)  # its lane is given back, and nobody looks for owners any more
        assert road.engine is not None
        assert not road.engine.lanes
        before = Counter(store.queries)
        await asyncio.sleep(seconds)
        sent = Counter(store.queries) - before
        server.stop()
        await serving
        await station.stop()
    return sent


def test_an_idle_server_with_all_its_roles_sends_at_most_sixty_statements_an_hour(dsn: str) -> None:
    sent = idle(dsn, HOUR_S)
    assert 40 <= sent["safety poll"] <= 41
    assert sent["bell"] == 0  # safety polls carry its proofs
    assert sent.total() <= MOST, sent


def test_without_its_two_savings_it_sends_more(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that says every ten seconds that it is here, and a bell that asks for its own proofs."""
    monkeypatch.setattr(mailboxes, "HEARS_S", mailboxes.SAYS_S)
    monkeypatch.setattr(listening, "CARRY_S", math.inf)
    sent = idle(dsn, HOUR_S / 6)
    assert sent["hub"] >= MOST
    assert sent["bell"] == 2
    assert sent.total() > MOST
