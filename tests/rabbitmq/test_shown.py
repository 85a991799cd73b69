"""What had nowhere to go, and what was not collected, is shown: in metrics, and by the doctor."""

import asyncio
from pathlib import Path

import pytest
from aiormq.exceptions import ChannelNotFoundEntity

from postroad import Postroad
from postroad.cli.checks import check_broker
from postroad.model.broker import BrokerFacts
from postroad.observe.metrics import Meter
from postroad.ports.broker import HasBroker
from tests.cli.running import data
from tests.rabbitmq.outside import PERSISTENT, channel_to, depth, until
from tests.rabbitmq.roads import a_road, running


async def facts_of(road: Postroad) -> BrokerFacts:
    assert isinstance(road.store, HasBroker)
    return await road.store.broker_facts()


async def test_a_message_with_nowhere_to_go_is_shown_until_a_worker_has_dealt_with_it(
    dsn: str, tmp_path: Path
) -> None:
    road = a_road(dsn, tmp_path)
    async with road:
        assert (await facts_of(road)).lost_waiting == 0
        async with channel_to(dsn) as channel:
            await channel.basic_publish(b"?", exchange="postroad.v1.lost.x", properties=PERSISTENT)

            async def is_there() -> bool:
                return await depth(channel, "postroad.v1.lost") == 1

            assert await until(is_there)
        facts = await facts_of(road)
        assert (facts.lost_waiting, facts.workers, facts.blocked) == (1, 0, "")
        states = {each.part: each.state for each in check_broker(facts)}
        assert states == {"broker": "ok", "catch-all": "warn", "collector": "ok"}

        async with running(road):

            async def is_buried() -> bool:
                return bool((await road.dead.list()).messages)

            assert await until(is_buried)
            (dead,) = (await road.dead.list()).messages
            assert (dead.queue, dead.reason) == ("unreadable", "rejected")

            async def is_told() -> bool:
                now = await facts_of(road)
                return (now.lost_waiting, now.lost_dead, now.workers, now.shards) == (0, 1, 1, 8)

            assert await until(is_told)
            meter = Meter()
            meter.broker(await facts_of(road))
            shown = meter.text().decode()
            assert 'postroad_rabbitmq{what="lost_dead"} 1.0' in shown
            assert 'postroad_rabbitmq{what="workers"} 1.0' in shown


def test_looking_makes_nothing_on_a_broker_and_beside_it(
    new_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = {each["part"]: each for each in data("doctor", "--dsn", new_dsn)}
    assert (found["broker"]["state"], found["broker"]["found"][:8]) == ("ok", "RabbitMQ")
    assert (found["store"]["state"], "no road yet" in found["store"]["found"]) == ("warn", True)
    assert list(tmp_path.iterdir()) == []

    async def ask_outside() -> None:
        async with channel_to(new_dsn) as channel:
            await depth(channel, "postroad.v1.lost")

    with pytest.raises(ChannelNotFoundEntity):
        asyncio.run(ask_outside())


def test_the_doctor_says_how_to_mend_what_is_wrong() -> None:
    facts = BrokerFacts("3.10.8", "low on memory", 0, 0, 5_000, 3, 0, 0)
    found = {each.part: each for each in check_broker(facts)}
    assert {part: each.state for part, each in found.items()} == {
        "broker": "fail",
        "catch-all": "warn",
        "collector": "warn",
    }
    assert "low on memory" in found["broker"].found
    assert all(each.mend for each in found.values())
