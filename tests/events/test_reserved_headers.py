"""Headers that the road alone sets: no sender can name another tenant's event by one of them."""

import json
from base64 import b64decode
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest

from postroad import Batch, Postroad, Send
from postroad.config import Settings
from postroad.model.endpoint import endpoint_number, queue_name
from postroad.model.errors import BadInput
from postroad.model.event import EventRow
from postroad.model.webhook import HeaderNames
from postroad.ports.events import EventStore
from postroad.verbs import sending
from tests.api.stand import Stand, kind
from tests.events.test_publish_in import transaction
from tests.webhook.conftest import LOCAL, Receiver

SECRET = "acmes-secret"
NAMES = (
    "postroad-event",
    "Postroad-Batch",
    "postroad-test",
    "POSTROAD-REPLAY",
    "postroad-again-of",
)
MORE = ("postroad-to", "postroad-anything")
Door = Callable[[Postroad, dict[str, str]], Awaitable[object]]


def _forged(headers: dict[str, str]) -> Send:
    return Send("good", 1, headers=headers)


async def _within(road: Postroad, headers: dict[str, str]) -> None:
    async with transaction(road) as connection:
        await road.send_in(connection, "good", 1, headers=headers)


async def _each(road: Postroad, headers: dict[str, str]) -> None:
    (said,) = await road.send_each([_forged(headers)])
    if isinstance(said, BaseException):
        raise said


DOORS: dict[str, Door] = {
    "send": lambda road, headers: road.send("good", 1, headers=headers),
    "send_many": lambda road, headers: road.send_many([("good", 1), _forged(headers)]),
    "send_each": _each,
    "send_in": _within,
    "batch": lambda road, headers: road.batch([("good", 1), _forged(headers)]),
    "then": lambda road, headers: road.batch([("good", 1)], then=_forged(headers)),
    "nested": lambda road, headers: road.batch([Batch([_forged(headers)])]),
    "chain": lambda road, headers: road.chain([("good", 1), _forged(headers)]),
    "endpoint": lambda road, headers: road.endpoints.create(
        "http://127.0.0.1:9/x", headers=headers
    ),
    "webhook": lambda road, headers: road.webhooks.set("http://127.0.0.1:9/x", headers=headers),
}


@pytest.mark.parametrize("door", DOORS)
async def test_no_sender_gives_a_header_of_ours(road: Postroad, door: str) -> None:
    road.handler("good")(lambda _: None)
    for name in (*NAMES, *MORE):
        with pytest.raises(BadInput, match="is ours"):
            await DOORS[door](road, {name: "evt_0000000000001"})
    assert not (await road.messages.list()).messages
    assert not (await road.batches.list()).batches
    assert not (await road.endpoints.list()).endpoints
    await DOORS[door](road, {"x-postroad": "1"})


@pytest.mark.parametrize("door", DOORS)
async def test_a_zone_that_there_is_not_is_refused_at_every_door(road: Postroad, door: str) -> None:
    road.handler("good")(lambda _: None)
    with pytest.raises(BadInput, match="is not a time zone"):
        await DOORS[door](road, {"postroad-zone": "7"})
    await DOORS[door](road, {"postroad-zone": "Europe/Berlin"})


async def test_no_header_of_ours_names_a_signature(road: Postroad) -> None:
    with pytest.raises(BadInput, match="is ours"):
        await road.webhooks.set(
            "http://127.0.0.1:9/x", names=HeaderNames("postroad-event", "at", "by")
        )


def _got(receiver: Receiver, mark: str) -> str:
    entries = [one for one in receiver.got("/status/200") if one["query"] == mark]
    return str([b64decode(one["body"]) for one in entries])


class Thief:
    """Tenant `other`, which knows the id of an event of `acme`, and asks over HTTP."""

    def __init__(self, stand: Stand, secret: str, event: str) -> None:
        self.stand, self.secret, self.event = stand, secret, event

    @classmethod
    async def at(cls, stand: Stand) -> "Thief":
        await stand.road.endpoints.create("http://127.0.0.1:9/acme", tenant="acme")
        event = await stand.road.publish("order.paid", SECRET, tenant="acme")
        token = await stand.road.tokens.make("other", tenant="other", role="tenant")
        return cls(stand, token.secret, event.id)

    def message(self, queue: str) -> dict[str, Any]:
        return {"queue": queue, "body": "mine", "headers": {"postroad-event": self.event}}

    async def ask(self, path: str, data: object) -> Any:
        path, _, given = path.partition("?")
        query = dict(parse_qsl(given))
        return await self.stand.say("POST", path, data, token=self.secret, query=query)

    async def steal(self, hook: str) -> str:
        """Send to a handler, a webhook and a feed, by every door; answers all that can be seen."""
        road = self.stand.road
        feed = await road.endpoints.create(pull=True, tenant="other")
        queue = queue_name(endpoint_number(feed.id))
        sends = [self.message(queue) for queue in ("bad", hook, queue)]
        for one in sends:
            await self.ask("/v1/messages", one)
        await self.ask("/v1/messages:batch", b"\n".join(json.dumps(s).encode() for s in sends))
        await self.ask("/v1/batches", {"members": sends})
        seen = str(await road.endpoints.feed(feed.id, tenant="other"))
        await road.run(until_idle=True)
        for each in (await road.messages.list(tenant="other")).messages:
            path = f"/v1/messages/{each.id}/body"
            seen += str((await self.stand.say("GET", path, token=self.secret)).content)
            if each.state == "dead":
                again = await road.messages.send_again(each.id, tenant="other")
                seen += str(await road.messages.body(again.ids[0], tenant="other"))
                shown = await self.stand.say("GET", f"/v1/dead/{each.id}", token=self.secret)
                seen += str(shown.content)
        return seen


