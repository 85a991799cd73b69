"""The dead set, queues, lanes, levels, statistics and tokens over HTTP."""

import io

import pytest

from postroad.api.app import Application
from postroad.api.context import Context
from postroad.hub.pump import Hub
from postroad.model.errors import StoreUnavailable
from postroad.model.mailbox import HubLimits
from postroad.observe.log import make_log
from tests.api.stand import Stand, fields, kind


async def died(stand: Stand, count: int, **options: str) -> list[str]:
    ids = [await stand.send("bad", number, **options) for number in range(count)]
    await stand.road.run(until_idle=True)
    return ids


async def test_the_dead_are_listed_in_pages_shown_replayed_and_purged(stand: Stand) -> None:
    ids = await died(stand, 3)
    query = {"limit": 2, "reason": "rejected"}
    page = (await stand.say("GET", "/v1/dead", query=query)).json()
    rest = (await stand.say("GET", "/v1/dead", query=query | {"after": page["after"]})).json()
    assert {row["id"] for row in page["messages"] + rest["messages"]} == set(ids)
    assert rest["after"] == ""
    letter = (await stand.say("GET", f"/v1/dead/{ids[0]}")).json()
    assert (letter["body"], letter["message"]["reason"]) == (0, "rejected")
    assert letter["tries"][0]["error"] == "never: 0"
    dry = await stand.say("POST", "/v1/dead:replay", {"queue": "bad", "dry_run": True})
    assert dry.json() == {"count": 3, "dry_run": True}
    again = await stand.say("POST", "/v1/dead:replay", {"ids": ids[:1], "mode": "reset"})
    assert again.json() == {"count": 1, "dry_run": False}
    twice = await stand.say("POST", "/v1/dead:replay", {"ids": ids[:1]})
    assert (twice.status, kind(twice)) == (409, "not-dead")
    gone = await stand.say("POST", "/v1/dead:purge", {"reason": "rejected"})
    assert gone.json()["count"] == 2
    assert (await stand.say("GET", f"/v1/dead/{ids[1]}")).status == 404


async def test_a_body_that_is_not_json_is_shown_in_base64(stand: Stand) -> None:
    data = {"queue": "bad", "body_base64": "AP8="}
    number = (await stand.say("POST", "/v1/messages", data)).json()["id"]
    await stand.road.run(until_idle=True)
    letter = (await stand.say("GET", f"/v1/dead/{number}")).json()
    assert (letter["body"], letter["body_base64"]) == (None, "AP8=")


async def test_bad_questions_about_the_dead_name_the_field(stand: Stand) -> None:
    for query, field in (
        ({"limit": 0}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"reason": "boredom"}, "reason"),
        ({"since": "yesterday"}, "since"),
        ({"quue": "x"}, "quue"),
    ):
        answer = await stand.say("GET", "/v1/dead", query=query)
        assert (answer.status, fields(answer)) == (400, [field]), query
    for after in ("x", "zz.msg_0000000000000", "1.2", "-1.msg_0000000000000"):
        answer = await stand.say("GET", "/v1/dead", query={"after": after})
        assert (answer.status, kind(answer)) == (400, "bad-cursor"), after
        assert "cursor" in answer.json()["detail"]
    for data in ({}, {"ids": ["x"]}, {"count": 0}, {"ids": [], "queue": "bad"}, {"mode": "all"}):
        answer = await stand.say("POST", "/v1/dead:replay", data)
        assert 400 <= answer.status < 500, data
        assert answer.headers["content-type"] == "application/problem+json"


async def test_queues_are_listed_explained_paused_resumed_and_unblocked(stand: Stand) -> None:
    await stand.send()
    page = (await stand.say("GET", "/v1/queues", query={"limit": 1})).json()
    assert page["queues"][0]["queue"] == "bad"
    rest = (await stand.say("GET", "/v1/queues", query={"after": page["after"]})).json()
    assert [row["queue"] for row in rest["queues"]] == ["doubtful", "good"]
    assert rest["queues"][1]["waiting"] == 1
    for verb, paused in (("pause", True), ("unblock", True), ("resume", False)):
        answer = await stand.say("POST", f"/v1/queues:{verb}", {"queue": "good"})
        assert answer.json()["queue"] == "good"
        said = (await stand.say("GET", "/v1/queues:explain", query={"queue": "good"})).json()
        assert said["paused"] is paused
        unknown = await stand.say("POST", f"/v1/queues:{verb}", {"queue": "nope"})
        assert (unknown.status, kind(unknown)) == (404, "unknown-queue")
    none = await stand.say("GET", "/v1/queues:explain")
    assert none.status == 400


