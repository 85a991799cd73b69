"""Who may ask what."""

import pytest

from postroad.api import in_process
from postroad.model.errors import BadInput
from postroad.model.tokens import Scope, identity_of
from tests.api.stand import Stand, kind

SOME = "/v1/messages/msg_0000000000000"


async def test_without_a_token_or_with_a_wrong_one_nothing_is_told(stand: Stand) -> None:
    number = await stand.send()
    good = stand.token
    wrong = [
        "",
        "x",
        good[:-1],
        good[:-1] + ("a" if good[-1] != "a" else "b"),
        good.replace("prt_", "PRT_"),
    ]
    for token in wrong:
        answer = await stand.say("GET", f"/v1/messages/{number}", token=token)
        assert (answer.status, kind(answer)) == (401, "unauthorized"), token
        assert answer.headers["www-authenticate"].startswith("Bearer")
        assert number.encode() not in answer.content
    basic = await stand.say("GET", SOME, token="", headers={"authorization": "Basic eDp5"})
    assert basic.status == 401


async def test_a_token_has_256_bits_a_check_sum_and_only_its_hash_is_stored(stand: Stand) -> None:
    new = await stand.road.tokens.make("a program", scopes=["send"])
    assert identity_of(new.secret) == new.token.id
    assert len(new.secret) == len("prt_") + 8 + 1 + 43 + 6
    mistyped = new.secret[:-10] + ("A" if new.secret[-10] != "A" else "B") + new.secret[-9:]
    assert identity_of(mistyped) is None
    found = await stand.road.store.token_find(new.token.id)
    assert found is not None
    assert new.secret.encode() not in found[1]
    path = stand.road.dsn.removeprefix("sqlite:///")
    for name in (path, f"{path}-wal"):
        with open(name, "rb") as file:  # noqa: ASYNC230, PTH123
            assert new.secret.split("_", 2)[2].encode() not in file.read()


@pytest.mark.parametrize("scope", Scope)
async def test_each_scope_opens_its_routes_and_no_others(stand: Stand, scope: Scope) -> None:
    number = await stand.send()
    token = (await stand.road.tokens.make("one", scopes=[scope])).secret
    needs = {
        ("POST", "/v1/messages"): Scope.send,
        ("GET", f"/v1/messages/{number}"): Scope.read,
        ("DELETE", f"/v1/messages/{number}"): Scope.manage,
    }
    for (method, path), needed in needs.items():
        data = {"queue": "good", "body": 1} if method == "POST" else None
        answer = await stand.say(method, path, data, token=token)
        assert (answer.status == 403) == (scope is not needed), (method, path)
        if scope is not needed:
            assert needed in answer.json()["detail"]


async def test_a_token_ends_when_it_expires_or_is_revoked(stand: Stand) -> None:
    road = stand.road
    short = await road.tokens.make("short", lasts_s=1)
    clock = road.store.clock
    until_ms = short.token.expires_at_ms
    assert until_ms is not None
    assert (await road.tokens.who(short.secret)) is not None
    while clock.now_ms() < until_ms:
        await clock.sleep(0.05)
    assert (await stand.say("GET", SOME, token=short.secret)).status == 401
    lasting = await road.tokens.make("lasting")
    assert (await stand.say("GET", SOME, token=lasting.secret)).status == 404
    await road.tokens.revoke(lasting.token.id)
    stand.context.access.forget()
    assert (await stand.say("GET", SOME, token=lasting.secret)).status == 401


async def test_wrong_tokens_are_throttled_and_known_ones_are_not(stand: Stand) -> None:
    assert (await stand.say("GET", SOME)).status == 404
    answers = [await stand.say("GET", SOME, token=f"guess-{n}") for n in range(12)]
    assert [answer.status for answer in answers] == [401] * 10 + [429] * 2
    assert answers[-1].headers["retry-after"] == "60"
    assert (await stand.say("GET", SOME)).status == 404
    new = (await stand.road.tokens.make("new")).secret
    assert (await stand.say("GET", SOME, token=new)).status == 429


async def test_wrong_tokens_from_many_addresses_of_one_machine_are_throttled(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine with IPv6 has 2^64 of them."""

    async def guess(n: int) -> int:
        monkeypatch.setattr(in_process, "IN_PROCESS", (f"2001:db8::{n:x}", 1))
        host = {"host": "localhost"}
        return (await stand.say("GET", SOME, token=f"guess-{n}", headers=host)).status

    assert [await guess(n) for n in range(12)] == [401] * 10 + [429] * 2


async def test_other_sites_pages_are_refused(stand: Stand) -> None:
    for origin, status in {"http://evil.example": 403, "null": 403, "http://inside": 404}.items():
        answer = await stand.say("GET", SOME, headers={"origin": origin})
        assert answer.status == status, origin
        assert "access-control-allow-origin" not in answer.headers


async def test_two_tenants_never_see_each_other(stand: Stand) -> None:
    tokens = {
        tenant: (await stand.road.tokens.make("t", tenant=tenant)).secret for tenant in ("a", "b")
    }
    ids = {tenant: await stand.send(token=token) for tenant, token in tokens.items()}
    for tenant, other in (("a", "b"), ("b", "a")):
        mine, theirs = ids[tenant], ids[other]
        assert (await stand.say("GET", f"/v1/messages/{mine}", token=tokens[tenant])).status == 200
        for method, path in (
            ("GET", f"/v1/messages/{theirs}"),
            ("GET", f"/v1/messages/{theirs}/explain"),
            ("DELETE", f"/v1/messages/{theirs}"),
        ):
            answer = await stand.say(method, path, token=tokens[tenant])
            assert (answer.status, kind(answer)) == (404, "unknown-message"), (method, path)
        cross = await stand.say(
            "GET",
            f"/v1/messages/{theirs}",
            token=tokens[tenant],
            headers={"postroad-tenant": other},
        )
        assert cross.status == 403
    everyone = await stand.say("GET", f"/v1/messages/{ids['a']}", headers={"postroad-tenant": "a"})
    assert everyone.status == 200


async def test_bad_tokens_are_not_made(stand: Stand) -> None:
    make = stand.road.tokens.make
    for bad in (
        make(""),
        make("x", scopes=[]),
        make("x", scopes=["root"]),
        make("x", tenant="a b"),
        make("x", tenant=""),
        make("x", lasts_s=0),
    ):
        with pytest.raises(BadInput):
            await bad
