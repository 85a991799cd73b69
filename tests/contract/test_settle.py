"""Settling: an uncertain message counts as sent, or goes back to where it was."""

from postroad.model.decide import Move
from postroad.model.entities import Lane, Message
from tests.contract.bench import Bench


async def doubted(bench: Bench, *, order_key: str = "") -> tuple[Lane, Message]:
    await bench.send(await bench.queue(), b"body", order_key=order_key)
    lane = await bench.take()
    message = await bench.only(lane.id)
    await bench.became(message, Move.doubt)
    return lane, message


async def test_what_was_sent_is_delivered(bench: Bench) -> None:
    _, message = await doubted(bench)
    assert await bench.store.settle("default", message.id, sent=True)
    assert await bench.counts() == {"delivered": 1}
    assert await bench.rows("select attempts, late from history") == [(1, False)]


async def test_what_was_not_sent_can_be_tried_again_at_once(bench: Bench) -> None:
    lane, message = await doubted(bench)
    assert await bench.store.settle("default", message.id, sent=False)
    again = await bench.only(lane.id)
    assert (again.id, again.body, again.level, again.attempts, again.marks) == (
        *(message.id, b"body", 0, 1, 0),
    )


async def test_its_free_lane_can_be_claimed_again(bench: Bench) -> None:
    lane, message = await doubted(bench)
    await bench.release(lane)
    await bench.store.settle("default", message.id, sent=False)
    assert (await bench.take()).id == lane.id
    assert (await bench.only(lane.id)).id == message.id


async def test_of_an_order_group_it_goes_by_itself(bench: Bench) -> None:
    lane, message = await doubted(bench, order_key="k")
    await bench.store.settle("default", message.id, sent=False)
    assert (await bench.only(lane.id)).id == message.id


async def test_nothing_else_is_settled(bench: Bench) -> None:
    _, message = await doubted(bench)
    waiting = await bench.send(await bench.queue("other"))
    assert not await bench.store.settle("another tenant", message.id, sent=True)
    assert not await bench.store.settle("default", waiting, sent=True)
    assert not await bench.store.settle("default", waiting + 1, sent=False)
    assert await bench.counts() == {"uncertain": 1, "waiting": 1}
