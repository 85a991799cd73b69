"""Worlds drawn from seeds: crashes, pauses, a failing store, bad recipients; and the ledger. Many
more of them: `make proof ITEM=simulation`."""

import asyncio

import pytest

from postroad.model.outcome import failed
from postroad.model.record import Record
from postroad.stores.sqlite import recording
from tests.rig.ledger import Breach
from tests.rig.swarm import limited_swarm
from tests.rig.world import World, simulate
from tests.sim.seeds import broken_seeds, unsteady_seeds

REGRESSIONS = (21, 39, 54, 82, 98, 277, 3009, 3033, 3646, 3823)
"""Seeds that once broke a promise."""
LIMITED_REGRESSIONS = (1166, 1220, 1236, 1303)
"""The same under limits."""


@pytest.mark.parametrize(
    ("first", "worlds"), [(1_000, 8), pytest.param(1_008, 12, marks=pytest.mark.wide)]
)
def test_worlds_with_faults_keep_every_promise(first: int, worlds: int, part: int) -> None:
    """No loss, no phantom, repeats only after doubt, one holder, order, never early, all final."""
    assert broken_seeds(first, worlds // min(part, 2)) == []


def test_worlds_under_limits_keep_every_promise(part: int) -> None:
    """As well: no window holds more starts than it allows, and doubts are settled by people."""
    assert broken_seeds(1_000, 8 // part, limited_swarm) == []


@pytest.mark.parametrize("seed", LIMITED_REGRESSIONS)
def test_a_seed_under_limits_that_once_broke_a_promise_keeps_it(seed: int) -> None:
    """Kept for ever."""
    assert broken_seeds(seed, 1, limited_swarm) == []


@pytest.mark.parametrize(
    "seed",
    [
        *REGRESSIONS[::2],
        *(pytest.param(each, marks=pytest.mark.wide) for each in REGRESSIONS[1::2]),
    ],
)
def test_a_seed_that_once_broke_a_promise_keeps_it(seed: int) -> None:
    """Kept for ever."""
    assert broken_seeds(seed, 1) == []


@pytest.mark.wide
def test_worlds_lived_twice_are_the_same(part: int) -> None:
    """The digest of all events depends on the seed alone."""
    assert unsteady_seeds(2_000, 4 // part) == []


async def zombie(world: World) -> None:
    """An engine stands still while it sends, loses its lease, and comes back with a failure."""
    fails_late = (18.0, False, failed("500"))
    world.behaviours["ash"] = lambda _now_ms, _draw: fails_late
    world.start("one")
    await world.send("sim://ash/a")
    await asyncio.sleep(1)
    world.start("two")
    world.pause("one", 44)  # back while the next owner's try is under way
    await asyncio.sleep(300)
    world.check(await world.store.states())


def test_a_zombies_late_failure_changes_nothing() -> None:
    """The epoch fence holds."""
    simulate(7, zombie)


def test_without_the_fence_the_checker_names_the_breach(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard itself removed: whatever epoch a result claims is believed."""

    def believe(_db: object, batch: Record) -> dict[int, int]:
        return {result.message.lane: result.epoch for result in batch.results}

    monkeypatch.setattr(recording, "_epochs", believe)
    with pytest.raises(Breach, match="fence: a late failure changed message"):
        simulate(7, zombie)
