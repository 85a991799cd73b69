"""How soon a server that was away gets a probe: by the interval without traffic, by a quarter of it
while messages come."""

import asyncio
from itertools import pairwise

import pytest

from postroad.engine import early_probe
from postroad.model.circuit import Circuit
from postroad.model.ids import to_text
from tests.rig import receivers
from tests.rig.world import World, simulate

SEEDS = range(6)
OUTAGES_S = (3, 12, 50, 300)
MORE_OUTAGES_S = (7, 25, 110)
SLACK_S = 0.25
"""A claim, and the try itself."""


def recovery_s(seed: int, outage_s: float, every_s: float) -> float:
    """Seconds from a server's return to the first delivery; a message comes every so often."""
    late_s = float("nan")

    async def story(world: World) -> None:
        nonlocal late_s
        back_ms = world.clock.now_ms() + int(outage_s * 1000)
        world.behaviours["ash"] = receivers.away_until(back_ms)
        world.start("one")
        for _ in range(8):
            await world.send("sim://ash/a")
        end_s = world.loop.time() + 3 * outage_s + 20
        while world.loop.time() < end_s and not (found := _arrived(world)):
            await asyncio.sleep(every_s)
            await world.send("sim://ash/a")
        late_s = (min(found) - back_ms) / 1000

    simulate(seed, story)
    return late_s


def _arrived(world: World) -> list[int]:
    return [r.started_ms for r in world.ledger.book if r.kind == "delivered"]


def bound_s(outage_s: float) -> float:
    return min(75.0, outage_s / 3 + 2.0) + SLACK_S


@pytest.mark.parametrize(
    "outage_s",
    [*OUTAGES_S, *(pytest.param(each, marks=pytest.mark.wide) for each in MORE_OUTAGES_S)],
)
def test_with_traffic_a_server_is_found_within_a_third_of_its_outage_and_two_seconds(
    outage_s: float, part: int
) -> None:
    every_s = max(0.3, outage_s / 50)
    late_s = [recovery_s(seed, outage_s, every_s) for seed in SEEDS[::part]]
    assert max(late_s) <= bound_s(outage_s) + every_s


@pytest.mark.wide
def test_without_early_probes_it_is_found_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def never_early(circuit: Circuit, _now_ms: int) -> int:
        return circuit.until_ms

    monkeypatch.setattr(early_probe, "early_ms", never_early)
    late_s = {
        outage_s: max(recovery_s(seed, outage_s, 0.3) for seed in SEEDS) for outage_s in (7, 12, 25)
    }
    # Where in its intervals a server comes back is chance, in each outage another one.
    assert any(late > bound_s(outage_s) + 0.3 for outage_s, late in late_s.items())
    assert all(late <= 1.7 * outage_s + 2.5 + SLACK_S for outage_s, late in late_s.items())


def probes_of_an_hour(every_s: float) -> list[float]:
    """When a server that is away for good is tried, in seconds, while messages come."""
    found: list[float] = []

    async def story(world: World) -> None:
        start_ms = world.clock.now_ms()
        world.behaviours["ash"] = receivers.away_until(start_ms + 7_200_000)
        world.start("one")
        for n in range(int(3_600 / every_s)):
            await world.send(f"sim://ash/{n % 50}")
            await asyncio.sleep(every_s)
        found.extend(sorted((r.started_ms - start_ms) / 1000 for r in world.ledger.book))

    simulate(1, story)
    return found


@pytest.mark.wide
def test_an_hour_of_steady_traffic_to_a_dead_server_costs_few_probes() -> None:
    """Four an interval at most: 2, 4, 8 … 300 s have room for about eighteen."""
    tries = [at_s for at_s in probes_of_an_hour(1.5) if at_s > 10]
    gaps_s = [b - a for a, b in pairwise(tries)]
    assert 40 <= len(tries) <= 80
    assert min(gaps_s) >= 1.5
    assert max(gaps_s) <= 95


def test_a_lane_kept_for_an_early_probe_is_given_back_when_its_messages_are_cancelled() -> None:
    """It was kept for good, and with it the heartbeat of a process with nothing to do."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.away_until(world.clock.now_ms() + 7_200_000)
        member = world.start("one")
        sent = [await world.send("sim://ash/a") for _ in range(3)]
        while len(world.ledger.book) < 5:
            await asyncio.sleep(0.05)
        sent.append(await world.send("sim://ash/a"))  # while the lane is owned after a probe
        await asyncio.sleep(0.05)
        for number in sent:
            await world.client.cancel(to_text(number))
        await asyncio.sleep(30)
        assert member.road.engine is not None
        assert not member.road.engine.lanes

    simulate(1, story)
