"""Who changed what is written down, before and after."""

import asyncio
from typing import Any

import msgspec
import pytest

from postroad.api import audit as trail
from postroad.api.app import ROUTES
from postroad.api.audit import NAMED, Refusals, told
from postroad.model.audit import AuditOutcome
from postroad.model.errors import StoreUnavailable
from tests.api.stand import Stand, kind

SECRET = "s3cret-" + "x" * 20


async def lines(stand: Stand, **query: Any) -> list[dict[str, Any]]:
    answer = await stand.say("GET", "/v1/audit", query=query)
    assert answer.status == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["lines"]
    return found


async def test_a_change_leaves_a_line_with_who_what_and_outcome(stand: Stand) -> None:
    await stand.say("POST", "/v1/queues:pause", {"queue": "good"})
    (line,) = await lines(stand)
    assert (line["verb"], line["what"]) == ("pause_queue", {"queue": "good"})
    assert (line["outcome"], line["status"], line["tenant"]) == ("done", 200, "default")
    assert (line["actor"], line["name"]) == (stand.token.split("_")[1], "test")
    assert line["ended_at_ms"] >= line["at_ms"] > 0


async def test_a_change_that_is_refused_or_fails_says_so(stand: Stand) -> None:
    await stand.say("POST", "/v1/queues:pause", {"queue": "unknown"})
    await stand.say("DELETE", "/v1/messages/msg_0000000000000")
    assert [(line["verb"], line["outcome"], line["status"]) for line in await lines(stand)] == [
        ("cancel", "refused", 404),
        ("pause_queue", "refused", 404),
    ]


async def test_counts_are_noted_for_answers_in_one_piece_and_in_steps(stand: Stand) -> None:
    for _ in range(3):
        await stand.send("bad")
    await stand.road.run(until_idle=True)
    await stand.say("POST", "/v1/dead:purge", {"queue": "bad", "dry_run": True})
    assert await lines(stand) == []  # nothing is changed by counting
    await stand.say("POST", "/v1/dead:purge", {"queue": "bad", "count": 1})
    steps = {"accept": "application/x-ndjson"}
    await stand.say("POST", "/v1/dead:replay", {"queue": "bad"}, headers=steps)
    first, second = reversed(await lines(stand))
    assert (first["verb"], first["count"], first["what"]) == (
        "dead_purge",
        1,
        {"count": "1", "queue": "bad"},
    )
    assert (second["verb"], second["count"], second["outcome"]) == ("dead_replay", 2, "done")


async def test_a_line_shows_what_was_given_and_nothing_of_what_was_not(stand: Stand) -> None:
    times = {"name": "nightly", "queue": "good", "body": 1, "cron": "0 3 * * *"}
    assert (await stand.say("POST", "/v1/timetables", times)).status == 201
    other = {"every_s": 60, "missed": "skip"}
    assert (await stand.say("PATCH", "/v1/timetables/nightly", other)).status == 200
    changed, made = await lines(stand)
    assert made["what"] == {"name": "nightly", "queue": "good", "cron": "0 3 * * *"}
    assert changed["what"] == {"name": "nightly", "every_s": "60.0", "missed": "skip"}


