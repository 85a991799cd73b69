"""Clients of OAuth 2 servers: one token for all who wait, renewed in time, and nobody blamed when
there is none."""

import asyncio
from pathlib import Path

import pytest
from msgspec.structs import replace

from postroad import OAuthClient, Postroad
from postroad.config import Settings
from postroad.model.errors import BadInput, BadUrl
from postroad.transports.webhook import tokens as module
from tests.webhook.conftest import LOCAL
from tests.webhook_requests.conftest import ShiftedClock
from tests.webhook_requests.servers import Got, Stand, TokenServer
from tests.webhook_requests.test_access import held


def client(tokens: TokenServer, secret: str = "hush hush hush", **more: object) -> OAuthClient:
    return OAuthClient(f"{tokens.stand.url}/token", "ours", secret, **more)  # type: ignore[arg-type]


def bearers(stand: Stand) -> list[str]:
    return [one.headers["authorization"] for one in stand.got]


@pytest.mark.parametrize("in_body", [False, True])
async def test_one_token_serves_all_messages(
    road: Postroad,
    stand: Stand,
    tokens: TokenServer,
    in_body: bool,  # noqa: FBT001
) -> None:
    auth = client(tokens, in_body=in_body, scope="hooks")
    made = await road.endpoints.create(stand.url, auth=auth)
    assert made.auth == "oauth"
    told = [await road.publish("order.paid", {"n": number}) for number in range(20)]
    await road.run(until_idle=True)
    assert bearers(stand) == ["Bearer token-1"] * 20
    assert tokens.given == 1
    assert b"scope=hooks" in tokens.stand.got[0].body
    (one,) = await road.webhooks.attempts(told[0].messages[0])
    assert one.headers["authorization"] == "…"


async def test_those_who_wait_for_a_token_share_one_request(
    road: Postroad, stand: Stand, tokens: TokenServer
) -> None:
    """Two queues, twenty messages, none of them with a token yet."""
    for path in ("a", "b"):
        await road.endpoints.create(f"{stand.url}/{path}", auth=client(tokens))
    asked = tokens.given  # one for each that was made: it is checked
    for number in range(10):
        await road.publish("order.paid", {"n": number})
    cache = road._transports["webhook"].tokens  # type: ignore[attr-defined]
    cache._tokens.clear()
    await road.run(until_idle=True)
    assert (len(stand.got), tokens.given) == (20, asked + 1)


async def test_a_token_is_renewed_before_its_end(
    road: Postroad, stand: Stand, tokens: TokenServer, clock: ShiftedClock
) -> None:
    await road.webhooks.set(stand.url, auth=client(tokens))
    for shift_s in (0.0, tokens.lasts_s - 70.0, tokens.lasts_s - 50.0):
        clock.shift_s = shift_s
        await road.send(stand.url, 1)
        await road.run(until_idle=True)
    assert bearers(stand) == ["Bearer token-1", "Bearer token-1", "Bearer token-2"]


async def test_a_refused_token_is_renewed_once_and_sent_in_the_same_try(
    road: Postroad, stand: Stand, tokens: TokenServer, clock: ShiftedClock
) -> None:
    await road.webhooks.set(stand.url, auth=client(tokens))
    stand.answer = lambda got: (
        200 if got.headers["authorization"] == "Bearer token-2" else 401,
        b"",
    )
    clock.shift_s = module.YOUNG_S + 1
    sent = await road.send(stand.url, 1)
    await road.run(until_idle=True)
    assert (await road.explain(sent.id)).state == "delivered"
    assert bearers(stand) == ["Bearer token-1", "Bearer token-2"]
    assert len(await road.webhooks.attempts(sent.id)) == 1


async def test_a_receiver_that_refuses_every_token_does_not_wear_out_the_token_server(
    road: Postroad, stand: Stand, tokens: TokenServer
) -> None:
    await road.webhooks.set(stand.url, auth=client(tokens))
    stand.answer = lambda _: (401, b"no")
    for number in range(10):
        await road.send(stand.url, number)
    await road.run(until_idle=True)
    assert (len(stand.got), tokens.given) == (10, 1)


async def test_a_wrong_client_is_refused_by_name_and_nothing_is_stored(
    road: Postroad, stand: Stand, tokens: TokenServer
) -> None:
    wrong = client(tokens, "another secret")
    for setting in (road.endpoints.create, road.webhooks.set):
        with pytest.raises(BadInput, match="refuses the client: it answers 401: invalid") as told:
            await setting(stand.url, auth=wrong)
        assert "another" not in str(told.value)
    assert (await road.endpoints.list()).endpoints == ()
    assert await road.store.find_queue("default", stand.url) is None


