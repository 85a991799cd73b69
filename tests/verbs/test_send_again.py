"""Sending again: every message that matches once, and none that the call itself has sent."""

import asyncio

import pytest
from msgspec.structs import replace

from postroad.verbs import send_again
from tests.rig import receivers
from tests.rig.world import World, simulate

QUEUE = "sim://ash/a"


def test_what_a_call_sends_again_is_not_sent_again_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it is delivered in the millisecond in which the call was made."""
    monkeypatch.setattr(send_again, "SLICE", 1)

    async def story(world: World) -> None:
        world._settings = replace(world._settings, keep_bodies=3_600)
        world.behaviours["ash"] = receivers.good(0.0)
        road = world.start("one").road
        for _ in range(3):
            await world.send(QUEUE)
        await asyncio.sleep(1)
        said = [each.sent async for each in road.messages.sending_again(queue=QUEUE)]
        assert said[-1] == 3
        await asyncio.sleep(1)
        page = await road.messages.list(queue=QUEUE, state="delivered")
        assert len(page.messages) == 6

    simulate(1, story)
