"""A tenant that has as much as it may is refused more, by name; others are not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.model.errors import TenantFull
from postroad.model.tenant_limits import TenantLimits
from postroad.ports.usage import Slice
from postroad.verbs import allowance
from tests.rig.receivers import Receivers

Opening = Callable[[TenantLimits], AbstractAsyncContextManager[Postroad]]


@pytest.fixture
def opening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opening:
    """Opens a road on a file of its own under these limits."""
    for name in ("SLICE_EVERY_S", "WALK_EVERY_S"):
        monkeypatch.setattr(allowance, name, 0.01)

    @asynccontextmanager
    async def opened(limits: TenantLimits) -> AsyncIterator[Postroad]:
        settings = Settings(tenants=limits, log_level="error")
        receivers = Receivers(lambda: 0, lambda: 0.0)
        dsn = f"sqlite:///{tmp_path}/road.db"
        async with Postroad(dsn, settings=settings, transports=[receivers]) as road:
            yield road

    return opened


def test_a_queue_too_many_is_refused_and_nothing_is_stored(opening: Opening) -> None:
    async def story() -> None:
        async with opening(TenantLimits(queues_max=2)) as road:
            for name in ("a", "b"):
                await road.send(f"sim://{name}/1", 1, tenant="t")
            wanted = Send("sim://a/1", 1, tenant="t"), Send("sim://c/1", 1, tenant="t")
            with pytest.raises(TenantFull, match=r"'t' has 2 queues.*tenant limits t --queues-max"):
                await road.send_many(wanted)
            good, bad = await road.send_each(wanted)
            assert not isinstance(good, Exception)
            assert isinstance(bad, TenantFull)
            await road.send("sim://c/1", 1, tenant="another")
            assert (await road.store.counts())["waiting"] == 4

    asyncio.run(story())


def test_a_queue_that_is_there_is_used_also_when_there_may_be_no_more(opening: Opening) -> None:
    async def story() -> None:
        async with opening(TenantLimits(queues_max=1)) as road:
            await road.send("sim://a/1", 1)
        async with opening(TenantLimits(queues_max=1)) as road:
            await road.send("sim://a/1", 1)

    asyncio.run(story())


def test_lanes_are_counted_too(opening: Opening) -> None:
    async def story() -> None:
        async with opening(TenantLimits(lanes_max=2)) as road:
            for name in ("a/1", "a/2", "a/3", "b/1"):
                await road.send(f"sim://{name}", 1)
            with pytest.raises(TenantFull, match=r"lanes_max"):
                await road.send("sim://c/1", 1)

    asyncio.run(story())


@pytest.mark.parametrize(
    "limits", [TenantLimits(messages_max=5), TenantLimits(messages_bytes_max=500)]
)
def test_who_has_stored_too_much_is_refused_until_it_is_less(
    opening: Opening, limits: TenantLimits
) -> None:
    async def story() -> None:
        async with opening(limits) as road:
            async with asyncio.timeout(60):
                with pytest.raises(TenantFull, match=r"tenants\.messages_"):
                    while True:
                        await road.send("sim://a/1", "x" * 100, tenant="t", delay=3_600)
                        await asyncio.sleep(0.01)
            await road.send("sim://a/1", 1, tenant="another")
            assert (await road.cancel_all(queue="sim://a/1", tenant="t")).cancelled
            async with asyncio.timeout(60):
                while True:
                    try:
                        await road.send("sim://a/1", 1, tenant="t")
                        break
                    except TenantFull:
                        await asyncio.sleep(0.01)

    asyncio.run(story())


def test_who_is_refused_while_the_rest_is_counted_stays_refused(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who sent after its own messages were counted was taken for one that has none."""
    monkeypatch.setattr(allowance, "SLICE", 5)

    async def story() -> None:
        async with opening(TenantLimits(messages_max=5)) as road:
            stored, walked = road.store.stored, asyncio.Event()
            answers: list[object] = []

            async def refused_at_the_end(after: int, limit: int) -> Slice:
                part = await stored(after, limit)
                if not part.last:
                    answers.extend(await road.send_each([Send("sim://a/1", 1, tenant="t")]))
                if len(answers) == 4:
                    walked.set()
                return part

            async with asyncio.timeout(60):
                with pytest.raises(TenantFull):
                    while True:
                        await road.send("sim://a/1", 1, tenant="t", delay=3_600)
                        await asyncio.sleep(0.01)
                await road.send_many([Send("sim://a/1", 1, tenant="u", delay=3_600)] * 12)
                monkeypatch.setattr(road.store, "stored", refused_at_the_end)
                await walked.wait()
            assert {type(answer) for answer in answers} == {TenantFull}

    asyncio.run(story())


def test_a_count_that_broke_is_begun_again(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nobody delivers nothing else ends: who was full once was refused for good."""

    async def story() -> None:
        async with opening(TenantLimits(messages_max=5)) as road:
            stored, broken = road.store.stored, 0

            async def breaks_once(after: int, limit: int) -> Slice:
                nonlocal broken
                broken += 1
                if broken == 1:
                    raise ValueError("broken")
                return await stored(after, limit)

            monkeypatch.setattr(road.store, "stored", breaks_once)
            async with asyncio.timeout(60):
                with pytest.raises(TenantFull):
                    while True:
                        await road.send("sim://a/1", 1, tenant="t", delay=3_600)
                        await asyncio.sleep(0.01)

    asyncio.run(story())


def test_much_is_counted_a_little_at_a_time(
    opening: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While SQLite's only reader counted ten thousand, the messages of others waited for it."""

    async def story() -> None:
        async with opening(TenantLimits()) as road:
            stored, walked = road.store.stored, asyncio.Event()
            counts: list[int] = []

            async def noted(after: int, limit: int) -> Slice:
                part = await stored(after, limit)
                counts.append(sum(count for _, count, _ in part.found))
                if sum(counts) >= 2_500:
                    walked.set()
                return part

            monkeypatch.setattr(road.store, "stored", noted)
            await road.send_many([Send("sim://a/1", n, delay=3_600) for n in range(2_500)])
            async with asyncio.timeout(60):
                while not walked.is_set():
                    await road.send("sim://a/1", 1)
                    await asyncio.sleep(0.01)
            assert max(counts) <= 1_000

    asyncio.run(story())


def test_a_mailbox_too_many_is_refused(opening: Opening) -> None:
    async def story() -> None:
        async with opening(TenantLimits(mailboxes_max=1)) as road:
            await road.mailboxes.create(tenant="t")
            await road.mailboxes.create(tenant="another")
            with pytest.raises(TenantFull, match="'t' has 1 mailboxes"):
                await road.mailboxes.create(tenant="t")

    asyncio.run(story())
