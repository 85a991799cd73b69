"""Users and passwords, tokens and client certificates of webhooks and endpoints: used, refused by
name where they cannot be, and shown nowhere."""

import asyncio
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from postroad import BasicAuth, BearerAuth, ClientTls, Postroad
from postroad.config import Settings
from postroad.model.errors import BadInput
from tests.api.stand import Stand as Api
from tests.api.stand import kind
from tests.cli.running import data, postroad
from tests.webhook.conftest import LOCAL
from tests.webhook_requests.authority import Authority
from tests.webhook_requests.conftest import ShiftedClock
from tests.webhook_requests.servers import Stand, serving, tls_server

OURS, THEIRS = Authority("ours"), Authority("theirs")
CERTIFICATE, KEY = OURS.certificate("the sender")
SHOWN = ClientTls(certificate=CERTIFICATE, key=KEY, ca=THEIRS.pem)


@pytest.fixture
def wanting(tmp_path: Path) -> Iterator[Stand]:
    """A receiver that wants a certificate, with one that only its own authority signed."""
    with serving(tls_server(tmp_path, THEIRS, OURS)) as made:
        yield made


async def held(road: Postroad, name: str) -> str:
    """Run until nothing is due; the reason why a queue waits then, if no server is blamed."""
    await road.run(until_idle=True)
    queue = await road.store.find_queue("default", name)
    assert queue is not None
    assert queue.block is not None, "nothing holds it"
    assert queue.block.kind == "setup"
    lanes = await road.inspect.lanes()
    assert all(not lane.circuit.is_open and not lane.circuit.strikes for lane in lanes.lanes)
    return queue.block.reason


async def test_a_password_and_a_token_are_sent_and_shown_nowhere(
    road: Postroad, stand: Stand
) -> None:
    await road.webhooks.set(f"{stand.url}/basic", auth=BasicAuth("ann", "hush hush hush"))
    made = await road.endpoints.create(f"{stand.url}/bearer", auth=BearerAuth("very-secret-token"))
    stand.answer = lambda got: (200, got.headers["authorization"].encode())
    sent = await road.send(f"{stand.url}/basic", 1)
    told = await road.publish("order.paid", {})
    await road.run(until_idle=True)
    basic = "Basic " + b64encode(b"ann:hush hush hush").decode()
    got = {one.path: one.headers["authorization"] for one in stand.got}
    assert got == {"/basic": basic, "/bearer": "Bearer very-secret-token"}
    facts = await road.webhooks.get(f"{stand.url}/basic")
    assert (facts.auth, made.auth) == ("basic", "bearer")
    tries = [await road.webhooks.attempts(number) for number in (sent.id, *told.messages)]
    listed = await road.webhooks.list(), await road.endpoints.list()
    for text in (repr((facts, made, tries, listed)), repr(BasicAuth("ann", "hush hush hush"))):
        assert "hush" not in text
        assert "very-secret" not in text
        assert b64encode(b"ann:hush hush hush").decode() not in text
    assert tries[0][0].headers["authorization"] == "…"


async def test_what_is_set_can_be_taken_away_again(road: Postroad, wanting: Stand) -> None:
    made = await road.endpoints.create(wanting.url, auth=BearerAuth("t"), tls=SHOWN)
    assert (made.auth, made.own_ca, made.certificate_ends_at_ms is None) == ("bearer", True, False)
    left = await road.endpoints.change(made.id, description="the rest stays")
    assert (left.auth, left.own_ca) == ("bearer", True)
    none = await road.endpoints.change(made.id, auth=None, tls=None)
    assert (none.auth, none.own_ca, none.certificate_ends_at_ms) == ("", False, None)


async def test_a_receiver_sees_our_certificate_and_we_trust_its_authority(
    road: Postroad, wanting: Stand
) -> None:
    await road.endpoints.create(wanting.url, tls=SHOWN)
    told = await road.publish("order.paid", {})
    await road.run(until_idle=True)
    assert (await road.explain(told.messages[0])).state == "delivered"
    assert [one.client for one in wanting.got] == ["the sender"]


async def test_a_refused_certificate_holds_its_queue_until_another_one_is_set(
    road: Postroad, wanting: Stand
) -> None:
    """And blames nobody: the server answers others of this lane."""
    made = await road.endpoints.create(wanting.url, tls=ClientTls(ca=THEIRS.pem))
    told = await road.publish("order.paid", {})
    assert "certificate" in await held(road, made.queue)
    (one,) = await road.webhooks.attempts(told.messages[0])
    assert (one.outcome, one.fault) == ("quota", "certificate")
    await road.endpoints.change(made.id, tls=SHOWN)
    await road.run(until_idle=True)
    assert (await road.explain(told.messages[0])).state == "delivered"


async def test_a_certificate_that_expires_later_holds_its_queue(
    road: Postroad, wanting: Stand, clock: ShiftedClock
) -> None:
    made = await road.endpoints.create(wanting.url, tls=SHOWN)
    clock.shift_s = 2 * 86_400.0
    await road.publish("order.paid", {})
    assert "client certificate has expired" in await held(road, made.queue)
    assert wanting.got == []