async def test_the_line_is_there_before_the_change(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    async def pause(_queue: str, **_: Any) -> None:
        begun.set()
        await go_on.wait()

    monkeypatch.setattr(stand.road, "pause", pause)
    asked = asyncio.ensure_future(stand.say("POST", "/v1/queues:pause", {"queue": "good"}))
    await begun.wait()
    (line,) = await lines(stand)
    assert (line["outcome"], line["ended_at_ms"]) == ("asked", None)
    go_on.set()
    await asked
    assert [line["outcome"] for line in await lines(stand)] == ["done"]


async def test_without_a_line_nothing_is_changed(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def away(_line: object) -> int:
        raise StoreUnavailable("the store is away")

    monkeypatch.setattr(stand.road.store, "audit_add", away)
    answer = await stand.say("POST", "/v1/queues:pause", {"queue": "good"})
    assert answer.status == 503
    explained = await stand.road.explain_queue("good")
    assert not explained.paused


async def test_reading_and_sending_leave_no_lines(stand: Stand) -> None:
    await stand.send()
    await stand.say("POST", "/v1/messages:batch", b'{"queue": "good", "body": 1}')
    await stand.say("GET", "/v1/queues")
    assert await lines(stand) == []


async def test_every_route_that_changes_something_is_audited() -> None:
    plain = {route.path for route in ROUTES if route.method != "GET" and not route.changes}
    callbacks = {"/v1/callbacks/{key}", "/v1/callbacks/{owner}/{name}"}
    acks = {"/v1/endpoints/{id}/ack"}
    people = {"/v1/sessions", "/v1/portal-sessions", "/v1/logout"}  # write lines of their own
    sends = {"/v1/batches", "/v1/messages", "/v1/messages:batch", "/v1/events"}
    assert plain == {*sends, *acks, *callbacks, *people, "/unsubscribe"}


async def test_secrets_and_bodies_are_in_no_line(stand: Stand) -> None:
    url = f"https://user:{SECRET}@198.51.100.1/hook?token={SECRET}"
    await stand.say("PUT", "/v1/webhooks", {"url": url, "secrets": [SECRET]})
    good = {"url": f"https://198.51.100.1/hook?token={SECRET}", "headers": {"x-key": SECRET}}
    await stand.say("PUT", "/v1/webhooks", good)
    await stand.say("POST", "/v1/tokens", {"name": "one"})
    found = await lines(stand)
    assert len(found) >= 2
    assert SECRET not in msgspec.json.encode(found).decode()
    made = next(line for line in found if line["verb"] == "token_make")
    assert made["what"]["name"] == "one"
    assert len(made["what"]["token"]) == 8


async def test_what_a_line_shows_is_named_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"queue": "q" * 5_000, "ids": ["a"] * 50, "template": SECRET, "name": "a\0b"}
    shown = told(given)
    assert set(shown) == {"queue", "ids", "name"}
    assert len(shown["queue"]) == 200
    assert shown["ids"].endswith("and 40 more")
    assert "\0" not in shown["name"]
    monkeypatch.setattr(trail, "NAMED", NAMED | {"template"})  # the list is what keeps it out
    assert told(given)["template"] == SECRET


async def test_a_known_caller_without_the_right_leaves_a_line_and_a_stranger_none(
    stand: Stand,
) -> None:
    reader = (await stand.road.tokens.make("reader", role="read")).secret
    refused = await stand.say("POST", "/v1/queues:pause", {"queue": "good"}, token=reader)
    assert (refused.status, kind(refused)) == (403, "forbidden")
    for token in ("", "prt_wrong"):
        assert (await stand.say("POST", "/v1/queues:pause", {}, token=token)).status == 401
    (line,) = await lines(stand)
    assert (line["name"], line["outcome"], line["status"]) == ("reader", "refused", 403)


async def test_refusals_of_one_token_cannot_fill_the_log(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = (await stand.road.tokens.make("reader", role="read")).secret
    for _ in range(25):
        await stand.say("POST", "/v1/lanes:pause", {"lane": 1}, token=reader)
    assert len(await lines(stand)) == 10
    monkeypatch.setattr(trail, "REFUSED_MAX", 1_000)  # the guard is what stops them
    for _ in range(5):
        await stand.say("POST", "/v1/lanes:pause", {"lane": 1}, token=reader)
    assert len(await lines(stand)) == 15


def test_the_next_line_says_how_many_were_left_out() -> None:
    refusals = Refusals()
    assert [refusals.count("t", 0.0) for _ in range(12)] == [0] * 10 + [None, None]
    assert refusals.count("other", 0.0) == 0
    assert refusals.count("t", 61.0) == 2
    assert refusals.count("t", 61.0) == 0


async def test_lines_are_found_by_actor_verb_and_time_page_by_page(stand: Stand) -> None:
    for _ in range(3):
        await stand.say("POST", "/v1/queues:pause", {"queue": "good"})
        await stand.say("POST", "/v1/queues:resume", {"queue": "good"})
    assert len(await lines(stand, verb="pause_queue")) == 3
    assert len(await lines(stand, actor=stand.token.split("_")[1])) == 6
    assert await lines(stand, actor="local") == []
    assert await lines(stand, since="2999-01-01T00:00:00Z") == []
    assert len(await lines(stand, until="2999-01-01T00:00:00Z")) == 6
    seen, after = [], ""
    while True:
        page = (await stand.say("GET", "/v1/audit", query={"limit": 4, "after": after})).json()
        seen += [line["id"] for line in page["lines"]]
        after = page["after"]
        if not after:
            break
    assert seen == sorted(seen, reverse=True)
    assert len(set(seen)) == 6
    exported = b"".join([piece async for piece in stand.road.audit.export(tenant="default")])
    assert [msgspec.json.decode(line)["id"] for line in exported.splitlines()] == seen


async def test_bad_filters_say_what_to_do(stand: Stand) -> None:
    for query in (
        {"after": "nonsense"},
        {"after": "1-" + "9" * 40},
        {"limit": 0},
        {"what": "x"},
        {"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"},
        {"since": "2026-01-02T00:00:00"},
    ):
        answer = await stand.say("GET", "/v1/audit", query=query)
        assert answer.status == 400, query


async def test_a_tenants_admin_sees_its_own_lines_only(stand: Stand) -> None:
    mine = (await stand.road.tokens.make("mine", tenant="mine")).secret
    await stand.say("POST", "/v1/queues:pause", {"queue": "good"})
    await stand.say("POST", "/v1/queues:pause", {"queue": "q"}, token=mine)
    seen = (await stand.say("GET", "/v1/audit", token=mine)).json()["lines"]
    assert [line["tenant"] for line in seen] == ["mine"]
    assert len(await lines(stand)) == 2
    operator = (await stand.road.tokens.make("op", role="operate")).secret
    assert (await stand.say("GET", "/v1/audit", token=operator)).status == 403


async def test_the_local_user_is_named_and_no_token_can_claim_to_be_one(stand: Stand) -> None:
    local, user = stand.context.access.local, {"postroad-user": "1000 ann"}
    await stand.say("POST", "/v1/queues:pause", {"queue": "good"}, token=local, headers=user)
    await stand.say("POST", "/v1/queues:pause", {"queue": "good"}, headers=user)
    second, first = await lines(stand)
    assert (first["actor"], first["name"]) == ("local", "1000 ann")
    assert (second["actor"], second["name"]) == (stand.token.split("_")[1], "test")


def test_a_status_says_what_came_of_it() -> None:
    assert [trail.outcome_of(status) for status in (204, 403, 499, 503)] == [
        AuditOutcome.done,
        AuditOutcome.refused,
        AuditOutcome.cut,
        AuditOutcome.failed,
    ]
