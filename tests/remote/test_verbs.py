"""A remote road has the verbs of a road, with the same types and errors."""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from postroad import CredentialSpec, HaltRule, Postroad, Receipt, Send, Settings, app, sync
from postroad.model.control import Cancelled, CancelledAll, CancelState
from postroad.model.errors import (
    BadBody,
    BadInput,
    BadTime,
    Conflict,
    CursorOfAnotherQuery,
    Forbidden,
    NotDead,
    NotOnRemoteRoad,
    NotOpen,
    NotUncertain,
    PostroadError,
    UnknownMessage,
    UnknownQueue,
)
from postroad.model.webhook import WebhookRules
from postroad.remote.groups import GROUPS
from postroad.remote.road import RemoteRoad
from postroad.verbs.dead import DeadMessages
from postroad.verbs.grouping import VerbGroup
from postroad.verbs.receipts import SentReceipt
from tests.api.served import Served

REFUSED = {
    "credentials": {
        *("channel", "get", "rotate_keys", "route", "session", "session_for", "site_sessions"),
        *("usable", "with_secrets"),
    },
    "events": {"publish_in"},
    "sessions": {"login"},
    "tokens": {"who"},
    "webhooks": {"rotate_keys"},
}
"""Verbs of a group that only the process can do that has the store open."""


@asynccontextmanager
async def roads(folder: Path, how: str) -> AsyncIterator[tuple[Postroad, Postroad, Served]]:
    """A road, and the same one from elsewhere."""
    async with Served(folder, webhooks=WebhookRules(http=True, allow=("127.0.0.0/8",))) as served:
        dsn, token = (served.server.url, served.token) if how == "http" else ("", "")
        dsn = dsn or f"road:///{folder}/road.db"
        async with Postroad(dsn, token=token) as far:
            yield served.road, far, served


def test_each_verb_is_a_request_or_is_refused_by_name() -> None:
    groups = {
        name: each.kind for name, each in vars(app.Postroad).items() if isinstance(each, VerbGroup)
    }
    assert groups.keys() == GROUPS.keys()
    for name, kind in groups.items():
        public = {
            verb for verb, _ in inspect.getmembers(kind, inspect.isfunction) if verb[0] != "_"
        }
        assert public - set(GROUPS[name]) == REFUSED.get(name, set()), name
        assert set(GROUPS[name]) <= public, name


Ask = Callable[[Postroad], Awaitable[Any]]
READS: dict[str, Ask] = {
    "queues": lambda road: road.inspect.queues(),
    "lanes": lambda road: road.inspect.lanes(limit=3),
    "levels": lambda road: road.inspect.levels(),
    "overview": lambda road: road.inspect.overview(),
    "messages": lambda road: road.messages.list(state="dead"),
    "dead": lambda road: road.dead.list(reason="rejected"),
    "explain_queue": lambda road: road.explain_queue("good"),
    "explain_lane": lambda road: road.explain_lane(1),
    "recent": lambda road: road.rollups.recent(),
    "workers": lambda road: road.workers.list(),
    "tokens": lambda road: road.tokens.list(tenant=None),
    "audit": lambda road: road.audit.list(),
    "webhooks": lambda road: road.webhooks.list(),
    "credentials": lambda road: road.credentials.list(),
    "credential": lambda road: road.credentials.show("hook"),
    "campaigns": lambda road: road.campaigns.list(),
    "campaign": lambda road: road.campaigns.show("sale"),
    "details": lambda road: road.campaigns.details("sale"),
    "counts": lambda road: road.campaigns.exact("sale"),
    "preview": lambda road: road.campaigns.preview("sale", 1),
    "estimate": lambda road: road.campaigns.dry_run("sale"),
    "recipients": lambda road: road.campaigns.recipients("sale"),
    "mailboxes": lambda road: road.mailboxes.list(),
    "erasures": lambda road: road.privacy.erasures(),
}


