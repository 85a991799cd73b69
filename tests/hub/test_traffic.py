"""Mailboxes over real sockets, on a real store."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from postroad.model.errors import HubRefused, MailboxFull
from postroad.model.mailbox import Answer, Done, Get, digest
from tests.hub.serving import CREATE, serving, some_boxes
from tests.servers import free_port


async def test_a_message_goes_from_a_sender_to_a_subscriber(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served:
        async with served.client() as sender, served.client() as recipient:
            (box,) = await some_boxes(sender, 1)
            assert await recipient.subscribe({box.box: box.recipient_token}) == []
            assert await sender.send(box.box, box.sender_token, "hello") == 1
            assert await sender.send(box.box, box.sender_token, b"\xff\x00") == 2
            first = await anext(recipient)
            assert (first.id, first.text) == (1, "hello")
            assert await first.ack()
            second = await anext(recipient)
            assert (second.id, second.body) == (2, b"\xff\x00")
            assert await second.ack()
            assert not await second.ack()


async def test_quota_holds_until_the_mailbox_is_empty(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served:
        async with served.client() as sender, served.client() as recipient:
            (box,) = await some_boxes(sender, 1, quota=3)
            told = asyncio.Queue[str]()
            sender.callbacks.continued = told.put_nowait
            for n in range(3):
                await sender.send(box.box, box.sender_token, str(n))
            for _ in range(2):
                with pytest.raises(MailboxFull):
                    await sender.send(box.box, box.sender_token, "more")
            await recipient.subscribe({box.box: box.recipient_token})
            for left in (2, 1, 0):
                if left:
                    assert told.empty()
                assert await (await anext(recipient)).ack()
                if left:
                    with pytest.raises(MailboxFull):
                        await sender.send(box.box, box.sender_token, "more")
            assert await asyncio.wait_for(told.get(), 60) == box.box
            assert await sender.send(box.box, box.sender_token, "more") == 4


async def test_a_token_opens_only_what_it_is_for(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served:
        async with served.client() as client:
            box, other = await some_boxes(client, 2)
            for token in (box.recipient_token, other.sender_token, "", "x"):
                with pytest.raises(HubRefused, match="denied"):
                    await client.send(box.box, token, "no")
            with pytest.raises(HubRefused, match="denied"):
                await client.send("no such mailbox", box.sender_token, "no")
            assert await client.subscribe({box.box: box.sender_token}) == [box.box]
            with pytest.raises(HubRefused, match="denied"):
                await client.get(box.box, box.sender_token)
            with pytest.raises(HubRefused, match="denied"):
                await client.delete(box.box, box.sender_token)
            with pytest.raises(HubRefused, match="denied"):
                await client.create("wrong")


async def test_what_lies_behind_an_expired_message_comes_at_once(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served:
        async with served.client() as sender, served.client() as recipient:
            box = await sender.create(CREATE, ttl=4)
            await sender.send(box.box, box.sender_token, "too old")
            async with asyncio.timeout(60):
                while not await served.hub._store.box_old(10):
                    await asyncio.sleep(0.05)
            await recipient.subscribe({box.box: box.recipient_token})
            await sender.send(box.box, box.sender_token, "fresh")
            message = await asyncio.wait_for(anext(recipient), 60)
            assert (message.id, message.text) == (2, "fresh")


async def test_after_a_restart_clients_are_back_with_all_they_had(tmp_path: Path) -> None:
    path = tmp_path / "hub.db"
    told = asyncio.Queue[str]()
    async with AsyncExitStack() as first:
        served = await first.enter_async_context(serving(path, port=free_port()))
        sender, recipient = served.client(), served.client()
        await sender.open()
        await recipient.open()
        boxes = await some_boxes(sender, 300, quota=1)
        await recipient.subscribe({box.box: box.recipient_token for box in boxes})
        full = boxes[7]
        await sender.send(full.box, full.sender_token, "seen, not acked")
        assert (await anext(recipient)).id == 1
        with pytest.raises(MailboxFull):
            await sender.send(full.box, full.sender_token, "too much")
        sender.callbacks.continued = told.put_nowait
    async with serving(path, port=served.port) as again:
        message = await asyncio.wait_for(anext(recipient), 60)
        assert (message.box, message.text) == (full.box, "seen, not acked")
        async with asyncio.timeout(60):
            while len(again.hub.core.subs) < 300 or not again.hub.core.watchers:
                await asyncio.sleep(0.02)
        assert told.empty()
        assert await message.ack()
        assert await asyncio.wait_for(told.get(), 60) == full.box
        assert (sender.reconnects, recipient.reconnects) == (1, 1)
        await sender.close()
        await recipient.close()


async def test_a_long_poll_ends_in_time_while_the_hub_always_has_work(tmp_path: Path) -> None:
    async with serving(tmp_path / "hub.db") as served, served.client() as client:
        (busy, empty) = await some_boxes(client, 2)
        core, ended = served.hub.core, False

        def ask_again(_answer: Answer) -> None:
            if not ended:
                _ = core.get(None, Get(busy.box, digest(busy.recipient_token)), 0, ask_again)

        ask_again(Done())
        try:
            async with asyncio.timeout(60):
                assert await client.get(empty.box, empty.recipient_token, wait=0.1) is None
        finally:
            ended = True
