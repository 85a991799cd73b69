"""Ten days of an endpoint that is down, on PostgreSQL, whose clock a test may set forward."""

import asyncio
from typing import Any

import asyncpg
import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.model.endpoint import OPERATOR
from postroad.model.ladder import Steps
from tests.servers.postgres import PrivatePostgres
from tests.webhook.conftest import LOCAL, Receiver

SHORT = Steps(retries=2, delays_ms=(60_000, 600_000))
STEP_S = 8 * 3_600
STEPS = 30
AHEAD = """
create table postroad.ahead (ms bigint not null);
insert into postroad.ahead values (0);
create or replace function postroad.now_ms() returns bigint language sql stable
  as $$ select floor(extract(epoch from clock_timestamp()) * 1000)::bigint + ms from postroad.ahead $$;
create or replace function postroad.now_us() returns bigint language sql volatile
  as $$ select floor(extract(epoch from clock_timestamp()) * 1000000)::bigint + ms * 1000 from postroad.ahead $$;
"""


class Days:
    """A road on a database whose clock goes forward by hours; each time it runs until nothing is due."""

    def __init__(self, dsn: str, raw: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.told: list[dict[str, Any]] = []
        self.sent = 0
        self._dsn = dsn
        self._raw = raw

    def road(self) -> Postroad:
        """A process of its own would say the same: all that lasts is in the database."""
        road = Postroad(self._dsn, settings=Settings(webhooks=LOCAL, log_level="error"))

        @road.handler(OPERATOR)
        async def hear(message: Any) -> None:
            if message.body["type"] != "message.dead":
                self.told.append(message.body)

        return road

    async def pass_by(self, steps: int, *, publish: bool) -> None:
        for _ in range(steps):
            await self._raw.execute(f"update postroad.ahead set ms = ms + {STEP_S * 1000}")
            async with self.road() as road:
                if publish:
                    self.sent += 1
                    await road.publish("order.paid", {"n": self.sent})
                await road.run(until_idle=True)

    def events(self, number: str) -> list[str]:
        return [one["type"] for one in self.told if one["endpoint"] == number]


@pytest.mark.wide
def test_ten_days_down_on_postgres_are_told_of_held_and_recovered(
    server: PrivatePostgres, receiver: Receiver
) -> None:
    async def story() -> None:
        dsn = server.create_road()
        raw = await asyncpg.connect(dsn)
        await raw.execute(AHEAD)
        days = Days(dsn, raw)
        async with days.road() as road:
            bad = await road.endpoints.create(receiver.url("/status/500"), ladder=SHORT)
            fine = await road.endpoints.create(receiver.url("/status/200") + "?fine")
        await days.pass_by(STEPS, publish=True)
        assert days.events(bad.id) == ["endpoint.failing", "endpoint.disabled"]
        assert days.events(fine.id) == []
        noticed, disabled = days.told
        since_ms = disabled["failing_since_ms"]
        assert 1 <= (noticed["at_ms"] - since_ms) / 86_400_000 < 2
        assert 5 <= (disabled["at_ms"] - since_ms) / 86_400_000 < 6
        async with days.road() as road:
            facts = await road.endpoints.get(bad.id)
            assert (facts.state, facts.disabled_by) == ("disabled", "itself")
            stats = await road.endpoints.stats(bad.id)
            assert stats.waiting + stats.died == days.sent
            assert min(stats.waiting, stats.died) > 5
            mended = receiver.url("/status/200") + f"?{bad.id}"
            await road.endpoints.change(bad.id, url=mended)
            await road.endpoints.enable(bad.id)
            await road.run(until_idle=True)
            assert (await road.endpoints.recover(bad.id)).messages == stats.died
            await road.run(until_idle=True)
        await days.pass_by(2, publish=False)
        got = [one for one in receiver.got("/status/200") if one["query"] == bad.id]
        ids = [one["headers"]["webhook-id"] for one in got]
        assert len(ids) == len(set(ids)) == days.sent
        assert days.events(bad.id)[2:] == ["endpoint.recovered"]
        await raw.close()

    async def bounded() -> None:
        async with asyncio.timeout(240):
            await story()

    asyncio.run(bounded())
