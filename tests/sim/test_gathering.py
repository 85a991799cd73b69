"""Results that come one by one are written together, and nobody who waits for one waits longer."""

import pytest

from postroad.engine import recorder
from postroad.model.outcome import DELIVERED
from postroad.model.record import Record, Recorded
from tests.rig.world import World, simulate

MESSAGES = 200


def writes(*, ordered: bool = False) -> tuple[int, float]:
    """How many transactions the results of a stream take, and how long it lasts."""
    seen: list[float] = []

    async def story(world: World) -> None:
        real = world.store.record

        async def counted(record: Record) -> Recorded:
            seen.append(world.loop.time())
            return await real(record)

        world.store.record = counted  # type: ignore[method-assign]
        world.behaviours["ash"] = lambda _ms, draw: (0.002 + 0.003 * draw, True, DELIVERED)
        for number in range(MESSAGES):
            key = {"order_key": str(number % 2)} if ordered else {}
            _ = await world.send("sim://ash/a", **key)
        world.start("one")
        world.check(await world.settled(within_s=60))

    simulate(1, story)
    return len(seen), seen[-1] - seen[0]


def test_results_that_come_one_by_one_are_written_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together, together_s = writes()
    recorder_s = recorder.GATHER_S
    monkeypatch.setattr(recorder, "GATHER_S", 0.0)
    apart, apart_s = writes()
    assert apart == MESSAGES
    assert together <= MESSAGES / 10
    assert together_s - apart_s <= 2 * recorder_s


def test_an_order_group_that_waits_for_its_head_does_not_wait_for_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    together, together_s = writes(ordered=True)
    monkeypatch.setattr(recorder, "GATHER_S", 0.0)
    apart, apart_s = writes(ordered=True)
    assert together == apart == MESSAGES
    assert together_s == apart_s
