"""Tenants are created with limits of their own, shown with what they have, and removed."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from postroad import Postroad, sync
from postroad.config import Settings
from postroad.engine.drafting import Send
from postroad.errors import (
    BadInput,
    Conflict,
    TenantFull,
    TenantInUse,
    UnknownTenant,
)
from postroad.model.tenant_limits import TenantLimits
from postroad.verbs import allowance, tenants
from tests.campaigns.conftest import dsn
from tests.rig.receivers import Receivers

__all__ = ["dsn"]
TINY = TenantLimits(queues_max=2, mailboxes_max=1)


def opened(dsn: str, limits: TenantLimits = TINY) -> Postroad:
    receivers = Receivers(lambda: 0, lambda: 0.0)
    settings = Settings(tenants=limits, log_level="error")
    return Postroad(dsn, settings=settings, transports=[receivers])


def test_a_tenants_own_limits_hold_and_can_be_changed_while_it_sends(dsn: str) -> None:
    async def story() -> None:
        async with opened(dsn) as road:
            made = await road.tenants.create("acme", description="a customer", queues_max=1)
            assert (made.limits.queues_max, made.limits.lanes_max) == (1, TINY.lanes_max)
            assert made.own == ("queues_max",)
            _ = await road.send("sim://a/1", 1, tenant="acme")
            with pytest.raises(TenantFull, match="raises its limit `queues_max`"):
                _ = await road.send("sim://b/1", 1, tenant="acme")
            _ = await road.send("sim://a/1", 1, tenant="used")
            _ = await road.send("sim://b/1", 1, tenant="used")
            # Raised: it holds at once where it was refused.
            told = await road.tenants.limits("acme", queues_max=3, mailboxes_max=5)
            assert set(told.own) == {"queues_max", "mailboxes_max"}
            _ = await road.send("sim://b/1", 1, tenant="acme")
            _ = await road.send("sim://c/1", 1, tenant="acme")
            with pytest.raises(TenantFull, match="3 queues"):
                _ = await road.send("sim://d/1", 1, tenant="acme")
            # Taken away: the settings' hold again, and what is there stays.
            told = await road.tenants.limits("acme", queues_max=None)
            assert (told.limits.queues_max, told.own) == (2, ("mailboxes_max",))
            with pytest.raises(TenantFull):
                _ = await road.send("sim://d/1", 1, tenant="acme")
            assert (await road.tenants.show("acme")).counts.queues == 3

    asyncio.run(story())


def test_a_limit_of_stored_messages_is_a_tenants_own(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SLICE_EVERY_S", "WALK_EVERY_S"):
        monkeypatch.setattr(allowance, name, 0.01)

    async def fill(road: Postroad, tenant: str, most: int) -> bool:
        try:
            for n in range(most):
                _ = await road.send("sim://a/1", n, tenant=tenant, delay=3_600)
                await asyncio.sleep(0.01)
        except TenantFull:
            return True
        return False

    async def story() -> None:
        async with opened(dsn) as road, asyncio.timeout(120):
            _ = await road.tenants.create("acme", messages_max=5)
            while not await fill(road, "acme", 20):
                pass
            assert not await fill(road, "other", 20)
            _ = await road.tenants.limits("acme", messages_max=None)
            while await fill(road, "acme", 5):
                await asyncio.sleep(0.01)

    asyncio.run(story())


def test_a_tenant_that_may_have_no_message_is_stopped_though_nothing_of_it_is_stored(
    dsn: str,
) -> None:
    async def story() -> None:
        async with opened(dsn) as road, asyncio.timeout(120):
            _ = await road.tenants.create("acme", messages_max=0)
            with pytest.raises(TenantFull, match="messages_max"):
                while True:
                    sent = await road.send("sim://a/1", 1, tenant="acme", delay=3_600)
                    _ = await road.cancel(sent.id, tenant="acme")
                    await asyncio.sleep(0.01)
            _ = await road.send("sim://a/1", 1, tenant="other")

    asyncio.run(story())


def test_attachments_are_bounded_by_a_tenants_own_limit(dsn: str) -> None:
    async def story() -> None:
        async with opened(dsn) as road:
            _ = await road.tenants.create("acme", attachments_bytes_max=10)
            _ = await road.attachments.put(b"12345678", tenant="acme")
            _ = await road.attachments.put(b"1" * 100, tenant="other")
            with pytest.raises(TenantFull, match="may have 10"):
                _ = await road.attachments.put(b"123", tenant="acme")
            assert (await road.tenants.show("acme")).counts.attachments_bytes == 8

    asyncio.run(story())


def test_tenants_are_listed_by_name_in_pages_whoever_made_them(dsn: str) -> None:
    async def story() -> None:
        async with opened(dsn) as road:
            for name in ("b-used", "d-used"):
                _ = await road.send("sim://a/1", 1, tenant=name)
            _ = await road.tokens.make("a token", tenant="c-token")
            _ = await road.tokens.make("for all", tenant="*")
            _ = await road.tenants.create("a-made", imports_max=0)
            page, found = await road.tenants.list(limit=2), list[str]()
            while True:
                found += [one.name for one in page.tenants]
                if not page.after:
                    break
                page = await road.tenants.list(limit=2, after=page.after)
            assert found == ["a-made", "b-used", "c-token", "d-used"]
            used = await road.tenants.show("b-used")
            assert (used.made_at_ms, used.own, used.counts.waiting) == (None, (), 1)
            assert (await road.tenants.show("a-made")).made_at_ms is not None

    asyncio.run(story())


async def everything(road: Postroad, name: str) -> None:
    _ = await road.send("sim://a/1", 1, tenant=name, delay=3_600)
    _ = await road.mailboxes.create(tenant=name)
    _ = await road.tokens.make("a token", tenant=name)


def test_one_that_has_work_is_removed_only_if_that_is_said(dsn: str) -> None:
    async def story() -> None:
        async with opened(dsn) as road:
            for name in ("acme", "other"):
                _ = await road.tenants.create(name, queues_max=7)
                await everything(road, name)
            with pytest.raises(TenantInUse, match=r"1 messages that wait.*force"):
                _ = await road.tenants.remove("acme")
            assert (await road.tenants.show("acme")).counts.waiting == 1
            begun = await road.tenants.remove("acme", force=True)
            done = await road.privacy.erasure(begun.id, tenant=None, wait=120)
            assert done.is_done
            assert (done.erased["tenant"], done.erased["token"], done.erased["mailbox"]) == (
                1,
                1,
                1,
            )
            with pytest.raises(UnknownTenant):
                _ = await road.tenants.show("acme")
            assert [one.name for one in (await road.tenants.list()).tenants] == ["other"]
            assert (await road.tenants.show("other")).counts.waiting == 1
            # One without work needs no force, and its name may be used again.
            _ = await road.tenants.create("acme")
            begun = await road.tenants.remove("acme")
            assert (await road.privacy.erasure(begun.id, tenant=None, wait=120)).is_done

    asyncio.run(story())


def test_one_that_has_a_timetable_is_removed_only_if_that_is_said(dsn: str) -> None:
    async def story() -> None:
        async with opened(dsn) as road:
            _ = await road.tenants.create("timed")
            _ = await road.timetables.create("it", "sim://a/1", 1, every=60, tenant="timed")
            with pytest.raises(TenantInUse, match=r"has 1 timetables, and nothing was removed"):
                _ = await road.tenants.remove("timed")
            await road.timetables.delete("it", tenant="timed")
            _ = await road.tenants.remove("timed")

    asyncio.run(story())


def test_what_is_sent_after_the_look_is_not_removed(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without force nothing that waits is deleted: also not what came while it was counted."""

    async def story() -> None:
        async with opened(dsn) as road:
            _ = await road.tenants.create("acme")
            count = tenants.TenantAdmin._counts

            async def counted(self: Any, name: str) -> Any:
                found = await count(self, name)
                await asyncio.sleep(0.1)  # times are in milliseconds
                _ = await road.send("sim://a/1", 1, tenant="acme", delay=3_600)
                return found

            with monkeypatch.context() as patch:
                patch.setattr(tenants.TenantAdmin, "_counts", counted)
                begun = await road.tenants.remove("acme")
            while (await road.privacy.erasure(begun.id, tenant=None)).step in (
                "access",
                "messages",
            ):
                await asyncio.sleep(0.01)
            assert (await road.tenants.show("acme")).counts.waiting == 1

    asyncio.run(story())


