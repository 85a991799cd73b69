"""Endpoints are objects of a tenant, each with a queue of its own."""

import asyncio
from base64 import b64decode
from datetime import timedelta

import pytest
from standardwebhooks import Webhook

from postroad import Postroad
from postroad.model.errors import BadFilter, BadInput, BadUrl, Conflict, UnknownEndpoint
from tests.webhook.conftest import Receiver

HOOK = "http://127.0.0.1:9/hook"


async def test_two_endpoints_share_a_url_and_each_gets_its_own_message(
    road: Postroad, receiver: Receiver
) -> None:
    url = receiver.url("/status/200") + "?two"
    made = [await road.endpoints.create(url, description=text) for text in ("a", "b")]
    assert made[0].secret.startswith("whsec_")
    assert made[0].secret != made[1].secret
    receipt = await road.publish("order.paid", {"id": 7})
    await road.run(until_idle=True)
    got = {entry["headers"]["webhook-id"]: entry for entry in receiver.got("/status/200")}
    secrets = {one.queue: one.secret for one in made}
    for number in receipt.messages:
        entry = got[number]
        queue = (await road.explain(number)).queue
        body = Webhook(secrets[queue]).verify(b64decode(entry["body"]), entry["headers"])
        assert body == {"id": 7}


async def test_lists_may_be_lists_and_what_they_hold_is_checked(road: Postroad) -> None:
    wanted = {"types": ["order.*"], "channels": ["eu"], "reject": [418]}
    made = await road.endpoints.create(HOOK, **wanted)  # type: ignore[arg-type]
    assert (made.types, made.channels, made.reject) == (("order.*",), ("eu",), (418,))
    changed = await road.endpoints.change(made.id, types=["order.paid"])
    assert changed.types == ("order.paid",)
    for wrong in ({"types": [7]}, {"types": "order.*"}, {"metadata": {"a": 7}}):
        with pytest.raises(BadInput, match=next(iter(wrong))):
            await road.endpoints.change(made.id, **wrong)
    assert (await road.endpoints.get(made.id)).types == ("order.paid",)


async def test_a_secret_is_shown_once_and_counted_afterwards(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK, types=("order.*",), metadata={"plan": "gold"})
    shown = await road.endpoints.get(made.id)
    (listed,) = (await road.endpoints.list()).endpoints
    assert shown == listed
    assert (shown.secrets, shown.types, shown.metadata) == (1, ("order.*",), {"plan": "gold"})
    assert made.secret not in repr(shown)
    assert (await road.webhooks.list()).webhooks == ()


async def test_a_rotated_secret_signs_beside_the_new_one_until_the_overlap_ends(
    road: Postroad, receiver: Receiver
) -> None:
    made = await road.endpoints.create(receiver.url("/status/200") + "?rotated")
    new = await road.endpoints.rotate(made.id, overlap=timedelta(minutes=5))
    assert new.secret != made.secret
    assert (new.secrets, new.secret_ends_at_ms is not None) == (2, True)
    both = await road.publish("order.paid", 1)
    await road.run(until_idle=True)
    got = {entry["headers"]["webhook-id"]: entry for entry in receiver.got("/status/200")}
    entry = got[both.messages[0]]
    for secret in (made.secret, new.secret):
        assert Webhook(secret).verify(b64decode(entry["body"]), entry["headers"]) == 1
    await road.endpoints.rotate(made.id, overlap=0.3)
    while (await road.endpoints.get(made.id)).secrets > 1:
        await asyncio.sleep(0.1)
    await asyncio.sleep(2.0)  # what is set is read again after two seconds at most
    alone = await road.publish("order.paid", 2)
    await road.run(until_idle=True)
    got = {entry["headers"]["webhook-id"]: entry for entry in receiver.got("/status/200")}
    assert len(got[alone.messages[0]]["headers"]["webhook-signature"].split()) == 1


async def test_a_rotation_ends_no_secret_before_its_overlap(road: Postroad) -> None:
    made = await road.endpoints.create("http://127.0.0.1:9/many")
    for number in range(9):
        assert (await road.endpoints.rotate(made.id)).secrets == number + 2
    with pytest.raises(Conflict, match=r"rotate after \d{4}-.* UTC, when the oldest ends"):
        await road.endpoints.rotate(made.id)
    facts = await road.endpoints.get(made.id)
    assert facts.secrets == 10
    assert (await road.endpoints.rotate(made.id, overlap=0)).secrets == 1


async def test_another_path_of_the_same_server_takes_what_waits_along(
    road: Postroad, receiver: Receiver
) -> None:
    made = await road.endpoints.create(receiver.url("/status/500"))
    waiting = await road.publish("order.paid", 1)
    await road.endpoints.change(made.id, url=receiver.url("/status/200") + "?moved")
    await road.run(until_idle=True)
    assert (await road.explain(waiting.messages[0])).state == "delivered"


