"""Webhooks over HTTP: set, look, and read the log of tries."""

import asyncio
from base64 import b64encode
from pathlib import Path

import pytest

from postroad.config import Settings
from postroad.model.webhook import WebhookRules
from tests.api.stand import Stand, kind

SECRET = "whsec_" + b64encode(b"1" * 24).decode()
RULES = WebhookRules(allow=("127.0.0.0/8",), http=True, ports=())


@pytest.fixture
def stand(tmp_path: Path) -> Stand:
    return Stand(tmp_path, Settings(webhooks=RULES))


async def no(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A server that has a reason."""
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 410 Gone\r\ncontent-length: 7\r\nconnection: close\r\n\r\nno \xff.\r\n")
    writer.close()


async def test_a_webhook_is_set_shown_and_its_tries_read(stand: Stand) -> None:
    server = await asyncio.start_server(no, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/hook"
    told = {"url": url, "secrets": [SECRET], "headers": {"Authorization": "Bearer x"}, "timeout": 3}
    answer = await stand.say("PUT", "/v1/webhooks", told)
    assert answer.status == 200, answer.content
    assert SECRET.encode() not in answer.content
    await stand.say("PUT", "/v1/webhooks", {"url": url, "reject": [418]})
    shown = (await stand.say("GET", "/v1/webhooks", query={"url": url})).json()
    assert (shown["secrets"], shown["headers"]) == (1, ["authorization"])
    assert (shown["reject"], shown["timeout_ms"]) == ([418], 3_000)
    number = await stand.send(url)
    await stand.road.run(until_idle=True)
    (one,) = (await stand.say("GET", f"/v1/messages/{number}/attempts")).json()
    assert (one["number"], one["outcome"], one["status"]) == (1, "rejected", 410)
    assert (one["answer"], one["headers"]["authorization"]) == ("no �.\r\n", "…")
    server.close()


async def test_webhooks_are_listed_and_deleted(stand: Stand) -> None:
    urls = [f"http://127.0.0.1:9/{number}" for number in range(3)]
    for url in urls:
        told = {"url": url, "secrets": [SECRET], "headers": {"X-Key": "hush"}}
        assert (await stand.say("PUT", "/v1/webhooks", told)).status == 200
    first = await stand.say("GET", "/v1/webhooks", query={"limit": "2"})
    assert first.status == 200
    rest = await stand.say("GET", "/v1/webhooks", query={"after": first.json()["after"]})
    listed = first.json()["webhooks"] + rest.json()["webhooks"]
    assert [(one["url"], one["secrets"], one["headers"]) for one in listed] == [
        (url, 1, ["x-key"]) for url in urls
    ]
    assert not {b"hush", SECRET.encode()} & {*first.content.split(b'"')}
    assert (await stand.say("DELETE", "/v1/webhooks", query={"url": urls[0]})).status == 204
    left = (await stand.say("GET", "/v1/webhooks")).json()["webhooks"]
    assert [one["url"] for one in left] == urls[1:]
    again = await stand.say("DELETE", "/v1/webhooks", query={"url": urls[0]})
    assert (again.status, kind(again)) == (404, "unknown-queue")
    for limit in ("0", "501"):
        assert (await stand.say("GET", "/v1/webhooks", query={"limit": limit})).status == 400
    assert (await stand.say("DELETE", "/v1/webhooks")).status == 400


@pytest.mark.parametrize(
    "wrong",
    [
        {"secrets": ["short"]},
        {"reject": [200]},
        {"timeout": 0},
        {"headers": {"host": "x"}},
        {"headers": {"x": "a\r\nb: c"}},
        {"names": {"id": "webhook-x: y\r\nz", "timestamp": "a", "signature": "b"}},
        {"ladder": {"type": "steps", "retries": 1, "delays_ms": []}},
        {"ladder": {"type": "exponential", "retries": -1, "base_ms": 1}},
        {"unheard_of": 1},
        {"url": "ftp://127.0.0.1/"},
        {"url": "http://10.0.0.1/"},
    ],
)
async def test_what_cannot_be_set_is_refused(stand: Stand, wrong: dict[str, object]) -> None:
    answer = await stand.say("PUT", "/v1/webhooks", {"url": "http://127.0.0.1:9/", **wrong})
    assert answer.status in (400, 422), answer.content


async def test_what_nobody_knows_is_not_found(stand: Stand) -> None:
    asked = await stand.say("GET", "/v1/webhooks", query={"url": "http://127.0.0.1:9/never"})
    assert (asked.status, kind(asked)) == (404, "unknown-queue")
    asked = await stand.say("GET", "/v1/messages/msg_0000000000000/attempts")
    assert (asked.status, kind(asked)) == (404, "unknown-message")
    number = await stand.send("good")
    assert (await stand.say("GET", f"/v1/messages/{number}/attempts")).json() == []
