"""A process that has no file descriptor left for a while: its campaigns wait, and go on."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from postroad import Postroad
from postroad.app import Parts
from postroad.model.errors import Shortage
from postroad.transports import ways
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import LOCAL, draft, numbers, running, until

Within = Callable[[Any], Any]
LACKS = "no file descriptor left"


class Lack:
    """Is there when it is asked for the next few times."""

    def __init__(self) -> None:
        self.left = 0

    def meet(self) -> None:
        if self.left:
            self.left -= 1
            raise Shortage(LACKS)


async def _ended(road: Postroad) -> bool:
    return (await road.campaigns.show("c")).state != "running"


def test_a_shortage_when_the_providers_name_is_looked_up_halts_nothing(
    provider: Provider, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ways, "AGAIN_S", 0.0)  # looked up for each call, and before
    people, lack = numbers(10), Lack()

    async def resolve(_: str) -> list[str]:
        lack.meet()
        return ["127.0.0.1"]

    async def story() -> None:
        parts = Parts(resolve=resolve)
        dsn = f"sqlite:///{tmp_path}/road.db"
        async with running(Postroad(dsn, settings=LOCAL, parts=parts)) as road:
            spec = replace(
                provider.spec(rate="10/s"), server=f"http://provider.test:{provider.port}"
            )
            await road.credentials.put("main", spec, TOKEN)
            await draft(road, tmp_path, people, "c")
            lack.left = 5  # the first to look it up is the sender, before it takes slots
            await road.campaigns.start("c")
            await until(lambda: _ended(road))
            ended = await road.campaigns.show("c")
            assert (ended.state, ended.reason, ended.counts.sent) == ("done", "", len(people))
            assert not lack.left

    within(story())
    assert provider.taken() == Counter(people)