async def test_what_is_published_for_a_disabled_endpoint_is_held_and_sent_when_it_is_enabled(
    road: Postroad, receiver: Receiver
) -> None:
    made = await road.endpoints.create(receiver.url("/status/200") + "?off")
    before = await road.publish("order.paid", 1)
    off = await road.endpoints.disable(made.id, reason="on holiday")
    assert (off.state, off.disabled_by, off.reason) == ("disabled", "owner", "on holiday")
    meanwhile = await road.publish("order.paid", 2)
    await road.run(until_idle=True)
    for number in (*before.messages, *meanwhile.messages):
        assert (await road.explain(number)).state == "held"
    assert (await road.endpoints.stats(made.id)).waiting == 2
    await road.endpoints.enable(made.id)
    after = await road.publish("order.paid", 3)
    await road.run(until_idle=True)
    for number in (*before.messages, *meanwhile.messages, *after.messages):
        assert (await road.explain(number)).state == "delivered"


async def test_a_deleted_endpoint_is_sent_nothing_any_more(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK)
    waiting = await road.publish("order.paid", 1)
    await road.endpoints.delete(made.id)
    assert (await road.explain(waiting.messages[0])).state == "cancelled"
    assert (await road.publish("order.paid", 2)).messages == ()
    with pytest.raises(UnknownEndpoint):
        await road.endpoints.get(made.id)
    with pytest.raises(UnknownEndpoint):
        await road.send(made.queue + "0", 1)


async def test_what_cannot_be_an_endpoint_is_refused_and_nothing_is_stored(road: Postroad) -> None:
    wrong: list[tuple[str, dict[str, object], type[BadInput]]] = [
        ("handler", {}, BadUrl),
        ("http://10.0.0.1/", {}, BadUrl),
        (HOOK, {"types": ("order paid",)}, BadInput),
        (HOOK, {"types": ("*.paid",)}, BadInput),
        (HOOK, {"filter": {"total": 1}}, BadFilter),
        (HOOK, {"rate": "often"}, BadInput),
        (HOOK, {"secret": "whsec_short"}, BadInput),
        (HOOK, {"secret": "whsec_…"}, BadInput),
        (HOOK, {"headers": {"webhook-id": "1"}}, BadInput),
    ]
    for url, options, error in wrong:
        with pytest.raises(error):
            await road.endpoints.create(url, **options)  # type: ignore[arg-type]
    assert (await road.endpoints.list()).endpoints == ()
    with pytest.raises(UnknownEndpoint):
        await road.endpoints.get("ep_1")


async def test_settings_are_read_back(road: Postroad) -> None:
    made = await road.endpoints.create(
        HOOK,
        channels=("eu",),
        filter={"/total": {"gte": 10}},
        reject=(418,),
        timeout=3,
        connect_timeout=1,
        rate="5/s",
        ordered=True,
        headers={"X-Mine": "yes"},
        keep_bodies=60,
    )
    shown = await road.endpoints.get(made.id)
    assert (shown.channels, shown.filter, shown.reject) == (
        ("eu",),
        {"/total": {"gte": 10}},
        (418,),
    )
    assert (shown.timeout_ms, shown.connect_timeout_ms, shown.rate) == (3_000, 1_000, "5/s")
    assert (shown.ordered, shown.headers, shown.keep_bodies_ms) == (True, ("x-mine",), 60_000)
    changed = await road.endpoints.change(made.id, filter=None, rate="", description="new")
    assert (changed.filter, changed.rate, changed.description) == (None, "", "new")
    assert (changed.channels, changed.ordered) == (("eu",), True)


async def test_one_that_is_deleted_while_it_is_read_or_changed_is_unknown(road: Postroad) -> None:
    for _ in range(10):
        made = await road.endpoints.create(HOOK)

        async def look(number: str = made.id) -> None:
            while True:
                await road.endpoints.get(number)

        async def change(number: str = made.id) -> None:
            while True:
                await road.endpoints.change(number, description="x")
                await asyncio.sleep(0.003)  # else it always comes before the deletion

        looking = [asyncio.create_task(look()), asyncio.create_task(change())]
        await road.endpoints.delete(made.id)
        for each in looking:
            with pytest.raises(UnknownEndpoint):
                await each


async def test_of_a_rate_and_a_limit_of_its_queue_the_last_one_counts(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK, rate="5/s")

    async def limits() -> list[str]:
        return [one.limit for one in (await road.explain_queue(made.queue)).limits]

    assert await limits() == ["5/s"]
    await road.limit(made.queue, "7/s")
    assert await limits() == ["7/s"]
    await road.endpoints.change(made.id, description="nothing about its rate")
    assert await limits() == ["7/s"]
    await road.endpoints.change(made.id, rate="9/s")
    assert await limits() == ["9/s"]
