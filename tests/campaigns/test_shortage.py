"""A process that has no file descriptor left for a while: its campaigns wait, and go on."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from postroad import Postroad
from postroad.campaigns.lane_block import CredentialBlock, LaneBlock
from postroad.model.errors import Shortage
from postroad.model.outcome import lacking, quota
from postroad.transports import vetted_http
from postroad.transports.webhook.connections import ConnectionPool
from postroad.verbs.parts import Parts
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import LOCAL, draft, local, numbers, prepare, running, until
from tests.campaigns.test_store import bench
from tests.contract.clock import ManualClock

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
    monkeypatch.setattr(vetted_http, "AGAIN_S", 0.0)  # looked up for each call, and before
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


def test_a_shortage_does_not_block_the_credential(
    provider: Provider, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    people, lack, call = numbers(10), Lack(), ConnectionPool.call

    async def lacking(self: ConnectionPool, *values: Any) -> Any:
        lack.meet()
        return await call(self, *values)

    monkeypatch.setattr(ConnectionPool, "call", lacking)

    async def story() -> None:
        async with running(local(f"sqlite:///{tmp_path}/road.db")) as road:
            await prepare(road, provider, tmp_path, people)
            blocks: list[Any] = []
            block = road.campaign_service.store.block_credential

            async def noted(*values: Any) -> None:
                blocks.append(values)
                await block(*values)

            monkeypatch.setattr(road.campaign_service.store, "block_credential", noted)
            lack.left = 4  # three in a row make a provider that is away
            await road.campaigns.start("c")
            await until(lambda: _ended(road))
            ended = await road.campaigns.show("c")
            assert (ended.state, ended.counts.sent, lack.left) == ("done", len(people), 0)
            assert not blocks

    within(story())
    assert provider.taken() == Counter(people)


def test_a_shortage_holds_one_sender_for_a_second_and_hides_no_block(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    short, throttled = lacking(LACKS), quota("too fast", after_ms=5_000)
    clock = ManualClock()

    async def story() -> None:
        async with local(dsn) as road:
            here = await bench(road, provider, tmp_path)
            credential = await here.store.credential_of(here.campaign.id)
            assert credential is not None
            block_of = LaneBlock(road.store, 1, clock, CredentialBlock(here.store, credential))
            for _ in range(5):
                await block_of.note(short)
            assert (block_of.left_s, block_of.refused) == (1.0, "")
            assert await here.store.credential_of(here.campaign.id) == credential
            await block_of.note(throttled)
            assert block_of.left_s == 5.0
            blocked = await here.store.credential_of(here.campaign.id)
            assert blocked is not None
            assert blocked.blocked_until_ms == clock.now_ms() + 5_000

    within(story())
