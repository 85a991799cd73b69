"""Which process is the hub of a PostgreSQL store: one that is idle says so only when it is asked."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from postroad.hub.pump import Hub
from postroad.model.errors import HubInUse
from postroad.model.mailbox import DENIED, Create
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.stores.postgres import mailboxes
from postroad.stores.postgres.store import PostgresStore
from tests.hub.hall import new_box, recipient
from tests.hub.test_store import post
from tests.servers.postgres import PrivatePostgres


class Shared:
    """A database of two stores, whose hub can be made to look silent."""

    def __init__(self, server: PrivatePostgres) -> None:
        self._server = server
        self.dsn = server.create_road()

    @asynccontextmanager
    async def store(self) -> AsyncIterator[PostgresStore]:
        store = PostgresStore(self.dsn, SystemClock())
        await store.open()
        try:
            yield store
        finally:
            await store.close()

    def silence(self) -> None:
        name = self.dsn.rpartition("/")[2]
        self._server.sql("update postroad.hub set beat_at = beat_at - 31000", name)


@pytest.fixture
def shared(server: PrivatePostgres, monkeypatch: pytest.MonkeyPatch) -> Shared:
    monkeypatch.setattr(mailboxes, "ANSWER_WITHIN_S", 1.0)
    return Shared(server)


async def opened(store: PostgresStore) -> Hub:
    hub = Hub(store, SystemClock(), make_log("critical"))
    await hub.open()
    return hub


async def test_one_hub_a_store(shared: Shared) -> None:
    async with shared.store() as first, shared.store() as second:
        await first.hub_lead()
        await first.box_commit([Create(new_box("a"))])
        with pytest.raises(HubInUse, match="stop it first"):
            await second.hub_lead()
        with pytest.raises(HubInUse):
            await second.box_commit([post("a")])
        await second.box_create(new_box("made elsewhere"))
        assert await first.box_commit([post("made elsewhere")]) != [DENIED]
        shared.silence()
        await second.hub_lead()  # nobody answers for the first one
        with pytest.raises(HubInUse):
            await first.box_commit([post("a")])
        await second.box_commit([post("a")])
        assert (await second.box_look([("a", recipient("a"))])).waiting == [1]


async def test_a_hub_that_was_idle_for_long_answers_that_it_is_alive(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mailboxes, "ANSWER_WITHIN_S", 60.0)  # however busy this machine is
    async with shared.store() as first, shared.store() as second:
        hub = await opened(first)
        shared.silence()
        with pytest.raises(HubInUse, match="process"):
            await second.hub_lead()
        assert await first.hub_lead() > 600  # it need not say so by itself
        await hub.close()
        await second.hub_lead()  # at once: the first one has left


async def test_without_its_answer_it_is_given_up_for_dead(shared: Shared) -> None:
    async with shared.store() as first, shared.store() as second:
        hub = await opened(first)
        first.bell.on_hub = lambda: None
        shared.silence()
        await second.hub_lead()
        await hub.close()


async def test_of_two_that_take_over_at_once_one_is_the_hub(shared: Shared) -> None:
    async with shared.store() as first, shared.store() as second, shared.store() as third:
        await first.hub_lead()
        shared.silence()
        led = await asyncio.gather(second.hub_lead(), third.hub_lead(), return_exceptions=True)
        assert sorted(isinstance(each, HubInUse) for each in led) == [False, True]


async def test_a_hub_whose_bell_is_lost_says_so_at_once_and_every_ten_seconds(
    shared: Shared,
) -> None:
    async with shared.store() as store:
        hub = await opened(store)
        said = store.queries["hub"]
        store._listener._lose()
        async with asyncio.timeout(60):
            while store.queries["hub"] == said:
                await asyncio.sleep(0.01)
        store.bell.alive = False
        assert await store.hub_lead() == mailboxes.SAYS_S == 10
        await hub.close()


async def test_a_hub_that_was_stuck_while_it_was_asked_ends_as_soon_as_it_hears(
    shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with shared.store() as first, shared.store() as second:
        hub = await opened(first)
        shared.silence()
        asking = asyncio.create_task(second.hub_lead())
        rows = first._hub.rows

        async def later(*asked: Any) -> Any:
            await asyncio.wait([asking])
            return await rows(*asked)

        monkeypatch.setattr(first._hub, "rows", later)
        await asking
        async with asyncio.timeout(60):
            await hub.ended()
        with pytest.raises(HubInUse):
            await first.box_commit([post("a")])
