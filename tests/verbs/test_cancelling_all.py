"""All messages of a queue are cancelled in slices, and each is counted as what it became."""

import asyncio
from pathlib import Path

import pytest

from postroad.model.control import CancelledAll, CancelSlice, Cursor, MessageFilter
from postroad.model.states import State
from postroad.stores.sqlite.database import Database
from postroad.verbs import cancelling
from tests.rig import receivers
from tests.rig.world import World, simulate
from tests.servers.postgres import PrivatePostgres
from tests.verbs.cancelling_all import cancel_under_traffic


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_all_of_a_queue_is_cancelled_beside_traffic_and_counted_right(
    store: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """300,000 in `make proof ITEM=cancel-all`."""
    dsn = f"sqlite:///{tmp_path}/road.db"
    if store == "postgres":
        found: PrivatePostgres = request.getfixturevalue("server")
        dsn = found.create_road()
    seen = asyncio.run(cancel_under_traffic(dsn, held=3_000))
    assert seen.broken == []
    assert seen.steps >= 3_000 / cancelling.SLICE


@pytest.mark.parametrize("seed", range(6))
def test_what_was_there_is_counted_once_and_what_comes_later_is_left_alone(seed: int) -> None:
    """With retries that move messages between rungs behind the walk, order keys, priorities,
    tries under way, two engines, and senders that go on."""

    async def story(world: World) -> None:
        rng = world.loop.rng
        world.behaviours["ash"] = receivers.flaky(0.6, seconds=rng.choice([0.0, 0.01, 0.5, 2.0]))
        for n in range(2):
            world.start(f"engine-{n}")
        before = [await _send(world, n) for n in range(700)]
        await asyncio.sleep(rng.choice([0.0, 0.05, 5.0]))
        await asyncio.sleep(0.002)
        after: list[int] = []

        async def traffic() -> None:
            for n in range(60):
                await asyncio.sleep(0.01)
                after.append(await _send(world, n))

        was = await world.store.states()
        ended = {n for n in before if was[n] is not State.waiting and was[n] is not State.sending}
        sending = asyncio.create_task(traffic())
        said = await world.client.cancel_all("sim://ash/a", wait=60)
        now = await world.store.states()
        mine = {n for n in before if now.get(n) is State.cancelled}
        # Whose last try went on has an answer too, since nothing was left to wait for.
        assert (said.sending, said.pending) == (0, 0)
        assert said.cancelled == len(mine)
        assert said.total <= len(before) - len(ended)
        await sending
        states = await world.settled(within_s=86_400)
        assert not [n for n in after if states[n] is State.cancelled]
        left = {
            n for n in before if now.get(n) not in (State.cancelled, State.delivered, State.dead)
        }
        assert left == set()
        world.check(states)

    simulate(seed, story)


async def _send(world: World, n: int) -> int:
    key = "red" if n % 5 == 0 else None
    return await world.send("sim://ash/a", order_key=key, priority=n % 3)


@pytest.mark.parametrize(("walks", "missed"), [(9, 0), (1, 1)])
def test_whoever_moves_behind_the_walk_is_met_by_another(
    walks: int, missed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A failed try may go to a rung that was walked already. With one walk alone it is missed."""
    monkeypatch.setattr(cancelling, "SLICE", 5)

    async def story(world: World) -> None:
        real, ended = world.store.cancel_some, [0]

        async def moving(which: MessageFilter, after: Cursor, limit: int) -> CancelSlice:
            if ended[0] >= walks:
                return CancelSlice({}, None)
            found = await real(which, after, limit)
            if after == Cursor() and not ended[0]:
                await world.store.write("test", _move_back)
            ended[0] += found.after is None
            return found

        monkeypatch.setattr(world.store, "cancel_some", moving)
        for n in range(20):
            await world.send("sim://ash/a", delay=3600, priority=n % 2)
        said = await world.client.cancel_all("sim://ash/a")
        assert said == CancelledAll(cancelled=20 - missed)
        assert (await world.store.counts())["waiting"] == missed

    simulate(1, story)


def _move_back(db: Database) -> None:
    """The last message of the last rung goes to the first rung's beginning."""
    db.connection.execute(
        "update message set rung_id = (select min(rung_id) from message), place = 1 where id ="
        " (select id from message where rung_id = (select max(rung_id) from message) limit 1)"
    )
