"""Webhooks from `road.send` to the receiver's own log, on real servers."""

import asyncio
import io
import json
from base64 import b64decode, b64encode
from pathlib import Path

import pytest
from msgspec.structs import replace
from standardwebhooks import Webhook

from postroad import Postroad, Send
from postroad.config import Settings
from postroad.model.entities import Policy
from postroad.model.errors import BadUrl
from postroad.model.ladder import Exponential
from postroad.model.webhook import HeaderNames, WebhookRules
from postroad.observe.log import make_log
from postroad.transports.webhook.resolving import Resolve, Unresolved
from postroad.verbs.parts import Parts
from tests.servers.nginx import PrivateNginx
from tests.webhook.conftest import LOCAL, Receiver
from tests.webhook.test_faults import Within

ONE = "whsec_" + b64encode(b"1" * 24).decode()
TWO = "whsec_" + b64encode(b"2" * 24).decode()
QUICK = Policy(ladder=Exponential(retries=5, base_ms=50), timeout_ms=16_000)


async def hurried(road: Postroad, url: str) -> None:
    """A ladder that a test can wait for."""
    await road._sending.open_webhook("default", url, QUICK, "")


async def until_ended(road: Postroad, number: str) -> str:
    """Run until a message is delivered or dead."""
    running = asyncio.create_task(road.run())
    try:
        while (state := (await road.explain(number)).state) not in ("delivered", "dead"):
            await asyncio.sleep(0.02)
    finally:
        road.stop()
        await running
    return str(state)


def test_a_webhook_is_made_on_first_use_and_delivered(
    road: Postroad, receiver: Receiver, within: Within
) -> None:
    url = receiver.url("/status/200") + "?shop=7"

    async def story() -> None:
        async with road:
            receipt = await road.send(url, {"id": 7})
            raw = await road.send(url, b"\x00\xff", headers={"X-Mine": "yes"})
            await road.run(until_idle=True)
            assert (await road.explain(receipt.id)).state == "delivered"
            got = {entry["headers"]["webhook-id"]: entry for entry in receiver.got("/status/200")}
            first, second = got[receipt.id], got[raw.id]
            assert (first["method"], first["query"]) == ("POST", "shop=7")
            assert b64decode(first["body"]) == b'{"id":7}'
            assert first["headers"]["content-type"] == "application/json"
            assert "webhook-signature" not in first["headers"]
            assert "accept-encoding" not in first["headers"]
            assert b64decode(second["body"]) == b"\x00\xff"
            assert second["headers"]["content-type"] == "application/octet-stream"
            assert second["headers"]["x-mine"] == "yes"

    within(story())


def test_a_retry_keeps_its_id_and_is_signed_at_its_own_time(
    road: Postroad, receiver: Receiver, within: Within
) -> None:
    path = "/seq/500/404/302/200"
    url = receiver.url(path)

    async def story() -> None:
        async with road:
            await hurried(road, url)
            await road.webhooks.set(url, secrets=[TWO, ONE], headers={"Authorization": "hush"})
            receipt = await road.send(url, {"text": "ä"})
            assert await until_ended(road, receipt.id) == "delivered"
            mine = [e for e in receiver.got(path) if e["headers"]["webhook-id"] == receipt.id]
            assert len(mine) == 4
            for entry in mine:
                assert abs(int(entry["headers"]["webhook-timestamp"]) - entry["at"]) < 60
                assert entry["headers"]["authorization"] == "hush"
                for secret in (ONE, TWO):
                    body = b64decode(entry["body"]).decode()
                    assert Webhook(secret).verify(body, entry["headers"]) == {"text": "ä"}
            log = await road.webhooks.attempts(receipt.id)
            assert [(one.outcome, one.status) for one in log] == [
                ("failed", 500),
                ("failed", 404),
                ("failed", 302),
                ("delivered", 200),
            ]
            assert [one.answer for one in log] == [
                b"said 500",
                b"said 404",
                b"said 302",
                b"said 200",
            ]
            assert all(one.headers["authorization"] == "…" for one in log)
            assert "hush" not in repr(log)
            assert all(one.took_ms >= one.answered_ms >= 0 for one in log)
            assert {one.address for one in log} == {url.split("/")[2]}
            signed = [one.headers["webhook-signature"] for one in log]
            assert signed == [entry["headers"]["webhook-signature"] for entry in mine]

    within(story())


def test_header_names_can_be_those_of_a_former_sender(
    road: Postroad, receiver: Receiver, within: Within
) -> None:
    path = "/status/201"
    url = receiver.url(path)

    async def story() -> None:
        async with road:
            names = HeaderNames("Svix-Id", "svix-timestamp", "svix-signature")
            await road.webhooks.set(url, secrets=[ONE], names=names)
            receipt = await road.send(url, {"a": 1})
            await road.run(until_idle=True)
            (entry,) = receiver.got(path)
            assert entry["headers"]["svix-id"] == receipt.id
            assert "webhook-id" not in entry["headers"]
            known = {name.replace("svix", "webhook"): v for name, v in entry["headers"].items()}
            assert Webhook(ONE).verify(b64decode(entry["body"]).decode(), known) == {"a": 1}

    within(story())


