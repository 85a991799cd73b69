"""Ways into every state of a message, and what explain has to say there."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from postroad.model.explain import Explanation
from postroad.model.ids import to_text
from postroad.model.next_step import NextKind
from postroad.model.outcome import DELIVERED, failed, rejected
from postroad.model.outcome import held as lacking
from postroad.model.states import State
from tests.rig import receivers
from tests.rig.receivers import QUICK
from tests.rig.world import World, simulate

HOUR_S = 3_600
QUEUE = "sim://ash/a?token=hush"


def now_of(world: World) -> datetime:
    """The simulated time."""
    return datetime.fromtimestamp(world.clock.now_ms() / 1000, UTC)


# Each answers a message that is in its state now.


async def scheduled(world: World) -> int:
    return await world.send(QUEUE, delay=HOUR_S, headers={"authorization": "hush"})


async def retrying(world: World) -> int:
    world.behaviours["ash"] = receivers.flaky(1.0)
    number = await world.send(QUEUE)
    await asyncio.sleep(0.5)
    return number


async def over_quota(world: World) -> int:
    world.behaviours["ash"] = receivers.quota_until(world.clock.now_ms() + 10**8)
    number = await world.send(QUEUE)
    await asyncio.sleep(5)
    return number


async def not_set_up(world: World) -> int:
    world.behaviours["ash"] = lambda _now_ms, _draw: (0.01, False, lacking("no token"))
    number = await world.send(QUEUE)
    await asyncio.sleep(1)
    return number


async def away(world: World) -> int:
    world.behaviours["ash"] = receivers.away_until(world.clock.now_ms() + 10**8)
    number = await world.send(QUEUE)
    await asyncio.sleep(60)
    return number


async def recipient_away(world: World) -> int:
    world.behaviours[QUEUE] = receivers.away_until(world.clock.now_ms() + 10**8)
    number = await world.send(QUEUE)
    for _ in range(30):
        await world.send("sim://ash/fine")
        await asyncio.sleep(0.4)
    return number


async def paused(world: World) -> int:
    number = await world.send(QUEUE, delay=1)
    await world.client.pause(QUEUE)
    await asyncio.sleep(5)
    return number


async def lane_paused(world: World) -> int:
    number = await world.send(QUEUE, delay=1)
    await world.client.lanes.pause(1)
    await asyncio.sleep(5)
    return number


async def disabled(world: World) -> int:
    gone = rejected("410 gone", status=410, disables=True)
    world.behaviours["ash"] = lambda _now_ms, _draw: (0.01, False, gone)
    await world.send(QUEUE)
    await asyncio.sleep(1)
    return await world.send(QUEUE)


async def behind(world: World) -> int:
    world.behaviours["ash"] = receivers.flaky(1.0)
    await world.send(QUEUE, order_key="k")
    number = await world.send(QUEUE, order_key="k")
    await asyncio.sleep(0.5)
    return number


async def holding(world: World) -> int:
    policy: Any = replace(QUICK, skip_exhausted=False)
    world.client._transports["sim"]._policy = policy  # type: ignore[attr-defined]
    world.behaviours["ash"] = receivers.flaky(1.0)
    number = await world.send(QUEUE, order_key="k")
    await world.send(QUEUE, order_key="k")
    await asyncio.sleep(600)
    return number


async def held_behind(world: World) -> int:
    head = await holding(world)
    (number,) = set(world.ledger.sent) - {head}
    return number


async def expiring(world: World) -> int:
    world.behaviours["ash"] = receivers.quota_until(world.clock.now_ms() + 10**8)
    await world.send(QUEUE)
    await asyncio.sleep(1)
    return await world.send(QUEUE, expires_at=now_of(world) + timedelta(seconds=30))


async def sending(world: World) -> int:
    world.behaviours["ash"] = receivers.good(10.0)
    number = await world.send(QUEUE)
    await asyncio.sleep(1)
    return number


async def uncertain(world: World) -> int:
    world.behaviours["ash"] = receivers.doubtful(1.0)
    number = await world.send("sim://ash/once")
    await asyncio.sleep(1)
    return number


async def delivered(world: World) -> int:
    answers = [failed("500 hush", status=500)]
    world.behaviours["ash"] = lambda _now_ms, _draw: (
        (0.2, False, answers.pop()) if answers else (0.3, True, DELIVERED)
    )
    number = await world.send(QUEUE)
    await asyncio.sleep(10)
    return number


async def cancelled(world: World) -> int:
    number = await world.send(QUEUE, delay=HOUR_S)
    await world.client.cancel(to_text(number))
    return number


async def dead(world: World) -> int:
    world.behaviours["ash"] = receivers.rejecting(1.0)
    number = await world.send(QUEUE)
    await asyncio.sleep(1)
    return number


Way = Callable[[World], Any]
STATES: list[tuple[Way, State, list[tuple[str, str]], NextKind, str]] = [
    (scheduled, State.waiting, [("message", "scheduled")], NextKind.attempt, "its sender asked"),
    (retrying, State.waiting, [("message", "retry")], NextKind.attempt, "delay of its retry level"),
    (over_quota, State.held, [("queue", "quota")], NextKind.probe, "over its quota"),
    (not_set_up, State.held, [("queue", "setup")], NextKind.probe, "missing on our side"),
    (away, State.held, [("lane", "unreachable")], NextKind.probe, "one probe an interval"),
    (
        recipient_away,
        State.held,
        [("queue", "unreachable")],
        NextKind.probe,
        "its recipient cannot",
    ),
    (paused, State.held, [("queue", "paused")], NextKind.held, "until somebody resumes"),
    (lane_paused, State.held, [("lane", "paused")], NextKind.held, "until somebody resumes"),
    (disabled, State.held, [("queue", "disabled")], NextKind.held, "until somebody unblocks"),
    (behind, State.waiting, [("message", "order")], NextKind.after, "go in order of acceptance"),
    (holding, State.held, [("message", "exhausted_head")], NextKind.held, "replays or cancels it"),
    (
        held_behind,
        State.held,
        [("message", "order")],
        NextKind.after,
        "head of its order group is exhausted",
    ),
    (expiring, State.held, [("queue", "quota")], NextKind.expire, "its deadline comes first"),
    (sending, State.sending, [], NextKind.answer, "under way"),
    (uncertain, State.uncertain, [], NextKind.nothing, "may have been delivered"),
    (delivered, State.delivered, [], NextKind.nothing, "finished"),
    (cancelled, State.cancelled, [], NextKind.nothing, "finished"),
    (dead, State.dead, [], NextKind.nothing, "finished"),
]
IDS = [way.__name__ for way, *_ in STATES]


def lived(way: Way, look: Callable[[World, Explanation], Any]) -> None:
    """Lives into a state and asks the engine that serves it."""

    async def story(world: World) -> None:
        member = world.start("one")
        member.receivers._policy = replace(QUICK, skip_exhausted=False)
        number = await way(world)
        said = await member.road.explain(to_text(number))
        answer = look(world, said)
        if answer is not None:
            await answer

    simulate(1, story)
