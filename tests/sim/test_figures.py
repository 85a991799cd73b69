"""Figures of a fleet in simulated time: what is counted, when it is written, what a kill loses."""

import asyncio

import pytest

from postroad.model.errors import StoreUnavailable
from postroad.model.rollup import NAME_MAX, Point, Step
from postroad.observe.figures import Bucket
from tests.rig import receivers
from tests.rig.world import World, simulate


async def figures(world: World, by: str = "outcome", step: str = "10s") -> list[Point]:
    """As somebody sees them who is not one of the workers."""
    return list((await world.client.rollups.list(by=by, step=step, names=50)).points)


def tries(points: list[Point]) -> dict[str, int]:
    found: dict[str, int] = {}
    for point in points:
        for kind, count in point.tries.items():
            found[kind] = found.get(kind, 0) + count
    return found


async def rows(world: World) -> int:
    return await world.store.read("test", lambda db: len(list(db.connection.execute(ROWS))))


ROWS = "select 1 from rollup"


def test_two_workers_give_one_sum_by_family_outcome_and_hour() -> None:
    async def story(world: World) -> None:
        world.behaviours["sim://oak/bad"] = receivers.rejecting(1.0)
        world.start("one"), world.start("two")
        for _ in range(30):
            await world.send("sim://ash/a")
            await world.send("sim://oak/bad")
            await asyncio.sleep(1)
        await asyncio.sleep(11)
        points = await figures(world, "family")
        by_family = {
            name: tries([each for each in points if each.name == name])
            for name in {each.name for each in points}
        }
        assert by_family["sim:ash"] == {"delivered": 30}
        assert by_family["sim:oak"] == {"rejected": 30}
        assert sum(each.dead for each in points) == 30
        assert len({each.at_ms for each in points}) >= 3
        assert all(each.at_ms % 10_000 == 0 for each in points)
        hours = await figures(world, "queue", "1h")
        assert {each.name for each in hours} == {"sim://ash/a", "sim://oak/bad"}
        assert tries(hours) == tries(points)
        recent = await world.client.rollups.recent()
        assert recent.minute.tries["delivered"] == recent.hour.tries["delivered"] == 30
        assert recent.minute.delivered_per_second == 0.5

    simulate(1, story)


def test_lateness_is_that_of_first_tries() -> None:
    """Messages that waited for a worker are late; their retries are not counted again."""

    async def story(world: World) -> None:
        world.behaviours["ash"] = receivers.away_until(world.clock.now_ms() + 61_000)
        for _ in range(3):
            await world.send("sim://ash/a")
        await asyncio.sleep(60)
        world.start("one")
        await world.settled(within_s=3_600)
        await asyncio.sleep(11)
        hour = (await world.client.rollups.recent()).hour
        assert hour.tries["delivered"] == 3
        assert sum(hour.tries.values()) > 3
        late = [each for each in await figures(world) if any(each.late)]
        assert sum(sum(each.late) for each in late) == 3
        assert hour.late_p50_ms is not None
        assert 32_768 <= hour.late_p50_ms <= 65_536

    simulate(2, story)


def test_a_kill_loses_the_figures_of_the_last_bucket_and_no_more() -> None:
    async def story(world: World) -> None:
        world.start("one")
        for _ in range(25):
            await world.send("sim://ash/a")
            await asyncio.sleep(1)
        world.crash("one")
        counted = tries(await figures(world))["delivered"]
        assert 15 <= counted < 25

    simulate(3, story)


def test_a_stop_writes_the_figures_first() -> None:
    async def story(world: World) -> None:
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(1)
        assert tries(await figures(world)) == {}  # they are with the worker yet
        await world.stop("one")
        assert tries(await figures(world)) == {"delivered": 1}

    simulate(4, story)


def test_a_road_that_does_nothing_writes_no_figures() -> None:
    async def story(world: World) -> None:
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(20)
        written = world.store.queries["rollups"]
        assert written == 1
        await asyncio.sleep(3_600)
        assert world.store.queries["rollups"] == written

    simulate(5, story)


def test_figures_wait_for_a_store_that_is_away() -> None:
    async def story(world: World) -> None:
        world.start("one")
        await world.send("sim://ash/a")
        await asyncio.sleep(1)
        add = world.store.add_rollups

        async def away(*_: object) -> None:
            raise StoreUnavailable("away")

        world.store.add_rollups = away  # type: ignore[assignment, method-assign]
        await asyncio.sleep(60)
        world.store.add_rollups = add  # type: ignore[method-assign]
        await asyncio.sleep(30)
        assert tries(await figures(world)) == {"delivered": 1}

    simulate(6, story)


@pytest.mark.wide
def test_many_queues_make_few_rows_and_every_try_is_counted() -> None:
    """300 servers in one bucket: the first ones by name, the rest together."""

    async def story(world: World) -> None:
        world.start("one")
        for n in range(300):
            await world.send(f"sim://s{n}/a")
        await asyncio.sleep(20)
        assert tries(await figures(world)) == {"delivered": 300}
        assert tries(await figures(world, "queue", "1h")) == {"delivered": 300}
        assert await rows(world) <= 2 * (50 + 1) + 100 + 1

    simulate(7, story)


def test_one_tenants_many_names_leave_room_for_another() -> None:
    bucket = Bucket(Step.hour, most=10, tenant_most=8)
    for n in range(100):
        bucket.row(("greedy", "f", f"q{n}"))[0] += 1
    bucket.row(("modest", "f", "q"))[0] += 1
    taken = {(row.tenant, row.queue): row.counts[0] for row in bucket.taken()}
    assert taken[("modest", "q")] == 1
    assert taken[("greedy", "other")] == 92
    assert len(taken) == 10
    bucket.row(("greedy", "f", "q99"))[0] += 1  # the places count until the bucket ends
    assert [row.queue for row in bucket.taken()] == ["other"]
    bucket.turn(1)
    bucket.row(("greedy", "f", "q99"))[0] += 1
    assert [row.queue for row in bucket.taken()] == ["q99"]


def test_a_long_name_is_cut() -> None:
    async def story(world: World) -> None:
        world.start("one")
        await world.send("sim://ash/" + "x" * 1_000)
        await asyncio.sleep(20)
        (hour,) = await figures(world, "queue", "1h")
        assert len(hour.name) == NAME_MAX

    simulate(8, story)