def test_bad_input_is_refused_by_name_and_changes_nothing(dsn: str) -> None:
    async def story() -> None:
        async with opened(dsn) as road:
            _ = await road.tenants.create("acme", queues_max=0)
            with pytest.raises(Conflict, match="before"):
                _ = await road.tenants.create("acme", queues_max=9)
            wrong: list[Any] = [
                road.tenants.create("*"),
                road.tenants.create("a b"),
                road.tenants.create("x" * 101),
                road.tenants.create("b", description="x" * 1_001),
                road.tenants.create("b", queues_max=-1),
                road.tenants.create("b", queues_max=True),
                road.tenants.limits("acme"),
                road.tenants.remove("default", force=True),
                road.tenants.list(limit=0),
            ]
            for asked in wrong:
                with pytest.raises(BadInput):
                    _ = await asked
            for unknown in (road.tenants.show("b"), road.tenants.remove("b")):
                with pytest.raises(UnknownTenant, match="'b'"):
                    _ = await unknown
            with pytest.raises(UnknownTenant):
                _ = await road.tenants.limits("b", queues_max=1)
            assert [one.name for one in (await road.tenants.list()).tenants] == ["acme"]
            assert (await road.tenants.show("acme")).limits.queues_max == 0
            one, two = (Send(f"sim://{name}/1", 1, tenant="acme") for name in "ab")
            assert [type(said) for said in await road.send_each([one, two])] == [TenantFull] * 2

    asyncio.run(story())


def test_the_blocking_face_has_the_same_verbs(tmp_path: Path) -> None:
    with sync.Postroad(f"sqlite:///{tmp_path}/road.db") as road:
        made = road.tenants.create("acme", queues_max=1)
        assert road.tenants.limits("acme", queues_max=2).limits.queues_max == 2
        shown = road.tenants.show("acme")
        assert structs.asdict(made)["name"] == shown.name
        assert [one.name for one in road.tenants.list().tenants] == ["acme"]
        begun = road.tenants.remove("acme")
        assert road.privacy.erasure(begun.id, tenant=None, wait=120).is_done
        assert road.tenants.list().tenants == ()