async def test_a_server_that_our_authority_did_not_sign_is_not_called(
    road: Postroad, wanting: Stand
) -> None:
    await road.endpoints.create(wanting.url, tls=ClientTls(CERTIFICATE, KEY, OURS.pem))
    told = await road.publish("order.paid", {})
    running = asyncio.create_task(road.run())
    while not (tries := await road.webhooks.attempts(told.messages[0])):
        await asyncio.sleep(0.02)
    road.stop()
    await running
    assert (tries[0].outcome, tries[0].fault) == ("unreachable", "tls")
    assert wanting.got == []


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no key": ({"tls": ClientTls(certificate=CERTIFICATE)}, "key is missing"),
    "no certificate": ({"tls": ClientTls(key=KEY)}, "certificate is missing"),
    "another's key": (
        {"tls": ClientTls(CERTIFICATE, OURS.certificate("another")[1])},
        "the key does not fit",
    ),
    "expired": ({"tls": ClientTls(*OURS.certificate("old", days=-1))}, "expired"),
    "expired authority": ({"tls": ClientTls(ca=OURS.certificate("old", days=-1)[0])}, "expired"),
    "no PEM": ({"tls": ClientTls("not PEM", KEY)}, "no certificate"),
    "no key in PEM": ({"tls": ClientTls(CERTIFICATE, CERTIFICATE)}, "the key is none"),
    "nothing": ({"tls": ClientTls()}, "tls is empty"),
    "too long": ({"tls": ClientTls(ca="x" * 20_000)}, "at most 16384"),
    "two headers": (
        {"auth": BearerAuth("t"), "headers": {"Authorization": "x"}},
        "give one of them",
    ),
    "line end": ({"auth": BearerAuth("t\r\nx: y")}, "cannot be sent"),
    "empty": ({"auth": BearerAuth("")}, "token is empty"),
}


async def test_certificates_for_connections_without_any_are_refused(
    road: Postroad, stand: Stand, wanting: Stand
) -> None:
    """They would never be used."""
    with pytest.raises(BadInput, match="no certificates at http://"):
        await road.endpoints.create(stand.url, tls=SHOWN)
    with pytest.raises(BadInput, match="no certificates at http://"):
        await road.webhooks.set(stand.url, tls=SHOWN)
    made = await road.endpoints.create(wanting.url, tls=SHOWN)
    with pytest.raises(BadInput, match="no certificates at http://"):
        await road.endpoints.change(made.id, url=stand.url)
    assert (await road.endpoints.get(made.id)).url == wanting.url
    moved = await road.endpoints.change(made.id, url=stand.url, tls=None)
    assert (moved.url, moved.own_ca) == (stand.url, False)


@pytest.mark.parametrize("given", BAD)
async def test_what_cannot_authorize_is_refused_by_name(
    road: Postroad, stand: Stand, given: str
) -> None:
    options, words = BAD[given]
    for setting in (road.endpoints.create, road.webhooks.set):
        with pytest.raises(BadInput, match=words):
            await setting(stand.url.replace("http://", "https://"), **options)
    assert (await road.endpoints.list()).endpoints == ()
    assert (await road.inspect.queues()).queues == ()


async def test_the_same_over_http(tmp_path: Path) -> None:
    async with Api(tmp_path, Settings(webhooks=LOCAL)) as api:
        url = "https://127.0.0.1:9/hook"
        tls = {"certificate": CERTIFICATE, "key": KEY}
        asked = {"url": url, "auth": {"type": "basic", "user": "a", "password": "hush"}, "tls": tls}
        made = await api.say("POST", "/v1/endpoints", asked)
        assert (made.status, made.json()["auth"]) == (201, "basic")
        assert "hush" not in str(made.json())
        assert "PRIVATE" not in str(made.json())
        path = f"/v1/endpoints/{made.json()['id']}"
        off = await api.say("PATCH", path, {"auth": None, "tls": None})
        assert (off.json()["auth"], off.json()["certificate_ends_at_ms"]) == ("", None)
        said = await api.say("PUT", "/v1/webhooks", {"url": url, "tls": {"certificate": "x"}})
        assert (said.status, kind(said)) == (400, "bad-input")
        assert (await api.say("GET", "/v1/webhooks")).json()["webhooks"] == []


async def _made(dsn: str) -> None:
    async with Postroad(dsn):
        pass


def test_the_same_by_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    files = {"auth": '{"type": "bearer", "token": "hush hush"}', "crt": CERTIFICATE, "key": KEY}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    shown = ("--certificate", "crt", "--certificate-key", "key")
    dsn = f"sqlite:///{tmp_path}/road.db"
    asyncio.run(_made(dsn))
    monkeypatch.setenv("POSTROAD_DSN", dsn)
    made = data("endpoint", "create", "https://8.8.8.8/hook", "--auth", "auth")
    told = postroad("endpoint", "set", made["id"], *shown)
    assert "bearer" in told.output
    assert "ours, until" in told.output
    assert "hush" not in told.output
    gone = data("endpoint", "set", made["id"], "--auth", "none", *shown[:1], "none")
    assert (gone["auth"], gone["certificate_ends_at_ms"]) == ("", None)
    names = data("endpoint", "set", made["id"], "--names", "svix-id,svix-timestamp,svix-signature")
    assert names["names"]["signature"] == "svix-signature"
    assert postroad("endpoint", "set", made["id"], "--names", "svix-id").exit_code == 2
    bad = postroad("endpoint", "set", made["id"], *shown[:2])
    assert bad.exit_code == 2
    assert "key is missing" in bad.output
