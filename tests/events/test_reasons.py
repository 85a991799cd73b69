"""What waits for an endpoint says why: its own state, a hand, or what is missing on our side."""

import asyncio

import pytest

from postroad import Postroad
from postroad.model.outcome import held
from tests.cli.running import postroad
from tests.rig.receivers import good
from tests.rig.world import World, simulate
from tests.webhook.conftest import Receiver

HOOK = "http://127.0.0.1:9/hook"


async def test_what_a_disabled_endpoint_holds_says_who_disabled_it_and_what_ends_it(
    road: Postroad,
) -> None:
    made = await road.endpoints.create(HOOK)
    await road.endpoints.disable(made.id, reason="maintenance")
    (message,) = (await road.publish("order.paid", 1)).messages
    said, queue = await road.explain(message), await road.explain_queue(made.queue)
    for one in (said, queue):
        assert one.because == "endpoint disabled by owner: maintenance"
        assert one.next.why == (
            "it is held until its endpoint is enabled, for as long as the endpoint's rules say"
        )
        assert [(each.scope, each.kind) for each in one.blocks] == [("queue", "endpoint")]
    (row,) = [one for one in (await road.inspect.queues()).queues if one.queue == made.queue]
    assert row.because == said.because, "a list says the same"
    assert [one.because for one in (await road.messages.list()).messages] == [said.because]
    assert "held: endpoint disabled by owner." in said.sentence
    assert "paused by hand" not in queue.sentence
    for words in (("message", "explain", message), ("explain", made.queue)):
        told = await asyncio.to_thread(postroad, *words, "--dsn", road.dsn)
        assert "queue: endpoint disabled by owner: maintenance" in told.output, words
    await road.endpoints.enable(made.id)
    await road.pause(made.queue)
    assert (await road.explain(message)).because == "paused"
    assert [one.because for one in (await road.messages.list()).messages] == ["paused"]


async def test_what_a_deletion_that_was_cut_off_left_says_so(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await road.endpoints.create(HOOK)
    (message,) = (await road.publish("order.paid", 1)).messages

    async def stopped(_queue: str, *, tenant: str) -> None:
        raise KeyError(tenant)

    monkeypatch.setattr(road.endpoints, "_cancel_all", stopped)
    with pytest.raises(KeyError):
        await road.endpoints.delete(made.id)
    said = await road.explain(message)
    assert (said.because, said.next.why) == (
        "endpoint is being deleted",
        "it is cancelled with its endpoint, which is being deleted",
    )


def test_what_is_missing_on_our_side_is_looked_for_soon_and_then_seldom() -> None:
    """A token server or a worker's next release may bring it at any time; three minutes were long."""
    starts: list[int] = []

    async def story(world: World) -> None:
        def lacking(now_ms: int, _draw: float) -> object:
            starts.append(now_ms)
            return 0.01, False, held("no token")

        world.behaviours["ash"] = lacking  # type: ignore[assignment]
        world.start("one")
        await world.send("sim://ash/1")
        await asyncio.sleep(3_600)
        assert starts[1] - starts[0] < 10_000
        assert len(starts) < 25
        world.behaviours["ash"] = good()
        await asyncio.sleep(450)
        assert (await world.client.store.counts())["delivered"] == 1

    simulate(31, story)


async def test_tries_that_were_not_made_are_counted_as_such_and_not_as_quotas(
    road: Postroad, receiver: Receiver
) -> None:
    """A transformation that no process knows: nothing was sent, and nobody asked for patience."""
    made = await road.endpoints.create(receiver.url("/status/200"), transform="unknown-here")
    _ = await road.publish("order.paid", 1)
    await road.run(until_idle=True)
    stats = await road.endpoints.stats(made.id)
    assert set(stats.total.tries) == {"setup"}
    tens, hours = await road.rollups.list(), await road.rollups.list(step="1h", by="queue")
    for points in (tens.points, hours.points):
        assert sum(one.tries["setup"] for one in points) == stats.total.tries["setup"]
        assert {name for one in points for name in one.tries} == {"setup"}
    assert (await road.explain_queue(made.queue)).because.startswith("setup: ")
