"""Of several blocks, whose reason is told with the end."""

import msgspec

from postroad.model.block import Block, BlockKind
from postroad.model.explain import explain, explain_queue
from tests.rig.world import World, simulate
from tests.verbs.states import HOUR_S, QUEUE, away


def test_of_two_blocks_the_reason_is_that_of_the_one_that_ends_last() -> None:
    """The end of a quota was told with the reason of a circuit that ends before."""

    async def story(world: World) -> None:
        world.start("one")
        number = await away(world)
        store, now_ms = world.client.store, world.clock.now_ms()
        queue = await store.queue_facts("default", QUEUE, 9)
        message = await store.message_facts(None, number)
        assert queue
        assert message
        for until_ms, told in ((now_ms + HOUR_S * 1000, "quota"), (now_ms + 1, "its server")):
            block = Block(BlockKind.quota, until_ms, "429", 1, now_ms)
            held = msgspec.structs.replace(queue.queue, block=block)
            own = msgspec.structs.replace(message, queue=held)
            for said in (
                explain_queue(msgspec.structs.replace(queue, queue=held), now_ms).next,
                explain(own, now_ms).next,
            ):
                assert told in said.why
                assert (said.not_before_ms == until_ms) == (told == "quota")

    simulate(12, story)
