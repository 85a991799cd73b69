"""A client's connection breaks in the worst moments; what it subscribed to is kept all the same."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from postroad.hub.client import HubCallbacks, HubClient, Received
from postroad.hub.frames import (
    MSGPACK,
    Codec,
    Continue,
    End,
    Error,
    Event,
    MessageFrame,
    Quota,
    SendTo,
    Subscribe,
    Subscribed,
)
from postroad.hub.frames import Ok as Done
from postroad.hub.inbox import ClientInbox
from postroad.hub.pump import Hub
from postroad.model.errors import HubAway, HubLost, UnknownMailbox
from postroad.model.mailbox import RefusalCode
from postroad.observe.log import make_log
from postroad.ports.clock import SystemClock
from postroad.stores.sqlite.store import SqliteStore
from tests.hub.raw import http
from tests.hub.serving import serving, some_boxes
from tests.servers import free_port

CODEC = Codec(MSGPACK)


class Scripted:
    """A hub that takes part of what a client subscribes to, once, and then all of it."""

    def __init__(self) -> None:
        self.open: list[ServerConnection] = []
        self.asked: list[list[str]] = []
        self.refuse = 0
        self.hang_up = 0
        self.sent = 0

    async def __call__(self, socket: ServerConnection) -> None:
        if self.hang_up:
            self.hang_up -= 1
            await socket.close(1012, "not yet")
            return
        before, self.open = self.open, [*self.open, socket]
        async for frame in socket:
            asked = CODEC.command(bytes(frame) if isinstance(frame, (bytes, bytearray)) else b"")
            if isinstance(asked, SendTo):
                self.sent += 1
                await socket.send(CODEC.encode(Done(n=asked.n, id=1)))
            if not isinstance(asked, Subscribe):
                continue
            names = [name for name, _ in asked.boxes]
            self.asked.append(names)
            if self.refuse and len(self.asked) % 2 == 0:
                self.refuse -= 1
                await socket.send(
                    CODEC.encode(Error(n=asked.n, code=RefusalCode.unavailable, text="busy"))
                )
                continue
            for other in before:  # as a hub does: one subscriber a mailbox
                for name in names:
                    await other.send(CODEC.encode(End(box=name, why="taken over")))
            await socket.send(CODEC.encode(Subscribed(n=asked.n, count=len(names))))
        self.open = [each for each in self.open if each is not socket]


async def test_a_reconnect_that_fails_half_way_loses_no_subscription(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("postroad.hub.client.BATCH", 2)
    hub = Scripted()
    async with serve(hub, "127.0.0.1", 0, subprotocols=[MSGPACK]) as server:  # type: ignore[list-item]
        port = server.sockets[0].getsockname()[1]
        async with HubClient(f"ws://127.0.0.1:{port}/") as client:
            names = ["a", "b", "c", "d"]
            await client.subscribe(dict.fromkeys(names, "token"))
            hub.asked.clear()
            hub.refuse = 1
            await hub.open[0].close()
            async with asyncio.timeout(60):
                while client.reconnects == 0:
                    await asyncio.sleep(0.02)
                while len(hub.open) > 1:
                    await asyncio.sleep(0.02)
            assert sorted(client._tokens) == names
            assert len(hub.open) == 1


async def test_a_mailbox_that_went_while_the_hub_was_away_is_told(tmp_path: Path) -> None:
    path, ended = tmp_path / "hub.db", list[tuple[str, str]]()
    async with AsyncExitStack() as stack:
        async with serving(path, port=free_port()) as served:
            callbacks = HubCallbacks(ended=lambda *end: ended.append(end))
            client = await stack.enter_async_context(HubClient(served.url, callbacks=callbacks))
            stays, goes = await some_boxes(client, 2)
            tokens = {each.box: each.recipient_token for each in (stays, goes)}
            assert await client.subscribe(tokens) == []
        store = SqliteStore(path, SystemClock())
        await store.open()
        hub = Hub(store, SystemClock(), make_log("warning"))
        await hub.open()
        await hub.delete(goes.box)
        with pytest.raises(UnknownMailbox, match=goes.box):
            await hub.delete(goes.box)
        await hub.close()
        await store.close()
        async with serving(path, port=served.port) as again, asyncio.timeout(60):
            while not ended:
                await asyncio.sleep(0.02)
            assert ended == [(goes.box, "refused")]
            async with again.client() as sender:
                await sender.send(stays.box, stays.sender_token, "hello")
            assert (await anext(client)).text == "hello"


@pytest.mark.parametrize("times", [1, 3])
async def test_a_hub_that_hangs_up_at_once_is_dialled_again(times: int) -> None:
    hub = Scripted()
    async with serve(hub, "127.0.0.1", 0, subprotocols=[MSGPACK]) as server:  # type: ignore[list-item]
        port = server.sockets[0].getsockname()[1]
        client = HubClient(f"ws://127.0.0.1:{port}/")
        await client.open()
        hub.hang_up = times
        await hub.open[0].close()
        async with asyncio.timeout(60):
            while not hub.sent:
                try:
                    await client.send("a", "token", "hello")
                except HubAway:
                    await asyncio.sleep(0.02)
        await client.close()


async def test_messages_behind_one_that_was_polled_wake_the_next_poll(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served, served.client() as client:
        (box,) = await some_boxes(client, 1)
        path = f"/v1/mailboxes/{box.box}/messages"
        first = asyncio.create_task(http(served, "GET", f"{path}?wait=60", box.recipient_token))
        second = asyncio.create_task(http(served, "GET", f"{path}?wait=60", box.recipient_token))
        while served.hub.status().polls < 2:
            await asyncio.sleep(0.01)
        await client.send(box.box, box.sender_token, "one")
        await client.send(box.box, box.sender_token, "two")
        done, _ = await asyncio.wait([first, second], return_when="FIRST_COMPLETED")
        (_status, one) = done.pop().result()
        assert one["body"] == "one"
        await http(served, "DELETE", f"{path}/{one['id']}", box.recipient_token)
        async with asyncio.timeout(60):
            results = await asyncio.gather(first, second)
        assert sorted(each["body"] for _, each in results) == ["one", "two"]


class Flooding:
    """A hub that sends as much as it can to whoever subscribes, and answers what it is asked."""

    def __init__(self, frames: Iterable[Event]) -> None:
        self.frames = frames
        self.closed: list[str | None] = []
        self.sent = 0

    async def __call__(self, socket: ServerConnection) -> None:
        with suppress(ConnectionClosed):
            async for frame in socket:
                asked = CODEC.command(bytes(frame))  # type: ignore[arg-type]
                if isinstance(asked, Subscribe):
                    answer = Subscribed(n=asked.n, count=len(asked.boxes))
                    await socket.send(CODEC.encode(answer))
                    for each in self.frames:
                        await socket.send(CODEC.encode(each))
                        self.sent += 1
                        await asyncio.sleep(0)  # the client is in this process, and has its turn
        await socket.wait_closed()
        self.closed.append(socket.close_reason)


@asynccontextmanager
async def flooded(hub: Flooding) -> AsyncIterator[HubClient]:
    async with serve(hub, "127.0.0.1", 0, subprotocols=[MSGPACK]) as server:  # type: ignore[list-item]
        port = server.sockets[0].getsockname()[1]
        async with HubClient(f"ws://127.0.0.1:{port}/") as client:
            yield client


STRAYS: dict[str, Callable[[int], Event]] = {
    "one mailbox again and again": lambda n: MessageFrame(box="a", id=n, at=0, data=b"x" * 60_000),
    "mailboxes that nobody named": lambda n: MessageFrame(
        box=f"b{n}", id=1, at=0, data=b"x" * 60_000
    ),
    "quotas of mailboxes that nobody sends to": lambda n: Quota(box=f"b{n}"),
    "words that mailboxes are open": lambda n: Continue(box=f"b{n}"),
    "ends of nothing": lambda n: End(box=f"b{n}", why="taken over"),
}


@pytest.mark.parametrize("name", STRAYS)
async def test_a_hub_that_floods_a_client_which_does_not_read_is_hung_up_on(name: str) -> None:
    hub = Flooding(STRAYS[name](n) for n in range(1, 100_000))
    async with flooded(hub) as client:
        await client.subscribe({"a": "token"})
        most = 0
        async with asyncio.timeout(60):
            while not hub.closed:
                most = max(most, client._inbox._bytes, len(client._watched) * 64)
                await asyncio.sleep(0.005)
        assert hub.sent < 10_000
        assert most <= 60_000  # the newest message of the one mailbox, or nothing
        assert len(client._inbox) <= 1
        assert not client._watched


async def test_small_messages_that_become_large_ones_unread_do_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each took the place of the one before, however much there was."""
    monkeypatch.setattr("postroad.hub.inbox.INBOX_BYTES", 100_000)
    boxes = [f"b{n}" for n in range(50)]
    sizes = (1, 60_000)
    hub = Flooding(
        MessageFrame(box=b, id=1, at=0, data=b"x" * size) for size in sizes for b in boxes
    )
    async with flooded(hub) as client:
        await client.subscribe(dict.fromkeys(boxes, "token"))
        async with asyncio.timeout(60):
            while client._inbox._strays < len(boxes):
                await asyncio.sleep(0.005)
        assert client._inbox._bytes <= 100_000 + 60_000
        assert len(client._inbox) == len(boxes)