def test_what_each_answer_does_to_message_and_queue(
    road: Postroad, nginx: PrivateNginx, within: Within
) -> None:
    """Nginx answers; the table of outcomes decides."""
    expected = {
        "/ok": ("delivered", "delivered", ""),
        "/empty": ("delivered", "delivered", ""),
        "/moved": ("failed", "waiting", ""),
        "/broken": ("failed", "waiting", ""),
        "/teapot": ("rejected", "dead", ""),
        "/gone": ("rejected", "dead", "disabled"),
        "/limited": ("quota", "held", "quota"),
        "/drop": ("unknown", "waiting", ""),
    }

    async def story() -> None:
        async with road:
            receipts = {}
            for path in expected:
                url = nginx.url(path)
                await road.webhooks.set(url, reject=[418])
                receipts[path] = (await road.send(url, 1)).id
            await road.run(until_idle=True)
            for path, (outcome, state, block) in expected.items():
                log = await road.webhooks.attempts(receipts[path])
                assert [one.outcome for one in log] == [outcome], path
                assert (await road.explain(receipts[path])).state == state, path
                queue = await road.store.find_queue("default", nginx.url(path))
                assert queue is not None
                assert (queue.block.kind if queue.block else "") == block, path
            held = await road.store.find_queue("default", nginx.url("/limited"))
            assert held is not None
            assert held.block is not None
            assert held.block.until_ms > road.store.clock.now_ms() + 100_000

    within(story())


@pytest.mark.parametrize("path", ["/gateway", "/away", "/late"])
def test_a_server_that_is_away_behind_its_proxy_is_unreachable(
    path: str, road: Postroad, nginx: PrivateNginx, within: Within
) -> None:
    async def story() -> None:
        async with road:
            receipt = await road.send(nginx.url(path), 1)
            running = asyncio.create_task(road.run())
            while not (log := await road.webhooks.attempts(receipt.id)):
                await asyncio.sleep(0.02)
            road.stop()
            await running
            assert log[0].outcome == "unreachable"
            assert log[0].status in (502, 503, 504)
            assert (await road.explain(receipt.id)).level == 0

    within(story())


def test_the_log_keeps_the_first_sixteen_kibibytes_of_an_answer(
    road: Postroad, receiver: Receiver, within: Within
) -> None:
    async def story() -> None:
        async with road:
            receipt = await road.send(receiver.url("/long/200"), 1)
            await road.run(until_idle=True)
            (one,) = await road.webhooks.attempts(receipt.id)
            assert one.answer == b"x" * (16 << 10)

    within(story())


def test_a_server_that_says_what_it_was_sent_does_not_bring_secrets_into_the_log(
    road: Postroad, receiver: Receiver, within: Within
) -> None:
    url = receiver.url("/echo/500")

    async def story() -> None:
        async with road:
            await road.webhooks.set(url, headers={"x-api-key": "hush-of-the-queue"})
            headers = {"authorization": "Bearer hush-of-its-own", "x-shop": "north-by-northwest"}
            receipt = await road.send(url, 1, headers=headers)
            await road.run(until_idle=True)
            (one,) = await road.webhooks.attempts(receipt.id)
            said = json.loads(one.answer)
            assert (said["authorization"], said["x-api-key"]) == ("…", "…")
            assert said["x-shop"] == "north-by-northwest"
        (sent,) = receiver.got("/echo/500")
        assert sent["headers"]["authorization"] == "Bearer hush-of-its-own"

    within(story())


def test_connect_timeout_and_total_deadline_are_apart(
    road: Postroad, faults: dict[str, int], receiver: Receiver, within: Within
) -> None:
    """The first is certainly not sent, the second may have been."""

    async def story() -> None:
        async with road:
            away = f"http://127.0.0.1:{faults['full_backlog']}/"
            slow = receiver.url("/slow/30/200")
            await road.webhooks.set(away, connect_timeout=0.2, timeout=20)
            await road.webhooks.set(slow, connect_timeout=20, timeout=2)
            one, two = await road.send(away, 1), await road.send(slow, 1)
            running = asyncio.create_task(road.run())
            logs = []
            for receipt in (one, two):
                while not (log := await road.webhooks.attempts(receipt.id)):
                    await asyncio.sleep(0.02)
                logs.append(log[0])
            road.stop()
            await running
            assert [(log.outcome, log.fault) for log in logs] == [
                ("unreachable", "connect_timeout"),
                ("unknown", "timeout"),
            ]
            assert 2_000 <= logs[1].took_ms < 15_000

    within(story())


