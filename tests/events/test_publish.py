"""An event reaches every endpoint that matches, and its body is stored once."""

import asyncio
import json
from base64 import b64decode

import pytest

from postroad import Postroad
from postroad.model.errors import BadBody, BadInput, Conflict
from tests.webhook.conftest import Receiver

HOOK = "http://127.0.0.1:9/hook"


async def test_types_channels_and_filters_say_who_gets_an_event(road: Postroad) -> None:
    wanted = {
        "all": {},
        "orders": {"types": ("order.*",)},
        "paid": {"types": ("order.paid", "order.*")},
        "refunds": {"types": ("refund.*",)},
        "eu": {"channels": ("eu",)},
        "large": {"filter": {"/total": {"gte": 100}}},
    }
    made = {
        name: (await road.endpoints.create(HOOK, **how)).queue  # type: ignore[arg-type]
        for name, how in wanted.items()
    }

    async def reached(kind: str, body: object, *channels: str) -> set[str]:
        receipt = await road.publish(kind, body, channels=channels)
        queues = [(await road.explain(number)).queue for number in receipt.messages]
        assert len(queues) == len(set(queues))
        return {name for name, queue in made.items() if queue in queues}

    assert await reached("order.paid", {"total": 7}) == {"all", "orders", "paid"}
    assert await reached("order.paid.late", {"total": 100}) == {"all", "orders", "paid", "large"}
    assert await reached("order", {}) == {"all"}
    assert await reached("refund.asked", [], "us", "eu") == {"all", "refunds", "eu"}


async def test_another_tenants_endpoints_get_nothing(road: Postroad) -> None:
    await road.endpoints.create(HOOK, tenant="acme")
    assert (await road.publish("order.paid", 1, tenant="other")).messages == ()
    assert len((await road.publish("order.paid", 1, tenant="acme")).messages) == 1


async def test_the_body_is_stored_once_and_shown_for_every_message(road: Postroad) -> None:
    for _ in range(3):
        await road.endpoints.create(HOOK)
    receipt = await road.publish("order.paid", {"id": 7})
    assert len(receipt.messages) == 3
    for number in receipt.messages:
        assert json.loads((await road.messages.body(number)).body) == {"id": 7}
    stored = [await road.store.body_of_unfinished(_number(n)) for n in receipt.messages]
    assert [one.body for one in stored if one] == [b"", b"", b""]
    event = await road.events.get(receipt.id)
    assert (event.body, event.messages) == (b'{"id":7}', receipt.messages)


def _number(text: str) -> int:
    from postroad.model.ids import to_number

    return to_number(text)


async def test_a_key_gives_the_first_receipt_again(road: Postroad) -> None:
    await road.endpoints.create(HOOK)
    first = await road.publish("order.paid", {"id": 7}, key="k")
    await road.endpoints.create(HOOK)
    again = await road.publish("order.paid", {"id": 7}, key="k")
    assert (again.id, again.messages, again.duplicate) == (first.id, first.messages, True)
    other = await road.publish("order.paid", {"id": 7}, key="k", tenant="other")
    assert not other.duplicate
    for body, kind in (({"id": 8}, "order.paid"), ({"id": 7}, "order.late")):
        with pytest.raises(Conflict, match=first.id):
            await road.publish(kind, body, key="k")


async def test_what_matched_nothing_is_stored_and_told(road: Postroad) -> None:
    receipt = await road.publish("order.paid", {"id": 7})
    assert receipt.messages == ()
    assert (await road.events.get(receipt.id)).body == b'{"id":7}'
    later = await road.publish("order.paid", 2)
    page = await road.events.list(limit=1)
    assert [one.id for one in page.events] == [later.id]
    rest = await road.events.list(after=page.after)
    assert [one.id for one in rest.events] == [receipt.id]
    await road.endpoints.create(HOOK, types=("refund.*",))
    refund = await road.publish("refund.asked", 1)
    assert refund.messages
    counted = (await road.events.unmatched()).types
    assert [(one.type, one.count, one.last) for one in counted] == [("order.paid", 2, later.id)]
    assert (await road.events.unmatched(tenant="other")).types == ()


