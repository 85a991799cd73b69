"""The engine delivers to mailboxes: QUOTA holds a queue, CONTINUE lets it go on."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from postroad import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.hub.client import HubClient
from postroad.model.block import BlockKind
from postroad.model.entities import DEFAULT_TENANT, Message, Policy, Queue
from postroad.model.errors import BadInput, HubRefused
from postroad.model.hubs import KnownHub
from postroad.model.mailbox import Create, Drop, HubLimits, Take
from postroad.model.outcome import Kind
from postroad.model.redaction import Redaction
from postroad.model.states import NEVER
from postroad.ports.clock import SystemClock
from postroad.stores.sqlite.store import SqliteStore
from postroad.transports.hub import HubConnection, HubTransport
from tests.hub.hall import new_box, recipient
from tests.hub.serving import SEND, Served, serving, some_boxes
from tests.servers import free_port

QUIET = Settings(log_level="warning")


async def until(holds: Callable[[], Awaitable[bool]], seconds: float = 60.0) -> None:
    async with asyncio.timeout(seconds):
        while not await holds():
            await asyncio.sleep(0.05)


def road_at(path: Path, port: int, **options: Any) -> Postroad:
    hub = KnownHub(f"ws://127.0.0.1:{port}", SEND, **options)
    return Postroad(f"sqlite:///{path}", settings=structs.replace(QUIET, hubs=(hub,)))


async def waiting(served: Served, names: list[str]) -> list[int | None]:
    looked = await served.hub._store.box_look([(name, recipient(name)) for name in names])
    return looked.waiting


@pytest.mark.wide
async def test_two_thousand_mailboxes_share_one_lane_and_a_full_one_holds_only_itself(
    tmp_path: Path,
) -> None:
    names = [f"box-{n}" for n in range(2_000)]
    full = names[::100]
    async with serving(tmp_path / "hub.db") as served:
        await served.hub._store.box_commit([Create(new_box(name, quota=2)) for name in names])
        address = f"hub://127.0.0.1:{served.port}/"
        async with road_at(tmp_path / "road.db", served.port) as road:
            await road.send_many([Send(address + name, name) for name in names])
            for n in range(4):
                await road.send_many([Send(address + name, f"more {n}") for name in full])
            run = asyncio.create_task(road.run())

            async def all_there() -> bool:
                return await waiting(served, names) == [
                    2 if n % 100 == 0 else 1 for n in range(2_000)
                ]

            async def blocked() -> bool:
                queues = [
                    await road.store.find_queue(DEFAULT_TENANT, address + name) for name in full
                ]
                return all(q and q.block and q.block.kind is BlockKind.quota for q in queues)

            await until(all_there)
            await until(blocked)
            lanes = {
                lane
                for name in names
                if (queue := await road.store.find_queue(DEFAULT_TENANT, address + name))
                for lane in queue.lanes
            }
            assert len(lanes) == 1
            # The recipients of the full ones empty them: three more wait for each.
            async with served.client() as reader:
                await served.hub._store.box_commit([Take(name, 1) for name in full])
                tokens = {name: f"recipient of {name}" for name in full}
                await reader.subscribe(tokens)
                got: dict[str, list[int]] = {}
                async with asyncio.timeout(60):
                    for _ in range(4 * len(full)):
                        message = await anext(reader)
                        got.setdefault(message.box, []).append(message.id)
                        assert await message.ack()
            assert got == {name: [2, 3, 4, 5] for name in full}
            road.stop()
            await run


async def test_a_continue_that_comes_before_the_block_is_written_still_lifts_it(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path / "hub.db") as served:
        await served.hub._store.box_commit([Create(new_box("a", quota=1))])
        queue = f"hub://127.0.0.1:{served.port}/a"
        async with road_at(tmp_path / "road.db", served.port) as road:
            await road.send(queue, "one")
            run = asyncio.create_task(road.run())
            async with served.client() as reader:
                await reader.subscribe({"a": "recipient of a"})
                # Each ack empties the mailbox and says CONTINUE while others are being refused.
                for n in range(2, 40):
                    await road.send(queue, str(n))
                seen: list[int] = []
                async with asyncio.timeout(80):
                    while len(seen) < 39:
                        message = await anext(reader)
                        seen.append(message.id)
                        assert await message.ack()
            assert seen == list(range(1, 40))
            road.stop()
            await run


async def test_a_hub_that_is_away_is_unreachable_and_its_return_is_enough(tmp_path: Path) -> None:
    port = free_port()
    async with serving(tmp_path / "hub.db", port=port) as served, served.client() as client:
        (box,) = await some_boxes(client, 1)
    tokens = {box.box: box.sender_token}
    async with road_at(tmp_path / "road.db", port, mailbox_tokens=tokens) as road:
        receipt = await road.send(f"hub://127.0.0.1:{port}/{box.box}", "late")
        run = asyncio.create_task(road.run())

        async def tried() -> bool:
            return "unreachable" in str(await road.explain(receipt.id))

        await until(tried)
        async with serving(tmp_path / "hub.db", port=port) as served, served.client() as reader:
            await reader.subscribe({box.box: box.recipient_token})
            message = await asyncio.wait_for(anext(reader), 60)
            assert message.text == '"late"'
            assert await message.ack()
            road.stop()
            await run


@pytest.mark.parametrize(
    "queue",
    [
        "hub://",
        "hub://host/box",
        "hub://host:99999/box",
        "hub://host:1/",
        "hub://t@host:1/b",
        "hub://host:1/a/b",
        "hub://host:1/a?b",
        "hub://host:x/a",
        "hub://[/a",
        "hub://[::1:8601/a",
        "hub://host:1/" + "a" * 65,
    ],
)
async def test_a_bad_address_is_refused_by_name(tmp_path: Path, queue: str) -> None:
    async with road_at(tmp_path / "road.db", 1) as road:
        with pytest.raises(BadInput, match="hub://"):
            await road.send(queue, "x")


def queue_at(served: Served, mailbox: str, tenant: str = DEFAULT_TENANT) -> Queue:
    return Queue(1, tenant, f"hub://127.0.0.1:{served.port}/{mailbox}", Policy(), (1,))


def numbered(number: int) -> Message:
    return Message(number, 1, 1, 1, 0, 0, 0, 0, 0, 0, NEVER, b"x")


class Sending:
    """A transport with one session, and what its recipients said."""

    def __init__(self, served: Served) -> None:
        hub = KnownHub(f"ws://127.0.0.1:{served.port}", SEND, tenants=("*",))
        self.served = served
        self.transport = HubTransport([hub])
        self.reopened: list[tuple[str, str, Callable[[], bool]]] = []
        self.transport.on_reopen(lambda *told: self.reopened.append(told))

    async def send(self, mailbox: str, tenant: str = DEFAULT_TENANT) -> Kind:
        queue = queue_at(self.served, mailbox, tenant)
        session = await self.transport.open(self.transport.address(queue.name, tenant))
        # It stays open, as the session of a lane that has work.
        return (await session.send(queue, numbered(1))).kind

    @property
    def connection(self) -> HubConnection:
        (connection,) = self.transport._connections.values()
        return connection


async def test_a_connection_remembers_no_mailbox_but_full_ones(tmp_path: Path) -> None:
    names = [f"box-{n}" for n in range(50)]
    async with serving(tmp_path / "hub.db") as served:
        boxes = [new_box(name, quota=2) for name in names] + [new_box("full", quota=1)]
        await served.hub._store.box_commit([Create(box) for box in boxes])
        sending = Sending(served)
        assert [await sending.send("full") for _ in range(2)] == [Kind.delivered, Kind.quota]
        for name in names:
            assert await sending.send(name) is Kind.delivered
        assert list(sending.connection.full) == ["full"]
        client = await sending.connection.client()
        assert list(client._senders) == ["full"]
        assert not client._sending
        await sending.transport.close()


async def test_a_queue_that_did_not_go_on_before_its_mailbox_was_full_again_is_told_again(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path / "hub.db") as served:
        await served.hub._store.box_commit([Create(new_box("a", quota=1))])
        sending = Sending(served)
        assert await sending.send("a") is Kind.delivered
        assert await sending.send("a", "slow") is Kind.quota
        async with served.client() as reader, asyncio.timeout(60):
            await reader.subscribe({"a": "recipient of a"})
            assert await (await anext(reader)).ack()
            while not sending.reopened:
                await asyncio.sleep(0.01)
            (tenant, _, is_open) = sending.reopened.pop()
            assert tenant == "slow"
            assert is_open()
            # Another tenant is quicker, twice: now the mailbox is full again.
            assert await sending.send("a", "quick") is Kind.delivered
            assert await sending.send("a", "quick") is Kind.quota
            assert not is_open()
            assert await (await anext(reader)).ack()
            while len(sending.reopened) < 2:
                await asyncio.sleep(0.01)
        assert [tenant for tenant, _, _ in sending.reopened] == ["quick", "slow"]
        await sending.transport.close()


async def test_a_full_mailbox_that_the_hub_does_not_watch_is_held_by_time_alone(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path / "hub.db", HubLimits(watches_max=1)) as served:
        boxes = [Create(new_box(name, quota=1)) for name in "ab"]
        await served.hub._store.box_commit(boxes)
        sending = Sending(served)
        for name in "ab":
            assert await sending.send(name) is Kind.delivered
            assert await asyncio.wait_for(sending.send(name), 60) is Kind.quota
        # No CONTINUE will come for the second one: nothing is kept for it.
        assert list(sending.connection.full) == ["a"]
        assert list((await sending.connection.client())._watched) == ["a"]
        await sending.transport.close()


async def test_a_full_mailbox_that_went_while_the_hub_was_away_is_let_go(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    async with serving(path, port=free_port()) as served:
        await served.hub._store.box_commit([Create(new_box("a", quota=1))])
        sending = Sending(served)
        assert [await sending.send("a") for _ in range(2)] == [Kind.delivered, Kind.quota]
    store = SqliteStore(path, SystemClock())
    await store.open()
    await store.hub_lead()
    await store.box_commit([Drop("a")])
    await store.hub_unlead()
    await store.close()
    async with serving(path, port=served.port), asyncio.timeout(60):
        while not sending.reopened:
            await asyncio.sleep(0.02)
        assert await sending.send("a") is Kind.failed
    await sending.transport.close()


async def test_a_refusal_that_repeats_a_body_is_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our own hub repeats nothing; others may."""

    async def repeats(_self: HubClient, _box: str, _token: str, body: str | bytes) -> int:
        raise HubRefused("bad_input", f"not wanted: {body!r}")

    async with serving(tmp_path / "hub.db") as served:
        monkeypatch.setattr(HubClient, "send", repeats)
        hub = KnownHub(f"ws://127.0.0.1:{served.port}", SEND, tenants=("*",))
        queue, body = queue_at(served, "a"), b'{"pin":"code-4711"}'
        for rules, told in (((), "code-4711"), (("/pin",), "…")):
            transport = HubTransport([hub], redaction=Redaction(rules))
            session = await transport.open(transport.address(queue.name, DEFAULT_TENANT))
            outcome = await session.send(queue, structs.replace(numbered(1), body=body))
            assert f'"pin":"{told}"' in outcome.error
            await transport.close()