def road_that_resolves(folder: Path, resolve: Resolve) -> Postroad:
    """A road that may call this machine, and asks for addresses as the test says."""
    settings, parts = Settings(webhooks=LOCAL), Parts(resolve=resolve)
    return Postroad(f"sqlite:///{folder}/road.db", settings=settings, parts=parts)


def test_a_name_that_has_no_address_yet_is_stored_and_tried_unless_a_check_is_asked_for(
    tmp_path: Path, faults: dict[str, int], within: Within
) -> None:
    answers: list[str] = []

    async def resolve(name: str) -> list[str]:
        if not answers:
            raise Unresolved(f"{name} has no address: not yet")
        return answers

    road = road_that_resolves(tmp_path, resolve)

    async def story() -> None:
        async with road:
            url = f"http://hook.example:{faults['fine']}/"
            asked = Send(url, 1, check=True)
            for verb in (road.send(url, 1, check=True), road.send_many([asked])):
                with pytest.raises(BadUrl, match="cannot be called now: hook"):
                    await verb
            (refused,) = await road.send_each([asked])
            assert isinstance(refused, BadUrl)
            assert await road.store.find_queue("default", url) is None
            receipt = await road.send(url, 1)
            await road.webhooks.set(url, reject=[418])
            await road.run(until_idle=True)
            said = await road.explain(receipt.id)
            assert (said.state, said.level) == ("held", 0)
            assert [each.outcome for each in said.tries][:1] == ["unreachable"]
            with pytest.raises(BadUrl, match="cannot be called now"):  # also of a known queue
                await road.send(url, 2, check=True)
            answers[:] = ["169.254.169.254"]  # a forbidden address is refused at once, as before
            for other in ("http://other.example/", "http://third.example/"):
                with pytest.raises(BadUrl, match="metadata"):
                    await road.send(other, 1)
            answers[:] = ["127.0.0.1"]
            assert (await road.send(url, 3, check=True)).id
            await road.unblock(url)
            await road.lanes.unblock(said.lane or 0)
            await road.run(until_idle=True)
            assert (await road.explain(receipt.id)).state == "delivered"

    within(story())


def test_a_name_that_turns_bad_later_is_an_outcome_with_the_reason(
    tmp_path: Path, faults: dict[str, int], within: Within
) -> None:
    answers = ["127.0.0.1"]

    async def resolve(_name: str) -> list[str]:
        return answers

    road = road_that_resolves(tmp_path, resolve)

    async def story() -> None:
        async with road:
            url = f"http://hook.example:{faults['fine']}/"
            receipt = await road.send(url, 1)
            answers[:] = ["127.0.0.1", "169.254.169.254"]
            await road.run(until_idle=True)
            (one,) = await road.webhooks.attempts(receipt.id)
            assert (one.outcome, one.fault) == ("failed", "forbidden")
            assert "link-local" in one.error
            assert "169.254.169.254" not in one.error, "a customer learns no addresses"

    within(story())


def test_lanes_are_told_apart_by_server_credential_and_tenant(
    road: Postroad, receiver: Receiver, within: Within
) -> None:
    async def story() -> None:
        async with road:
            urls = [receiver.url(f"/status/200?{n}") for n in range(5)]
            for url, tenant in ((urls[0], "default"), (urls[1], "default"), (urls[2], "acme")):
                await road.send(url, 1, tenant=tenant)
            await road.webhooks.set(urls[3], headers={"Authorization": "Bearer one"})
            await road.webhooks.set(urls[4], headers={"Authorization": "Bearer one"})
            tenants = ["default", "default", "acme", "default", "default"]
            queues = [await road.store.find_queue(t, u) for t, u in zip(tenants, urls, strict=True)]
            lanes = [queue.lanes for queue in queues if queue]
            assert lanes[0] == lanes[1]
            assert lanes[3] == lanes[4]
            assert len({*lanes}) == 3

    within(story())


def test_the_guards_allow_list_is_printed_at_start(tmp_path: Path, within: Within) -> None:
    lines = io.StringIO()

    async def story(rules: WebhookRules) -> None:
        road = Postroad(
            f"sqlite:///{tmp_path}/road.db",
            settings=Settings(webhooks=rules),
            parts=Parts(log=make_log("info", lines)),
        )
        async with road:
            road.stop()
            await road.run()

    within(story(replace(LOCAL, deny=("8.8.8.0/24",))))
    told = lines.getvalue()
    assert 'event="webhook guard" allow="127.0.0.0/8, ::1/128" deny=8.8.8.0/24' in told
    assert 'schemes="http, https" ports=all' in told
    within(story(WebhookRules()))
    assert 'allow="no private or special network"' in lines.getvalue()
