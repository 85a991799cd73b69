"""A text message keeps its recipient through the broker, the dead set and a replay."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from postroad.model.recipients import TO
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import numbers
from tests.rabbitmq.roads import a_road, running, until_state

HELLO = {"text": "Hello"}


def test_recipients_go_through_the_broker_and_are_known_afterwards(
    dsn: str, tmp_path: Path, within: Callable[[Any], Any]
) -> None:
    taken, refused, silent = (numbers(1, prefix)[0] for prefix in ("+1600", "+1511", "+1514"))

    async def story(provider: Provider) -> None:
        road = a_road(dsn, tmp_path, "&shards=1")
        async with road, running(road):
            await road.credentials.put("sms", provider.spec(), TOKEN)
            ids = {n: (await road.send(f"sms:{n}", HELLO)).id for n in (taken, refused, silent)}
            ends = {taken: "delivered", refused: "dead", silent: "uncertain"}
            for number, state in ends.items():
                await until_state(road, ids[number], state)
                assert (await road.explain(ids[number])).recipient == number
            assert (await road.dead.show(ids[refused])).headers[TO] == refused
            assert {one.recipient for one in (await road.messages.list()).messages} == set(ends)
            assert await road.suppressions.remove(refused) == 1  # it was refused for good
            await road.dead.replay(ids=[ids[refused]])
            await until_state(road, ids[refused], "dead")

    with Provider(tmp_path) as provider:
        within(story(provider))
        assert provider.taken() == Counter([taken, silent])
        assert Counter(one.number for one in provider.arrivals())[refused] == 2