@pytest.mark.parametrize("how", ["http", "window"])
async def test_what_is_read_is_the_same_from_elsewhere(tmp_path: Path, how: str) -> None:
    async with roads(tmp_path, how) as (road, far, _):
        sent = await far.send("bad", {"a": [1, None]}, headers={"x": "y"})
        _ = await far.send("bad", b"\x00\xff")
        _ = await far.send("bad", b"")
        await road.run(until_idle=True)
        _ = await far.credentials.put(
            "hook", CredentialSpec(""), "whsec_" + "A" * 32, kind="webhook"
        )
        rule = HaltRule(3, 7.5)
        text = "hi {{ name }}"
        _ = await far.campaigns.create("sale", credential="hook", template=text, halt=rule)
        assert (await far.campaigns.details("sale")).halt == rule
        people = tmp_path / "people.csv"
        people.write_text("recipient,name\nhttp://127.0.0.1/a,Bo\n")
        assert (await far.campaigns.import_file("sale", people)).rows == 1
        await far.webhooks.set(
            "http://127.0.0.1/a", timeout=timedelta(seconds=3), keep_bodies=timedelta(days=1)
        )
        assert (await road.webhooks.get("http://127.0.0.1/a")).keep_bodies_ms == 86_400_000
        _ = await far.mailboxes.create(quota=7)
        for name, ask in READS.items():
            one, two = await ask(road), await ask(far)
            assert type(one) is type(two), name
            assert _timeless(one) == _timeless(two), name
        assert await far.explain(sent.id) == await road.explain(sent.id)
        for dead in (await road.dead.list()).messages:
            assert await far.dead.show(dead.id) == await road.dead.show(dead.id)
            assert await far.messages.body(dead.id) == await road.messages.body(dead.id)
        told = [b"".join([piece async for piece in each.audit.export()]) for each in (road, far)]
        assert told[0] == told[1]
        texts = [
            "".join([piece async for piece in each.campaigns.export("sale")])
            for each in (road, far)
        ]
        assert texts[0] == texts[1]


def _timeless(said: Any) -> Any:
    """Without the moment at which it was asked."""
    if hasattr(said, "now_ms"):
        return structs.replace(said, now_ms=0)
    if hasattr(said, "indexed_until_ms"):
        return structs.replace(said, indexed_until_ms=0)
    if isinstance(said, list | tuple):
        return [structs.replace(one, queries=0) if hasattr(one, "queries") else one for one in said]
    return said


@pytest.mark.parametrize("how", ["http", "window"])
async def test_messages_are_sent_and_controlled_from_elsewhere(tmp_path: Path, how: str) -> None:
    async with roads(tmp_path, how) as (road, far, served):
        await far.pause("good")
        one = await far.send("good", 1, key="k", priority=3)
        assert await far.send("good", 1, key="k", priority=3) == Receipt(
            one.id, "good", duplicate=True
        )
        two, three = await far.send_many([("good", 2), Send("good", 3, order_key="o")])
        many = await far.send_each([("good", 4), ("nobody", 5), Send("good", 6, key="k")])
        assert [type(each) for each in many] == [SentReceipt, UnknownQueue, Conflict]
        assert (await far.explain(three.id)).state == "held"
        assert await far.cancel(two.id) == Cancelled(two.id, CancelState.cancelled)
        assert await far.cancel_all(order_key="o", wait=timedelta(0)) == CancelledAll(cancelled=1)
        assert (await far.cancel("msg_0000000000000")).state is CancelState.unknown
        await far.resume("good")
        await far.limit("good", "1000/s", cost=2)
        put = await far.limits.put("all", lanes="handler:*", rate="5000/s", tenant="*")
        assert await far.limits.list(tenant="*") == await road.limits.list(tenant="*") == [put]
        assert await far.limits.list() == []
        rule = await far.rules.put(
            "slow", lanes="smtp:*", do="hold_lane", status="421", lasts=60, tenant="*"
        )
        assert await far.rules.list(tenant="*") == await road.rules.list(tenant="*")
        assert await far.rules.list(shipped=False) == [rule]
        assert await far.rules.test("421 4.7.0 no") == await road.rules.test("421 4.7.0 no")
        await far.rules.delete("slow", tenant="*")
        bounce = b"From: a@example.com\r\nSubject: not one of ours\r\n\r\nno\r\n"
        assert await far.suppressions.take_report(bounce) == await road.suppressions.take_report(
            bounce
        )
        whom = await far.suppressions.add("bo@example.com", tenant="*")
        assert (await road.suppressions.list(tenant="*")).suppressions == (whom,)
        assert (await far.suppressions.list()).suppressions == ()
        listed = "".join([piece async for piece in far.suppressions.export(tenant="*")])
        (tmp_path / "list.csv").write_text(listed)
        assert (await far.suppressions.import_(tmp_path / "list.csv")).added == 1
        assert await far.suppressions.remove("bo@example.com") == 1
        file = await far.attachments.put(b"a file", "a.txt", cid="a")
        assert await far.attachments.get(file.id) == await road.attachments.get(file.id)
        assert await far.attachments.list() == await road.attachments.list()
        await far.attachments.remove(file.id)
        await far.limits.delete("all", tenant="*")
        await far.limit("good", None)
        bad = [await far.send("bad", number) for number in range(3)]
        await road.run(until_idle=True)
        assert sorted(served.seen) == [1, 4]
        assert (await far.cancel(one.id)).state is CancelState.final
        assert await far.dead.replay(ids=[bad[0].id], mode="reset") == 1
        assert [done async for done in far.dead.purging(count=2)] == [2]
        again = await far.messages.send_again(count=5, state="dead")
        assert (again.sent, again.repeated) == (0, 0)
        lines = (await far.audit.list(verb="pause_queue")).lines
        actor = "window" if how == "window" else lines[0].actor
        assert [(line.actor, line.outcome) for line in lines] == [(actor, "done")]
        made = await far.tokens.make("web", scopes=["send"], lasts_s=timedelta(hours=1))
        await far.tokens.revoke(made.token.id)
        with pytest.raises(PostroadError):
            await far.tokens.revoke(made.token.id)


