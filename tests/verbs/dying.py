"""Dead messages, made quickly."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from postroad.model.dead import Page
from postroad.model.ids import to_text
from postroad.model.outcome import rejected
from postroad.model.states import State
from tests.rig import receivers
from tests.rig.world import World


def now_of(world: World) -> datetime:
    """The simulated time."""
    return datetime.fromtimestamp(world.clock.now_ms() / 1000, UTC)


def ids_of(page: Page) -> list[str]:
    return [message.id for message in page.messages]


async def die(world: World, queue: str, error: str = "410", **options: Any) -> str:
    """A message that is rejected at once."""
    if "one" not in world.members:
        world.start("one")
    world.behaviours[queue] = lambda _now_ms, _draw: (0.01, False, rejected(error, status=410))
    number = await world.send(queue, **options)
    while (await world.store.states())[number] is not State.dead:
        await asyncio.sleep(0.05)
    return to_text(number)


def tries_of(world: World, *ids: str) -> list[tuple[str, int]]:
    """Tries of these messages in order: id and level."""
    book = [(to_text(r.message), r.level) for r in world.ledger.book]
    return [entry for entry in book if entry[0] in ids]


async def as_tenant(world: World, tenant: str, queue: str) -> str:
    """A tenant's message that is rejected."""
    world.behaviours[queue] = receivers.rejecting(1.0)
    receipt = await world.client.send(queue, 1, tenant=tenant)
    await asyncio.sleep(5)
    return receipt.id
