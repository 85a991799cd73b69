"""How fast lanes are emptied: few with many messages, many with one."""

import asyncio
import gc
import time

import uvloop

from tests.fleet.loads import Doors, door, open_doors, road_of, send_round
from tests.fleet.states import ask


def drain_rate(dsn: str, lanes: int, messages: int) -> float:
    """Messages a second, from the start of a road that finds them waiting until the last is
    recorded; as `postroad worker` runs."""
    gc.freeze()
    try:
        rate = uvloop.run(_drain_rate(dsn, lanes, messages))
    finally:
        gc.unfreeze()
    left, past = ask(
        dsn,
        "select (select count(*) from postroad.message m join postroad.rung r on r.id = m.rung_id),"
        " (select count(*) from postroad.history)",
    )[0]
    if (left, past) != (0, messages):
        raise AssertionError(f"{left} are left, {past} of {messages} are in history")
    return rate


async def _drain_rate(dsn: str, lanes: int, messages: int) -> float:
    names = [door(n) for n in range(lanes)]
    doors = Doors()
    async with road_of(dsn, doors) as road:
        await open_doors(road, doors, names)
        await send_round(road, names, messages)
    async with road_of(dsn, doors) as road:
        start_s = time.perf_counter()
        running = asyncio.create_task(road.run())
        await doors.answered(messages)
        if road.engine is not None:
            await road.engine.recorder.settled()
        took_s = time.perf_counter() - start_s
        road.stop()
        await running
    return messages / took_s
