"""Batches to queues that a sender still knows and that were deleted, because nobody had used them:
members and what follows go to the queue that is made again."""

import pytest

from postroad import Batch, Message, Postroad, Send, Settings
from postroad.errors import UnknownQueue
from tests.webhook.conftest import LOCAL

URL = "http://127.0.0.1:9/gone"


@pytest.fixture
def road(dsn: str) -> Postroad:
    """It may call the loopback, and has a handler."""
    made = Postroad(dsn, settings=Settings(webhooks=LOCAL))

    @made.handler("work")
    async def work(_message: Message) -> None:
        pass

    return made


async def known(road: Postroad) -> None:
    """The sender knows the queue, which holds nothing."""
    with pytest.raises(UnknownQueue):
        await road.batch([Send(URL, 0), ("nobody", 0)])


async def known_and_gone(road: Postroad) -> None:
    """And the queue is deleted."""
    await known(road)
    assert (await road.store.collect(0)).gone == 1


async def waiting(road: Postroad) -> int:
    return len((await road.messages.list(queue=URL, state="waiting")).messages)


async def test_what_follows_goes_to_a_queue_that_is_made_again(road: Postroad) -> None:
    await known_and_gone(road)
    receipt = await road.batch([("work", 1)], then=Send(URL, 2, delay=3600))
    await road.run(until_idle=True)
    assert (await road.batches.get(receipt.id)).sent == "then"
    assert await waiting(road) == 1


async def test_members_go_to_a_queue_that_is_made_again(road: Postroad) -> None:
    await known_and_gone(road)
    receipt = await road.batch([("work", 1), Batch([Send(URL, 2, delay=3600)])])
    assert (await road.batches.get(receipt.id)).total == 2
    assert await waiting(road) == 1
    assert len((await road.batches.list()).batches) == 2


async def test_the_last_of_many_members_goes_to_a_queue_that_is_made_again(road: Postroad) -> None:
    await known_and_gone(road)
    many = [Send("work", n, delay=3600) for n in range(2_000)]
    receipt = await road.batch([*many, Send(URL, 2, delay=3600)])
    assert len(receipt.messages) == 2_001
    assert await waiting(road) == 1
    assert len((await road.batches.list()).batches) == 1


async def test_a_queue_is_not_deleted_while_something_is_to_follow_there(road: Postroad) -> None:
    await known(road)
    await road.batch([("work", 1)], then=Send(URL, 2, delay=3600))
    assert (await road.store.collect(0)).gone == 0
    await road.run(until_idle=True)
    assert await waiting(road) == 1
