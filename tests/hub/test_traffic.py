"""Mailboxes over real sockets, on a real store."""

import asyncio
from pathlib import Path

import pytest

from postroad.model.errors import HubRefused, MailboxFull
from tests.hub.serving import serving, some_boxes


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
            sender.told.continued = told.put_nowait
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
            assert await asyncio.wait_for(told.get(), 20) == box.box
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
