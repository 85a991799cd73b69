"""Settings of webhooks: changed, seen by others, moved with their road; and PostgreSQL."""

import asyncio
import hashlib
import json
import os
import threading
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from standardwebhooks import Webhook

from postroad import Postroad
from postroad import sync as blocking
from postroad.config import Settings
from postroad.model.errors import BadInput, UnknownQueue
from postroad.model.keyring import new_key
from postroad.stores.copying import copy
from postroad.verbs.webhooks import HookPage
from tests.servers.postgres import PrivatePostgres
from tests.webhook.conftest import LOCAL, Receiver
from tests.webhook.test_faults import Within
from tests.webhook.test_road import ONE, hurried, until_ended


def test_settings_change_only_what_is_named_and_show_no_secret(
    road: Postroad, receiver: Receiver, within: Within
) -> None:
    url = receiver.url("/status/202")

    async def story() -> None:
        async with road:
            await road.webhooks.set(url, secrets=[ONE], headers={"X-Key": "hush"}, timeout=3)
            await road.webhooks.set(url, reject=[422, 400, 422])
            facts = await road.webhooks.get(url)
            assert (facts.secrets, facts.headers, facts.reject) == (1, ("x-key",), (400, 422))
            assert (facts.timeout_ms, facts.connect_timeout_ms) == (3_000, 5_000)
            assert "hush" not in repr(facts)
            queue = await road.store.find_queue("default", url)
            assert queue is not None
            assert queue.policy.timeout_ms == 8_000
            with pytest.raises(UnknownQueue):
                await road.webhooks.get(url, tenant="another")
            for bad in ({"timeout": 0}, {"reject": [200]}, {"secrets": ["x"]}):
                with pytest.raises(BadInput):
                    await road.webhooks.set(url, **bad)
            assert await road.webhooks.get(url) == facts
        # Another process that sends to it leaves what was set as it is.
        async with road:
            await road.send(url, 1)
            assert await road.webhooks.get(url) == facts
            assert await road.store.find_queue("default", url) == queue

    within(story())


def test_a_change_counts_for_the_next_send(
    road: Postroad, receiver: Receiver, within: Within
) -> None:
    path = "/status/203"
    url = receiver.url(path)

    async def story() -> None:
        async with road:
            running = asyncio.create_task(road.run())
            for number in range(4):
                await road.webhooks.set(url, headers={"X-Turn": str(number)})
                await road.send(url, number)
                while len(receiver.got(path)) <= number:
                    await asyncio.sleep(0.01)
            road.stop()
            await running
            assert [e["headers"]["x-turn"] for e in receiver.got(path)] == ["0", "1", "2", "3"]

    within(story())


def test_a_queue_keeps_its_lane_when_its_credential_changes(
    road: Postroad, receiver: Receiver, within: Within
) -> None:
    """What waits and what comes goes out with the new one, by the one worker of that lane."""
    path = "/status/208"
    urls = [receiver.url(f"{path}/{number}") for number in range(2)]

    async def lane(url: str) -> tuple[int, ...]:
        queue = await road.store.find_queue("default", url)
        assert queue is not None
        return queue.lanes

    async def story() -> None:
        async with road:
            await road.webhooks.set(urls[0], headers={"Authorization": "Bearer old"})
            old = await lane(urls[0])
            await road.send(urls[0], 1)
            await road.webhooks.set(urls[0], headers={"Authorization": "Bearer new"}, timeout=3)
            await road.webhooks.set(urls[1], headers={"Authorization": "Bearer new"})
            await road.send(urls[0], 2)
            await road.run(until_idle=True)
            assert await lane(urls[0]) == old != await lane(urls[1])
            sent = [e["headers"]["authorization"] for e in receiver.got(path + "/0")]
            assert sent == ["Bearer new"] * 2

    within(story())