async def test_an_event_is_matched_against_the_set_that_its_commit_sees(road: Postroad) -> None:
    """The endpoints that this process knows are old: another one has changed them."""
    await road.publish("order.paid", 1)  # now it knows the empty set
    known = road.events._matchers["default"]
    made = await road.endpoints.create(HOOK)
    assert road.events._matchers["default"] is known
    assert len((await road.publish("order.paid", 2)).messages) == 1
    await road.endpoints.disable(made.id)
    assert (await road.publish("order.paid", 3)).messages == ()


async def test_without_the_version_an_old_set_would_be_used(road: Postroad) -> None:
    await road.publish("order.paid", 1)
    await road.endpoints.create(HOOK)
    # The guard is gone: what this process knows passes for the version that is stored.
    road.events._matchers["default"].version = 1
    assert (await road.publish("order.paid", 2)).messages == ()


async def test_endpoints_change_while_events_are_published(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK)

    async def change() -> None:
        for number in range(5):
            await road.endpoints.change(made.id, description=str(number))

    async def publish(number: int) -> int:
        return len((await road.publish("order.paid", number)).messages)

    _, *counts = await asyncio.gather(change(), *(publish(n) for n in range(20)))
    assert counts == [1] * 20


async def test_ordered_endpoints_get_events_in_order(road: Postroad, receiver: Receiver) -> None:
    path = "/status/200"
    await road.endpoints.create(receiver.url(path) + "?ordered", ordered=True)
    sent = [(await road.publish("order.paid", n)).messages[0] for n in range(8)]
    await road.run(until_idle=True)
    got = [entry["headers"]["webhook-id"] for entry in receiver.got(path)]
    assert [number for number in got if number in sent] == sent


async def test_a_dead_message_shows_its_events_body_and_is_sent_again_with_it(
    road: Postroad, receiver: Receiver
) -> None:
    made = await road.endpoints.create(receiver.url("/status/418"), reject=(418,))
    receipt = await road.publish("order.paid", {"id": 7})
    await road.run(until_idle=True)
    (number,) = receipt.messages
    assert (await road.dead.show(number)).body == b'{"id":7}'
    await road.endpoints.change(made.id, url=receiver.url("/status/200") + "?again")
    again = await road.messages.send_again(number)
    assert await road.dead.replay(ids=[number]) == 1
    await road.run(until_idle=True)
    got = {entry["headers"]["webhook-id"]: entry for entry in receiver.got("/status/200")}
    assert {b64decode(got[one]["body"]) for one in (number, *again.ids)} == {b'{"id":7}'}


async def test_an_event_stays_while_a_message_needs_it(
    road: Postroad, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, days_ms = road.store.clock, 3 * 86_400_000
    then_ms = clock.now_ms() - days_ms
    with monkeypatch.context() as past:  # ids tell when something was made
        past.setattr(clock, "now_ms", lambda: then_ms)
        await road.endpoints.create(receiver.url("/status/200") + "?stays")
        dead = await road.endpoints.create(
            receiver.url("/status/418"), types=("order.*",), reject=(418,)
        )
        held = await road.endpoints.create(HOOK, types=("refund.*",))
        events = [await road.publish(kind, 1) for kind in ("order.paid", "refund.asked", "gone")]
    await road.pause(held.queue)
    await road.run(until_idle=True)

    async def left() -> list[str]:
        await road.store.retain(0, days_ms)
        return [one.id for one in (await road.events.list()).events]

    needed = [events[1].id, events[0].id]
    assert await left() == needed
    assert await road.dead.purge(queue=dead.queue) == 1
    assert await left() == needed[:1]
    await road.cancel_all(held.queue)
    assert await left() == []


async def test_bad_publishes_are_refused_by_name(road: Postroad) -> None:
    await road.endpoints.create(HOOK, filter={"/a": 1})
    with pytest.raises(BadBody):
        await road.publish("order.paid", b"\xff")
    with pytest.raises(BadBody):
        await road.publish("order.paid", float("nan"))
    for name in ("", "order paid", "order.*", ".order", "order..paid", "x" * 300):
        with pytest.raises(BadInput):
            await road.publish(name, 1)
    with pytest.raises(BadInput):
        await road.publish("order.paid", 1, channels=["a b"])
    with pytest.raises(BadInput):
        await road.publish("order.paid", 1, key="")
    with pytest.raises(BadInput):
        await road.publish("order.paid", 1, tenant="")
    assert (await road.events.list()).events == ()
