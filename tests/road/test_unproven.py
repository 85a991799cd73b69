"""Lanes that did not answer (yet): beside other tenants so many of one tenant's are in flight."""

import asyncio

import pytest

from postroad.engine import lane_reader, owned_lanes
from postroad.engine.capacity import Capacity
from postroad.engine.lane_reader import FairQuestions
from postroad.engine.lane_worker import LaneWorker
from postroad.model.entities import Lane, LaneKey
from postroad.model.limits import Limits
from postroad.model.outcome import DELIVERED, Outcome, unreachable
from tests.rig import receivers
from tests.rig.world import World, simulate
from tests.road.crowding import fill

LIMITS = Limits(in_flight_max=64)
BOUND = 16
LANES = 200
HANGS_S = 10.0


class Crowd(dict[str, receivers.Behaviour]):
    """Servers of one tenant, which all do the same; one of another tenant's is alive."""

    def __init__(self, seconds: float, outcome: Outcome) -> None:
        super().__init__()
        self._does = (seconds, outcome is DELIVERED, outcome)
        self.started_ms: list[int] = []

    def get(self, key: str, _default: object = None) -> receivers.Behaviour | None:  # type: ignore[override]
        """How a server behaves."""
        return None if "alive" in key else self._try

    def _try(self, now_ms: int, draw: float) -> tuple[float, bool, Outcome]:
        _ = draw  # they all do the same
        self.started_ms.append(now_ms)
        return self._does


def crowd(behaves: Crowd, seconds: float, *, company: bool) -> int:
    """So many tries of one tenant's lanes have started after so many seconds; in company another
    tenant sends something every second."""
    counted: list[int] = []

    async def story(world: World) -> None:
        world.behaviours = behaves
        world.start("one")
        until_s = world.loop.time() + 1
        while (now_s := world.loop.time()) < until_s + seconds:
            if company:
                _ = await world.client.send("sim://alive/a", 1, tenant="other")
            await asyncio.sleep(1)
            if now_s < until_s:
                await fill(world.client, "crowd", LANES)
        counted.append(len(behaves.started_ms))
        world.crash("one")

    _ = simulate(1, story, LIMITS)
    return counted[0]


def test_in_company_few_lanes_that_never_answered_are_in_flight() -> None:
    assert crowd(Crowd(HANGS_S, unreachable("hangs")), 5, company=True) == BOUND


def test_otherwise_they_fill_the_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Capacity, "left_unproven", lambda _room, _tenant: LIMITS.in_flight_max)
    assert crowd(Crowd(HANGS_S, unreachable("hangs")), 5, company=True) > 2 * BOUND


def test_a_tenant_that_is_alone_has_all_of_the_room() -> None:
    assert crowd(Crowd(HANGS_S, unreachable("hangs")), 5, company=False) == LIMITS.in_flight_max


def test_lanes_that_answer_are_not_held_up() -> None:
    assert crowd(Crowd(0.005, DELIVERED), 2, company=True) == LANES


def test_one_that_waits_for_room_waits_without_a_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    woken = 0
    wake = owned_lanes.OwnedLanes._wake

    def counted(self: owned_lanes.OwnedLanes, worker: LaneWorker) -> None:
        nonlocal woken
        woken += 1
        wake(self, worker)

    monkeypatch.setattr(owned_lanes.OwnedLanes, "_wake", counted)
    behaves = Crowd(0.4, unreachable("slow to refuse"))
    tries = crowd(behaves, 4, company=True)
    assert tries > LANES / 2
    assert woken < 10 * LANES  # each of hundreds every millisecond it was


def test_of_each_tenant_in_turn_few_lanes_are_asked_about_at_once() -> None:
    asked: FairQuestions[int] = FairQuestions()
    many = [LaneWorker.of(lane(n, "crowd"), LIMITS) for n in range(1, 101)]
    for worker in many:
        asked.add(worker, worker.lane.id)
    asked.add(LaneWorker.of(lane(999, "other"), LIMITS), 999)
    first = [number for _, number in asked.next()]
    assert first == [1, 999, *range(2, lane_reader.IN_COMPANY)]
    rest: list[int] = []
    while asked:
        rest += [number for _, number in asked.next()]
    assert rest == list(range(lane_reader.IN_COMPANY, 101))


def lane(number: int, tenant: str) -> Lane:
    return Lane(number, LaneKey("sim", f"dead{number}", tenant=tenant), 1)