@pytest.mark.parametrize("how", ["http", "window"])
async def test_errors_are_the_same_from_elsewhere(tmp_path: Path, how: str) -> None:
    asked: list[tuple[Ask, type[PostroadError]]] = [
        (lambda road: road.send("nobody", 1), UnknownQueue),
        (lambda road: road.send("good", object()), BadBody),
        (lambda road: road.send("good", 1, delay=-1), BadTime),
        (lambda road: road.send("good", 1, headers={"a": 1}), BadInput),  # type: ignore[dict-item]
        (lambda road: road.send_many([("good", 1), ("nobody", 2)]), UnknownQueue),
        (lambda road: road.send_many([Send("good", 9, key="k")]), Conflict),
        (lambda road: road.explain("msg_0000000000000"), UnknownMessage),
        (lambda road: road.explain("zz"), BadInput),
        (lambda road: road.pause("nobody"), UnknownQueue),
        (lambda road: road.pause(7), BadInput),  # type: ignore[arg-type]
        (lambda road: road.settle("msg_0000000000000", "sent"), UnknownMessage),
        (lambda road: road.messages.list(quue="x"), BadInput),  # type: ignore[call-arg]
        (lambda road: road.messages.list(after="zz"), BadInput),
        (lambda road: road.messages.list(limit=0), BadInput),
        (lambda road: road.dead.purge(), BadInput),
        (lambda road: road.dead.replay(ids=["msg_0000000000000"]), UnknownMessage),
        (lambda road: road.campaigns.show("none"), BadInput),
        (lambda road: road.webhooks.get("http://127.0.0.1/none"), UnknownQueue),
    ]
    async with roads(tmp_path, how) as (road, far, _):
        one = await far.send("good", 1, key="k")
        for ask, kind in asked:
            errors = []
            for each in (road, far):
                with pytest.raises(kind) as raised:
                    _ = await ask(each)
                errors.append(raised.value)
            assert isinstance(errors[1], kind)
        page = await far.messages.list(limit=1)
        _ = await far.send("good", 2)
        page = await far.messages.list(limit=1)
        with pytest.raises(CursorOfAnotherQuery):
            _ = await far.messages.list(limit=1, after=page.after, state="waiting")
        with pytest.raises(NotUncertain):
            await far.settle(one.id, "sent")
        with pytest.raises(NotDead):
            _ = await far.dead.replay(ids=[one.id])
        with pytest.raises(Conflict) as conflict:
            _ = await far.send_many([("good", 5), Send("good", 9, key="k")])
        assert len(conflict.value.stored) == 1
        with pytest.raises(BadTime):
            _ = await far.messages.list(since=datetime(2026, 1, 1))  # noqa: DTZ001
        with pytest.raises(NotOnRemoteRoad, match="name it"):
            _ = await far.explain(one.id, tenant=None)
    with pytest.raises(NotOpen):
        _ = await far.send("good", 1)