async def test_lanes_are_listed_explained_paused_resumed_and_unblocked(stand: Stand) -> None:
    await stand.send()
    page = (await stand.say("GET", "/v1/lanes")).json()
    assert len(page["lanes"]) == 48
    number = next(row["id"] for row in page["lanes"] if row["waiting"])
    for verb, paused in (("pause", True), ("unblock", True), ("resume", False)):
        answer = await stand.say("POST", f"/v1/lanes:{verb}", {"lane": number})
        assert answer.json()["lane"] == number
        said = (await stand.say("GET", "/v1/lanes:explain", query={"lane": number})).json()
        assert said["paused"] is paused
        unknown = await stand.say("POST", f"/v1/lanes:{verb}", {"lane": 99_999})
        assert (unknown.status, kind(unknown)) == (404, "unknown-lane")
    assert (await stand.say("GET", "/v1/lanes", query={"after": "x"})).status == 400


async def test_queues_and_lanes_are_limited(stand: Stand) -> None:
    await stand.send()
    number = (await stand.say("GET", "/v1/lanes")).json()["lanes"][0]["id"]
    for which in ({"queue": "good"}, {"lane": number}):
        (noun,) = which
        limited = await stand.say("POST", f"/v1/{noun}s:limit", {**which, "rate": "50/s,9/h"})
        assert (limited.status, limited.json()["done"]) == (200, "limited")
        for bad in ({"rate": "fast"}, {"rate": "0/s"}, {}, {"rate": "5/s", "cost": 9}):
            refused = await stand.say("POST", f"/v1/{noun}s:limit", {**which, **bad})
            assert 400 <= refused.status < 500, bad
    said = (await stand.say("GET", "/v1/queues:explain", query={"queue": "good"})).json()
    assert [limit["limit"] for limit in said["limits"]][-1] == "50/s,9/h"
    await stand.say("POST", "/v1/queues:limit", {"queue": "good", "rate": None})
    said = (await stand.say("GET", "/v1/queues:explain", query={"queue": "good"})).json()
    assert [limit["limit"] for limit in said["limits"] if not limit["shared"]] == []
    unknown = await stand.say("POST", "/v1/lanes:limit", {"lane": 99_999, "rate": "5/s"})
    assert (unknown.status, kind(unknown)) == (404, "unknown-lane")


async def test_an_uncertain_message_is_settled_and_no_other(stand: Stand) -> None:
    number = await stand.send("doubtful")
    await stand.road.run(until_idle=True)
    path = f"/v1/messages/{number}"
    assert (await stand.say("GET", path)).json()["state"] == "uncertain"
    odd = await stand.say("POST", f"{path}/settle", {"outcome": "maybe"})
    assert (odd.status, fields(odd)) == (400, ["outcome"])
    settled = await stand.say("POST", f"{path}/settle", {"outcome": "sent"})
    assert settled.json()["state"] == "delivered"
    again = await stand.say("POST", f"{path}/settle", {"outcome": "sent"})
    assert (again.status, kind(again)) == (409, "not-uncertain")


async def test_all_of_a_queue_are_cancelled_and_never_everything_by_leaving_something_out(
    stand: Stand,
) -> None:
    for _ in range(3):
        await stand.send()
    other = await stand.send("bad")
    nothing = await stand.say("POST", "/v1/messages:cancel", {})
    assert (nothing.status, fields(nothing)) == (400, ["queue"])
    said = await stand.say("POST", "/v1/messages:cancel", {"queue": "good"})
    assert said.json() == {"cancelled": 3, "sending": 0, "pending": 0, "final": 0}
    assert (await stand.say("GET", f"/v1/messages/{other}")).json()["state"] == "waiting"


