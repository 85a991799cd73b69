"""Cancel races claim: one function for the quick test and for the proof."""

import asyncio

from postroad.model.control import CancelState
from postroad.model.ids import to_text
from tests.rig import receivers
from tests.rig.world import World, simulate


def cancel_races(first_seed: int, worlds: int, messages: int) -> tuple[int, list[str]]:
    """Cancels messages while engines claim and send them; answers how many races there were,
    and every try that started after its message's `cancelled`."""
    races = 0
    broken: list[str] = []
    for seed in range(first_seed, first_seed + worlds):

        async def story(world: World, seed: int = seed) -> None:
            nonlocal races
            answered: dict[int, float] = {}
            rng = world.loop.rng
            world.behaviours["ash"] = receivers.flaky(0.5, seconds=rng.choice([0.0, 0.01, 0.5]))
            for n in range(rng.randint(1, 3)):
                world.start(f"engine-{n}")

            async def race(number: int) -> None:
                await asyncio.sleep(rng.choice([0.0, 0.0, 0.01, 0.5, 2.0]))
                answer = await world.client.cancel(to_text(number))
                if answer.state is CancelState.cancelled:
                    answered[number] = world.clock.now_ms()

            tasks = []
            for n in range(messages):
                key = rng.choice([None, None, "red"])
                number = await world.send(f"sim://ash/{n % 5}", order_key=key)
                tasks.append(asyncio.get_running_loop().create_task(race(number)))
                await asyncio.sleep(rng.choice([0.0, 0.0, 0.005]))
            if rng.random() < 0.3:
                world.crash(min(world.members))
                world.start("spare")
            await asyncio.gather(*tasks)
            races += len(tasks)
            states = await world.settled(within_s=3600)
            broken.extend(
                f"seed {seed}: {r.message} started {r.started_ms - answered[r.message]} ms late"
                for r in world.ledger.book
                if r.message in answered and r.started_ms > answered[r.message]
            )
            broken.extend(
                f"seed {seed}: {n} is {states.get(n)}"
                for n in answered
                if str(states.get(n)) != "cancelled"
            )
            world.check(states)

        simulate(seed, story)
    return races, broken