async def test_a_flood_is_kept_without_the_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What would be in memory: a queue of all that comes."""
    kept: list[Received] = []
    monkeypatch.setattr(ClientInbox, "put", lambda _, message: kept.append(message))
    hub = Flooding(MessageFrame(box="a", id=n, at=0, data=b"x" * 1_000) for n in range(1, 5_000))
    async with flooded(hub) as client:
        await client.subscribe({"a": "token"})
        async with asyncio.timeout(60):
            while len(kept) < 4_999:
                await asyncio.sleep(0.005)


async def test_a_client_that_reads_slowly_keeps_little_and_gets_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("postroad.hub.inbox.INBOX_BYTES", 100_000)
    async with serving(tmp_path / "hub.db") as served, served.client() as client:
        boxes = await some_boxes(client, 40)
        for box in boxes:
            for n in range(2):
                await client.send(box.box, box.sender_token, f"{n}" * 20_000)
        assert await client.subscribe({box.box: box.recipient_token for box in boxes}) == []
        async with asyncio.timeout(60):
            while client._inbox._bytes <= 100_000:
                await asyncio.sleep(0.01)
        got: dict[str, list[str]] = {}
        most = 0
        async with asyncio.timeout(60):
            for _ in range(80):
                most = max(most, client._inbox._bytes)
                message = await anext(client)
                got.setdefault(message.box, []).append(message.text[0])
                assert await message.ack()
        assert got == {box.box: ["0", "1"] for box in boxes}
        assert 100_000 < most <= 120_000


async def test_what_is_no_frame_of_a_hub_ends_the_connection() -> None:
    ended: list[str | None] = []

    async def nonsense(socket: ServerConnection) -> None:
        await socket.recv()
        await socket.send(b"\x91" * 5_000)
        await socket.wait_closed()
        ended.append(socket.close_reason)

    async with serve(nonsense, "127.0.0.1", 0, subprotocols=[MSGPACK]) as server:  # type: ignore[list-item]
        port = server.sockets[0].getsockname()[1]
        async with HubClient(f"ws://127.0.0.1:{port}/") as client:
            with pytest.raises(HubLost):
                await asyncio.wait_for(client.send("a", "token", "hello"), 60)
            async with asyncio.timeout(60):
                while not ended:
                    await asyncio.sleep(0.01)
    assert ended[0] == "that is no frame of a hub"