def test_the_slow_digest_of_a_credential_is_not_made_in_the_loop(
    road: Postroad, receiver: Receiver, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_in: list[int] = []
    scrypt = hashlib.scrypt

    def noted(*secret: Any, **cost: Any) -> bytes:
        made_in.append(threading.get_ident())
        return scrypt(*secret, **cost)

    monkeypatch.setattr(hashlib, "scrypt", noted)

    async def story() -> None:
        async with road:
            url = receiver.url("/status/209")
            for timeout in (1, 2):  # the second time its lane is known
                headers = {"Authorization": "Bearer x"}
                await road.webhooks.set(url, headers=headers, timeout=timeout)

    within(story())
    assert len(made_in) == 1
    assert made_in[0] != threading.get_ident()


def test_what_is_set_is_listed_and_deleted_and_the_queue_goes_on_without_it(
    road: Postroad, receiver: Receiver, within: Within
) -> None:
    path = "/status/210"
    url, other = receiver.url(path), receiver.url("/status/211")

    async def story() -> None:
        async with road:
            await road.send(other, 1)  # nothing is set for it
            await road.webhooks.set(url, secrets=[ONE], headers={"X-Key": "hush"}, timeout=3)
            page = await road.webhooks.list()
            assert page == HookPage((await road.webhooks.get(url),))
            assert "hush" not in repr(page)
            waiting = await road.send(url, 1)
            await road.webhooks.delete(url)
            assert await road.webhooks.list() == HookPage(())
            facts = await road.webhooks.get(url)
            assert (facts.secrets, facts.headers, facts.timeout_ms) == (0, (), 15_000)
            queue = await road.store.find_queue("default", url)
            assert queue is not None
            assert queue.policy.timeout_ms == 20_000
            await road.run(until_idle=True)
            (entry,) = receiver.got(path)
            assert entry["headers"]["webhook-id"] == waiting.id
            assert not {"x-key", "webhook-signature"} & entry["headers"].keys()
            for gone in (url, other, "https://never.example"):
                with pytest.raises(UnknownQueue):
                    await road.webhooks.delete(gone)

    within(story())


def test_what_cannot_be_opened_or_called_any_more_is_listed_with_the_reason_and_deleted(
    tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    dsn, url = f"sqlite:///{tmp_path}/road.db", "http://127.0.0.1:9/hook"

    async def story() -> None:
        monkeypatch.setenv("POSTROAD_KEYS", new_key("k1", os.urandom))
        async with Postroad(dsn, settings=Settings(webhooks=LOCAL)) as road:
            await road.webhooks.set(url, secrets=[ONE], reject=[418])
        monkeypatch.setenv("POSTROAD_KEYS", new_key("k2", os.urandom))
        async with Postroad(dsn) as road:  # nor may it be called by these settings
            (facts,) = (await road.webhooks.list()).webhooks
            assert (facts.url, facts.reject, facts.secrets) == (url, (418,), 0)
            assert "k1" in facts.fault
            await road.webhooks.delete(url)
            assert await road.webhooks.list() == HookPage(())

    within(story())


def test_pages_of_webhooks_miss_nothing(road: Postroad, within: Within) -> None:
    async def story() -> None:
        async with road:
            urls = [f"http://127.0.0.1:9/{number}" for number in range(5)]
            for url in urls:
                await road.webhooks.set(url, reject=[418])
            pages = [await road.webhooks.list(limit=2)]
            while after := pages[-1].after:
                pages.append(await road.webhooks.list(limit=2, after=after))
            assert [[facts.url for facts in page.webhooks] for page in pages] == [
                urls[:2],
                urls[2:4],
                urls[4:],
            ]
            assert await road.webhooks.list(tenant="another") == HookPage(())
            for limit in (0, 501):
                with pytest.raises(BadInput):
                    await road.webhooks.list(limit=limit)

    within(story())


def test_the_same_on_postgresql(
    server: PrivatePostgres, receiver: Receiver, within: Within
) -> None:
    path = "/seq/500/200"
    url = receiver.url(path)

    async def story() -> None:
        async with Postroad(server.create_road(), settings=Settings(webhooks=LOCAL)) as road:
            await hurried(road, url)
            await road.webhooks.set(url, secrets=[ONE])
            receipt = await road.send(url, {"n": 1})
            assert await until_ended(road, receipt.id) == "delivered"
            log = await road.webhooks.attempts(receipt.id)
            assert [(one.outcome, one.status) for one in log] == [
                ("failed", 500),
                ("delivered", 200),
            ]
            mine = [e for e in receiver.got(path) if e["headers"]["webhook-id"] == receipt.id]
            for entry in mine:
                Webhook(ONE).verify(b64decode(entry["body"]).decode(), entry["headers"])
            assert [json.loads(b64decode(e["body"])) for e in mine] == [{"n": 1}] * 2

    within(story())


def test_the_blocking_face_has_webhooks_too(tmp_path: Path, receiver: Receiver) -> None:
    settings = Settings(webhooks=LOCAL)
    with blocking.Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings) as road:
        url = receiver.url("/status/200")
        road.webhooks.set(url, secrets=[ONE])
        receipt = road.send(url, 1)
        road.run(until_idle=True)
        (one,) = road.webhooks.attempts(receipt.id)
        assert one.status == 200


def test_what_one_process_sets_another_one_sends_with_soon(
    server: PrivatePostgres, receiver: Receiver, within: Within
) -> None:
    """An old value is not served for ever after a change elsewhere."""
    path = "/status/206"
    url = receiver.url(path)

    async def story() -> None:
        dsn, settings = server.create_road(), Settings(webhooks=LOCAL)
        async with Postroad(dsn, settings=settings) as one, Postroad(dsn, settings=settings) as two:
            await one.webhooks.set(url, headers={"X-Turn": "old"})
            running = asyncio.create_task(one.run())
            await one.send(url, 1)
            while not receiver.got(path):
                await asyncio.sleep(0.02)
            await two.webhooks.set(url, headers={"X-Turn": "new"})
            while receiver.got(path)[-1]["headers"]["x-turn"] == "old":
                await two.send(url, 1)
                await asyncio.sleep(0.1)
            one.stop()
            await running

    within(story())


@pytest.mark.wide
def test_settings_and_log_move_with_their_road(
    tmp_path: Path, server: PrivatePostgres, receiver: Receiver, within: Within
) -> None:
    """From SQLite to PostgreSQL; what is logged there comes beside what was."""
    url = receiver.url("/status/207")
    source, target = f"sqlite:///{tmp_path}/road.db", server.create_database()

    async def use(dsn: str, keys: str = "") -> tuple[str, object]:
        async with Postroad(dsn, settings=Settings(webhooks=LOCAL, keys_file=keys)) as road:
            if dsn == source:
                await road.webhooks.set(url, secrets=[ONE], headers={"x-key": "hush"}, reject=[418])
            receipt = await road.send(url, 1)
            await road.run(until_idle=True)
            assert len(await road.webhooks.attempts(receipt.id)) == 1
            return receipt.id, await road.webhooks.get(url)

    async def story() -> None:
        first, facts = await use(source)
        done = await copy(source, target, lambda *_: None)
        _, moved = await use(target, done.keys_file)
        assert moved == facts
        async with Postroad(target, settings=Settings(webhooks=LOCAL)) as road:
            assert len(await road.webhooks.attempts(first)) == 1

    within(story())
