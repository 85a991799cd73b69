"""Tries that end badly when a later copy of their message is here: it is not judged by them."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from postroad.model.errors import StoreUnavailable
from tests.rabbitmq.test_arriving import a_world
from tests.rabbitmq.test_table import Slip


async def test_the_next_copy_that_comes_before_its_note_is_written_is_not_judged_by_the_old_try(
    tmp_path: Path,
) -> None:
    """The note cannot be written at first: when it can, the copy that it speaks of is here."""
    async with a_world(tmp_path) as world:
        world.state.may_answer.set()
        first = world.deliver(7, 0)
        await world.settled()
        message = world.owned()
        newer: list[Slip] = []

        async def down() -> None:
            (post,) = world.copy_publisher.copies
            newer.append(world.arrive(replace(post.envelope, due_ms=message.due_ms)))
            await world.settled()
            raise StoreUnavailable("it is away")

        world.state.before_write = down
        with pytest.raises(StoreUnavailable):
            await world.failed(message)
        await world.failed(message)
        assert [post.envelope.hop for post in world.copy_publisher.copies] == [1]
        assert [slip.said for slip in (first, *newer)] == [["ack"], []]
        held = world.delivered.messages[7].envelope
        assert (held.hop, held.level, held.attempts) == (1, 1, 1)
        assert (await world.state.known([7]))[7].hop == 0
        assert len(await world.state.tries(7)) == 1


async def test_a_copy_that_was_tried_more_often_is_not_judged_by_an_older_try(
    tmp_path: Path,
) -> None:
    """Peers had got the message too, had failed thrice, and their last copy came here."""
    async with a_world(tmp_path) as world:
        world.state.may_answer.set()
        world.deliver(7, 0)
        await world.settled()
        message = world.owned()
        spent = world.delivered.messages[7].envelope
        newer = world.arrive(replace(spent, hop=3, level=3, attempts=3))
        await world.settled()
        await world.failed(message)
        assert (world.copy_publisher.copies, newer.said) == ([], [])
        held = world.delivered.messages[7].envelope
        assert (held.hop, held.level, held.attempts) == (3, 3, 3)
        assert (await world.state.known([7]))[7].hop == 2
        where = await world.state.place_of(7)
        assert where is not None
        assert (where.level, where.attempts) == (3, 3)
