"""Lists on RabbitMQ: what the state store knows, and a named error for what only the broker has."""

from pathlib import Path

import pytest

from postroad import Message, Reject
from postroad.model.errors import NotOnRabbitMQ
from tests.rabbitmq.roads import a_road, running, until_state


async def test_finished_dead_and_noted_messages_are_listed(dsn: str, tmp_path: Path) -> None:
    road = a_road(dsn, tmp_path)

    @road.handler("lists-good", keep_bodies=60)
    async def good(_: Message[int]) -> None: ...

    @road.handler("lists-bad")
    async def bad(_: Message[int]) -> None:
        raise Reject("never")

    async with road:
        sent = [(await road.send("lists-good", n)).id for n in range(3)]
        dead = (await road.send("lists-bad", 1)).id
        async with running(road):
            for number in sent:
                await until_state(road, number, "delivered")
            await until_state(road, dead, "dead")  # it is collected from the broker a little later
        later = (await road.send("lists-good", 9, delay=3_600)).id
        page = await road.messages.list(queue="lists-good", state="delivered")
        assert sorted(one.id for one in page.messages) == sorted(sent)
        (gone,) = (await road.messages.list(queue="lists-bad", state="dead")).messages
        assert (gone.id, gone.reason) == (dead, "rejected")
        every = await road.messages.list(queue="lists-good")
        assert later in {one.id for one in every.messages if one.state == "waiting"}
        assert "broker" in every.note
        with pytest.raises(NotOnRabbitMQ, match="1 are known to wait"):
            await road.messages.list(state="waiting")
        await road.pause("lists-good")
        (held,) = (await road.messages.list(queue="lists-good", state="held")).messages
        assert (held.id, held.because) == (later, "paused")
        await road.resume("lists-good")
        again = await road.messages.send_again(sent[0])
        assert again.sent == 1
        with pytest.raises(NotOnRabbitMQ, match="key"):
            await road.messages.send_again(sent[0], key="k")