async def test_levels_and_statistics_count_what_there_is(stand: Stand) -> None:
    await died(stand, 2)
    await stand.send()
    await stand.send()
    await stand.say("POST", "/v1/queues:pause", {"queue": "good"})
    levels = (await stand.say("GET", "/v1/levels")).json()
    assert [row["level"] for row in levels] == list(range(7))
    assert (levels[0]["waiting"], levels[0]["held"]) == (0, 2)
    assert sum(row["queries_per_hour_polling"] for row in levels) == 889
    said = (await stand.say("GET", "/v1/stats")).json()
    assert (said["waiting"], said["held"], said["dead"]) == (0, 2, {"rejected": 2})
    assert said["paused_queues"] == 1
    assert said["queries"]["accept"] > 0


async def test_tokens_are_made_listed_and_revoked_and_nobody_gives_what_they_lack(
    stand: Stand,
) -> None:
    made = await stand.say("POST", "/v1/tokens", {"name": "ops", "scopes": ["admin", "read"]})
    assert made.status == 201
    token, secret = made.json()["token"], made.json()["secret"]
    assert secret.startswith("prt_")
    assert token["tenant"] == "default"
    shown = await stand.say("GET", "/v1/tokens", token=secret)
    assert [row["id"] for row in shown.json()] == [token["id"]]
    assert secret.encode() not in shown.content
    more = await stand.say("POST", "/v1/tokens", {"name": "x"}, token=secret)
    assert (more.status, kind(more)) == (403, "forbidden")
    data = {"name": "x", "tenant": "other", "scopes": ["read"]}
    assert (await stand.say("POST", "/v1/tokens", data, token=secret)).status == 403
    data = {"name": "x", "tenant": "*", "scopes": ["read"]}
    assert (await stand.say("POST", "/v1/tokens", data, token=secret)).status == 403
    assert (await stand.say("DELETE", f"/v1/tokens/{token['id']}")).status == 204
    assert (await stand.say("GET", "/v1/tokens", token=secret)).status == 401
    assert (await stand.say("DELETE", f"/v1/tokens/{token['id']}")).status == 404
    for bad, field in (
        ({}, "name"),
        ({"name": "x", "scopes": ["root"]}, "scopes[0]"),
        ({"name": "x", "scopes": []}, "scopes"),
        ({"name": "x", "lasts_s": 0}, "lasts_s"),
    ):
        answer = await stand.say("POST", "/v1/tokens", bad)
        assert (answer.status, fields(answer)) == (400, [field]), bad