async def test_a_client_that_expires_holds_its_queue_and_blames_nobody(
    road: Postroad, stand: Stand, tokens: TokenServer, clock: ShiftedClock
) -> None:
    made = await road.endpoints.create(stand.url, auth=client(tokens))
    tokens.secret, clock.shift_s = "the next secret", tokens.lasts_s
    told = await road.publish("order.paid", {})
    reason = await held(road, made.queue)
    assert "refuses the client" in reason
    assert "hush" not in reason
    (one,) = await road.webhooks.attempts(told.messages[0])
    assert (one.outcome, one.fault, stand.got) == ("quota", "token", [])
    await road.endpoints.change(made.id, auth=client(tokens, "the next secret"))
    await road.run(until_idle=True)
    assert (await road.explain(told.messages[0])).state == "delivered"


@pytest.mark.parametrize("status", [500, 302])
async def test_a_token_server_that_is_away_is_no_mistake_and_holds(
    road: Postroad, stand: Stand, tokens: TokenServer, status: int
) -> None:
    tokens.status = status
    made = await road.endpoints.create(stand.url, auth=client(tokens))
    await road.publish("order.paid", {})
    assert f"it answers {status}" in await held(road, made.queue)


async def test_the_guard_vets_token_servers(stand: Stand, tmp_path: Path) -> None:
    rules = replace(LOCAL, allow=("127.0.0.0/9",))
    elsewhere = OAuthClient("http://127.200.0.1:9/token", "ours", "hush")
    async with Postroad(f"sqlite:///{tmp_path}/r.db", settings=Settings(webhooks=rules)) as road:
        with pytest.raises(BadUrl, match="loopback"):
            await road.endpoints.create(stand.url, auth=elsewhere)
        with pytest.raises(BadUrl, match="user or password"):
            await road.endpoints.create(
                stand.url, auth=OAuthClient("http://a:b@127.0.0.1/", "ours", "hush")
            )
        assert (await road.endpoints.list()).endpoints == ()


ANSWERS = {
    "no JSON": b"<html>",
    "no token": b"{}",
    "a line end": b'{"access_token": "a\\r\\nb: c"}',
    "another type": b'{"access_token": "a", "token_type": "mac"}',
    "a number": b'{"access_token": 7}',
    "too long": b'{"access_token": "' + b"x" * 40_000 + b'"}',
    "deep": b'{"a":' * 10_000,
}


@pytest.mark.parametrize("said", ANSWERS)
async def test_an_answer_without_a_usable_token_holds(
    road: Postroad, stand: Stand, tokens: TokenServer, said: str
) -> None:
    tokens.stand.answer = lambda _: (200, ANSWERS[said])
    await road.webhooks.set(stand.url, auth=client(tokens))
    await road.send(stand.url, 1)
    assert "no token from" in await held(road, stand.url)
    assert stand.got == []


async def test_two_tenants_do_not_share_a_token(
    road: Postroad, stand: Stand, tokens: TokenServer
) -> None:
    for tenant in ("a", "b"):
        await road.webhooks.set(stand.url, auth=client(tokens), tenant=tenant)
        await road.send(stand.url, 1, tenant=tenant)
    await road.run(until_idle=True)
    assert sorted(bearers(stand)) == ["Bearer token-1", "Bearer token-2"]


async def test_a_slow_token_server_does_not_make_the_outcome_unknown(
    road: Postroad,
    stand: Stand,
    tokens: TokenServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is waited for a while, and the message stays: it was certainly not sent."""
    await road.webhooks.set(stand.url, auth=client(tokens))
    monkeypatch.setattr(module, "WAIT_S", 0.05)
    done, real = asyncio.Event(), tokens.stand.answer
    loop = asyncio.get_running_loop()

    def slow(got: Got) -> tuple[int, bytes]:
        asyncio.run_coroutine_threadsafe(done.wait(), loop).result(30)
        return real(got)

    tokens.stand.answer = slow
    road._transports["webhook"].tokens._tokens.clear()  # type: ignore[attr-defined]
    await road.send(stand.url, 1)
    assert "no answer in time" in await held(road, stand.url)
    done.set()