async def test_another_tenants_event_is_refused_by_every_door(tmp_path: Path) -> None:
    async with Stand(tmp_path, Settings(webhooks=LOCAL)) as stand:
        thief = await Thief.at(stand)
        said = await thief.ask("/v1/messages", thief.message("good"))
        assert (said.status, kind(said)) == (400, "bad-input")
        line = json.dumps(thief.message("good")).encode()
        told = await thief.ask("/v1/messages:batch", line)
        assert [json.loads(one).get("status", 0) for one in told.content.splitlines()] == [400, 0]
        for path, data in (
            ("/v1/messages:batch?together=true", line),
            ("/v1/batches", {"members": [thief.message("good")]}),
            ("/v1/batches", {"steps": [{"queue": "good", "body": 1}, thief.message("good")]}),
        ):
            assert kind(await thief.ask(path, data)) == "bad-input"
        assert not (await stand.road.messages.list(tenant="other")).messages


async def test_without_that_check_its_body_is_shown_to_nobody_and_sent_nowhere(
    tmp_path: Path, receiver: Receiver, mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "check_named", lambda _send: None)
    hook = f"{receiver.url('/status/200')}?{mark}"
    async with Stand(tmp_path, Settings(webhooks=LOCAL)) as stand:
        thief = await Thief.at(stand)
        seen = await thief.steal(hook)
        assert seen.count("mine") >= 6
        assert SECRET not in seen
        assert SECRET not in _got(receiver, mark)
        # The check can fail: a store that does not ask whose event it is gives it away.
        store = stand.road.store
        assert isinstance(store, EventStore)
        real = store.event

        async def anyones(_tenant: str, number: int) -> EventRow | None:
            return await real("acme", number)

        monkeypatch.setattr(store, "event", anyones)
        assert SECRET in await thief.steal(hook)
        assert SECRET in _got(receiver, mark)


@pytest.mark.parametrize("value", ["evt_0000000000001xyz", "evt_", "evt_!!!!!!!!!!!!!", ""])
async def test_a_header_that_names_no_event_is_a_header_like_others(
    road: Postroad, receiver: Receiver, mark: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a store may have them from before they were refused."""
    monkeypatch.setattr(sending, "check_named", lambda _send: None)
    url = f"{receiver.url('/status/200')}?{mark}"
    sent = await road.send(url, {"n": 1}, headers={"postroad-event": value, "x-more": "2"})
    feed = await road.endpoints.create(pull=True)
    queue = queue_name(endpoint_number(feed.id))
    await road.send(queue, {"n": 2}, headers={"postroad-event": value})
    (read,) = (await road.endpoints.feed(feed.id)).messages
    assert (read.body, read.event) == ('{"n":2}', "")
    await road.run(until_idle=True)
    (got,) = [one for one in receiver.got("/status/200") if one["query"] == mark]
    assert (got["headers"]["postroad-event"], got["headers"]["x-more"]) == (value, "2")
    assert (await road.explain(sent.id)).state == "delivered"


async def test_what_is_sent_again_keeps_its_test_mark_and_leaves_its_batch(road: Postroad) -> None:
    seen: list[dict[str, str]] = []

    @road.handler("job", keep_bodies=60)
    async def job(message: Any) -> None:
        seen.append(dict(message.headers))

    batch = await road.batch([Send("job", 1, headers={"shop": "north"})])
    await road.run(until_idle=True)
    assert seen == [{"postroad-batch": batch.id, "shop": "north"}]
    old = batch.messages[0].id
    await road.messages.send_again(old)
    await road.run(until_idle=True)
    assert seen[1:] == [{"shop": "north", "postroad-again-of": old}]
    # And once more: its own mark is not taken for a sender's.
    (newest, *_) = (await road.messages.list(state="delivered")).messages
    await road.messages.send_again(newest.id)
    await road.run(until_idle=True)
    assert seen[2]["postroad-again-of"] == newest.id


async def test_a_replayed_or_tested_event_is_sent_again(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    url = f"{receiver.url('/status/410')}?{mark}"
    made = await road.endpoints.create(url)
    sent = await road.endpoints.test(made.id)
    await road.run(until_idle=True)
    again = await road.messages.send_again(sent.message)
    assert (await road.messages.body(again.ids[0])).headers == {
        "postroad-test": "true",
        "postroad-again-of": sent.message,
    }