@pytest.mark.parametrize("mine", ["a", "b"])
async def test_no_route_shows_or_changes_anything_of_another_tenant(
    stand: Stand, mine: str
) -> None:
    """Every route of the table, with the other tenant's ids, queue and lanes."""
    other = "b" if mine == "a" else "a"
    tokens = {
        tenant: (await stand.road.tokens.make("t", tenant=tenant)).secret for tenant in ("a", "b")
    }
    dead = {tenant: (await died(stand, 1, token=token))[0] for tenant, token in tokens.items()}
    live = {tenant: await stand.send(token=token) for tenant, token in tokens.items()}
    for token in tokens.values():
        await stand.say("POST", "/v1/queues:pause", {"queue": "good"}, token=token)
    lanes = (await stand.say("GET", "/v1/lanes", token=tokens[other])).json()["lanes"]
    before = [
        (await stand.say("GET", path, token=tokens[other])).json()
        for path in ("/v1/dead", "/v1/queues", f"/v1/messages/{live[other]}", "/v1/tokens")
    ]
    for method, path, data, query in (
        ("GET", f"/v1/messages/{live[other]}", None, {}),
        ("GET", f"/v1/messages/{live[other]}/explain", None, {}),
        ("DELETE", f"/v1/messages/{live[other]}", None, {}),
        ("GET", f"/v1/dead/{dead[other]}", None, {}),
        ("POST", "/v1/dead:replay", {"ids": [dead[other]]}, {}),
        ("POST", "/v1/dead:purge", {"ids": [dead[other]]}, {}),
        ("GET", "/v1/lanes:explain", None, {"lane": lanes[0]["id"]}),
        ("POST", "/v1/lanes:pause", {"lane": lanes[0]["id"]}, {}),
        ("POST", "/v1/lanes:resume", {"lane": lanes[0]["id"]}, {}),
        ("POST", "/v1/lanes:unblock", {"lane": lanes[0]["id"]}, {}),
        ("POST", "/v1/lanes:limit", {"lane": lanes[0]["id"], "rate": "1/h"}, {}),
        ("POST", f"/v1/messages/{live[other]}/settle", {"outcome": "sent"}, {}),
        ("DELETE", f"/v1/tokens/{before[3][0]['id']}", None, {}),
    ):
        answer = await stand.say(method, path, data, query=query, token=tokens[mine])
        assert answer.status == 404, (method, path, answer.content)
    for path in ("/v1/dead", "/v1/queues", "/v1/lanes", "/v1/tokens", "/v1/stats", "/v1/levels"):
        text = (await stand.say("GET", path, token=tokens[mine])).content.decode()
        for secret in (live[other], dead[other], f'"tenant":"{other}"'):
            assert secret not in text, path
    purged = await stand.say("POST", "/v1/dead:purge", {"reason": "rejected"}, token=tokens[mine])
    assert purged.json()["count"] == 1
    assert (
        await stand.say("POST", "/v1/queues:resume", {"queue": "good"}, token=tokens[mine])
    ).status == 200
    after = [
        (await stand.say("GET", path, token=tokens[other])).json()
        for path in ("/v1/dead", "/v1/queues", f"/v1/messages/{live[other]}", "/v1/tokens")
    ]
    assert after == before
    stats = (await stand.say("GET", "/v1/stats", token=tokens[other])).json()
    assert (stats["held"], stats["dead"]) == (1, {"rejected": 1})


async def test_counts_of_other_tenants_are_not_shown_to_the_token_of_one(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(stand.road.store), "queries", property(lambda _: {"level 0": 7}))
    clock, limits = stand.road.store.clock, HubLimits()
    stand.road.mailboxes.hub = Hub(stand.road.store, clock, stand.road.log, limits)  # type: ignore[arg-type]
    one = (await stand.road.tokens.make("one", tenant="acme")).secret
    refused = await stand.say("GET", "/v1/hub", token=one)
    assert (refused.status, kind(refused)) == (403, "forbidden")
    assert "/v1/mailboxes" in refused.json()["detail"]
    assert (await stand.say("GET", "/v1/mailboxes", token=one)).status == 200
    assert (await stand.say("GET", "/v1/stats", token=one)).json()["queries"] == {}
    rows = (await stand.say("GET", "/v1/levels", token=one)).json()
    assert {row["queries"] for row in rows} == {0}
    # Whoever speaks for every tenant sees the process as it is.
    assert (await stand.say("GET", "/v1/hub")).json()["clients"] == 0
    assert (await stand.say("GET", "/v1/stats")).json()["queries"] == {"level 0": 7}
    assert (await stand.say("GET", "/v1/levels")).json()[0]["queries"] == 7


async def test_a_store_that_is_away_is_told_in_the_log_also_where_nothing_is_delivered(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process with the API alone said nothing: its requests were answered with 503."""
    lines = io.StringIO()
    stand.app = Application(Context(stand.road, stand.settings, make_log("info", lines)))

    async def away(*_: object) -> None:
        raise StoreUnavailable("it does not answer")

    with monkeypatch.context() as patched:
        patched.setattr(stand.road.store, "queue_page", away)
        for _ in range(3):
            assert (await stand.say("GET", "/v1/queues")).status == 503
        await stand.say("GET", "/v1/openapi.json")  # needs no store: tells nothing of it
    assert (await stand.say("GET", "/v1/queues")).status == 200
    away_line, back_line = lines.getvalue().splitlines()
    assert 'event="the store is away" could_not="answer GET /v1/queues"' in away_line
    assert 'event="the store is back"' in back_line
    assert "failures=3" in back_line
    await stand.say("GET", "/v1/hub")  # no hub is here: that is no fault of the store
    assert len(lines.getvalue().splitlines()) == 2
