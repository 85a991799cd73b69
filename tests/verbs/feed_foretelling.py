"""Explain foretells what a feed gives, and the next read shows it, in simulated time."""

import asyncio
from collections import Counter

from postroad.model.next_step import NextKind
from postroad.model.states import State
from tests.rig.world import World, simulate

OPEN = (State.waiting, State.held)


class FeedStory:
    """A customer who reads, acks some of it, and forgets the rest."""

    def __init__(self, world: World, seed: int) -> None:
        self.world = world
        self.seed = seed
        self.left: set[str] = set()
        """Published, and not acked or cancelled."""
        self.checked: Counter[str] = Counter()
        self.broken: list[str] = []

    async def live(self) -> None:
        rng, road = self.world.loop.rng, self.world.client
        made = await road.endpoints.create(pull=True, types=("order.*",))
        for _ in range(40):
            for _ in range(rng.randint(0, 2)):
                self.left.update((await road.publish("order.paid", 1)).messages)
            await asyncio.sleep(rng.choice([0.0, 0.4, 1.0, 7.0, 31.0]))
            if rng.random() < 0.1:
                await self._gone(made.queue)
            foretold = await self._foretold()
            page = await road.endpoints.feed(made.id, lease=rng.choice([1, 5, 30]))
            got = {one.id for one in page.messages}
            if got != foretold:
                self.broken.append(f"seed {self.seed}: {foretold} were to be read, {got} were")
            await self._ack(made.id, sorted(got))

    async def _foretold(self) -> set[str]:
        """Those that can be read now, as explanations say."""
        now_ms, found = self.world.clock.now_ms(), set[str]()
        for number in self.left:
            told = await self.world.client.explain(number)
            if told.next.what is not NextKind.read or told.state not in OPEN:
                self.broken.append(f"seed {self.seed}: {number} is {told.state}: {told.next}")
            elif (told.next.not_before_ms or 0) <= now_ms:
                self.checked["read now"] += 1
                found.add(number)
            else:
                self.checked["read later"] += 1
        return found

    async def _ack(self, endpoint: str, got: list[str]) -> None:
        rng = self.world.loop.rng
        acked = [number for number in got if rng.random() < 0.5]
        if acked:
            assert (await self.world.client.endpoints.ack(endpoint, acked)).acked == len(acked)
            self.left -= set(acked)
        for number in acked:
            told = await self.world.client.explain(number)
            self.checked["acked"] += 1
            if (told.state, told.next.what) != (State.delivered, NextKind.nothing):
                self.broken.append(f"seed {self.seed}: {number} is acked, and {told.state}")

    async def _gone(self, queue: str) -> None:
        """The operator cancels what waits."""
        _ = await self.world.client.cancel_all(queue, wait=0)
        for number in list(self.left):
            if (await self.world.client.explain(number)).state is State.cancelled:
                self.left.discard(number)
                self.checked["cancelled"] += 1


def foretell_feeds(first_seed: int, worlds: int) -> tuple[Counter[str], list[str]]:
    """Live through worlds; answers what was checked, and what came otherwise than it was said."""
    checked: Counter[str] = Counter()
    broken: list[str] = []
    for seed in range(first_seed, first_seed + worlds):

        async def story(world: World, seed: int = seed) -> None:
            feed = FeedStory(world, seed)
            await feed.live()
            checked.update(feed.checked)
            broken.extend(feed.broken)

        simulate(seed, story)
    return checked, broken