async def test_what_only_the_owner_can_do_says_where(tmp_path: Path) -> None:
    far = Postroad(f"road:///{tmp_path}/road.db")
    assert isinstance(far, RemoteRoad)
    assert isinstance(far, Postroad)
    for refused in (
        lambda: far.every("* * * * *"),
        far.connection,
        far.webhooks.rotate_keys,
    ):
        with pytest.raises(NotOnRemoteRoad, match="in the process that"):
            _ = refused()
    for work in (far.run(), far.send_in(None, "x", 1)):
        with pytest.raises(NotOnRemoteRoad, match="in the process that"):
            await work
    with pytest.raises(NotOnRemoteRoad, match="transports="):
        _ = Postroad("road:///x", transports=[object()])  # type: ignore[list-item]
    with pytest.raises(BadInput, match="needs no token"):
        _ = Postroad("road:///x", token="prt_x")
    with pytest.raises(BadInput, match="http"):
        _ = Postroad("sqlite:///x", token="prt_x")


async def test_a_handler_that_another_process_calls_is_sent_to_by_its_name(tmp_path: Path) -> None:
    """A program and its worker may share a module."""
    async with roads(tmp_path, "window") as (road, far, _):

        @far.handler("good")
        async def good(word: str) -> None:
            raise AssertionError(word)

        receipt = await good.send("from afar")
        assert (await road.explain(receipt.id)).queue == "good"


async def test_a_tenants_token_means_its_own_tenant(tmp_path: Path) -> None:
    async with roads(tmp_path, "http") as (road, _, served):
        made = await road.tokens.make("acme", tenant="acme", scopes=["send", "read"])
        async with Postroad(served.server.url, token=made.secret) as theirs:
            sent = await theirs.send("good", 1)
            assert (await road.explain(sent.id, tenant="acme")).state == "waiting"
            assert [row.tenant for row in (await theirs.inspect.queues()).queues] == ["acme"]
            with pytest.raises(Forbidden):
                await theirs.pause("good")
            with pytest.raises(Forbidden):
                _ = await theirs.inspect.queues(tenant="shop")
            with pytest.raises(Forbidden, match="bodies"):
                _ = await theirs.messages.body(sent.id)


def test_the_blocking_face_is_the_same(tmp_path: Path) -> None:
    with sync.Postroad(f"sqlite:///{tmp_path}/road.db") as owner:
        owner.handler("good")(lambda _: None)
        with sync.Postroad(f"road:///{tmp_path}/road.db") as far:
            sent = far.send("good", {"id": 7})
            owner.run(until_idle=True)
            assert far.explain(sent.id).state == "delivered"
            assert [one.id for one in far.messages.list().messages] == [sent.id]
            with pytest.raises(NotOnRemoteRoad):
                far.run()


def test_help_and_types_are_those_of_a_road() -> None:
    far = Postroad("http://127.0.0.1:1", token="prt_x", settings=Settings())
    assert list(inspect.signature(far.send).parameters) == ["queue", "body", "confirm", "options"]
    local = inspect.signature(DeadMessages.replay)
    assert inspect.signature(type(far.dead).replay) == local
    assert type(far.dead).show.__doc__ == DeadMessages.show.__doc__


@pytest.mark.parametrize("how", ["http", "window"])
async def test_links_to_the_portal_are_made_from_elsewhere(tmp_path: Path, how: str) -> None:
    async with roads(tmp_path, how) as (road, far, _):
        site = "https://app.example.com"
        made = await far.portal.link("acme", minutes=5, allow=("bodies",), origins=(site,))
        found = await far.portal.find(made.id)
        assert found is not None
        assert (found.tenant, found.allow, found.origins) == ("acme", ("bodies",), (site,))
        opened = await far.portal.open(made.path.partition("#")[2])
        assert opened.token.id == made.id
        assert [one.kind for one in await road.portal.list(tenant="acme")] == ["portal"]
        await far.portal.revoke(made.id)
        assert await far.portal.find(made.id) is None
