"""Lists of messages over HTTP, bodies only for tokens that may see them, and sending again."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from postroad import Settings
from tests.api.stand import Stand, fields, kind

WHERE = "/v1/messages"


async def listed(stand: Stand, **query: Any) -> dict[str, Any]:
    answer = await stand.say("GET", WHERE, query=query)
    assert answer.status == 200, answer.content
    page: dict[str, Any] = answer.json()
    return page


async def test_a_list_shows_states_and_goes_on_page_by_page(stand: Stand) -> None:
    first = [await stand.send(body=n) for n in range(3)]
    dead = await stand.send("bad")
    await asyncio.wait_for(stand.road.run(until_idle=True), 60)
    waiting = await stand.send()
    page = await listed(stand, limit=2)
    assert [each["id"] for each in page["messages"]] == [waiting, dead]
    assert [each["state"] for each in page["messages"]] == ["waiting", "dead"]
    assert page["messages"][1]["reason"] == "rejected"
    assert "never" in page["messages"][1]["error"]
    rest = await listed(stand, limit=5, after=page["after"])
    assert [each["id"] for each in rest["messages"]] == first[::-1]
    assert rest["after"] == ""
    oldest = await listed(stand, queue="good", state="delivered", order="oldest")
    assert [each["id"] for each in oldest["messages"]] == first
    assert [each["id"] for each in (await listed(stand, queue="ba*"))["messages"]] == [dead]
    assert (await listed(stand, text="nothing like it"))["unindexed"] == ["text"]


BAD = {
    "an unknown filter": ({"quue": "good"}, 400, "bad-request", "quue"),
    "an unknown state": ({"state": "blocked"}, 400, "bad-request", "state"),
    "an unknown order": ({"order": "upwards"}, 400, "bad-request", "order"),
    "a bad time": ({"since": "yesterday"}, 400, "bad-request", "since"),
    "a negative level": ({"level": "-1"}, 400, "bad-request", "level"),
    "too many": ({"limit": "501"}, 400, "bad-request", "limit"),
    "a bad cursor": ({"after": "page2"}, 400, "bad-cursor", ""),
    "an endless cursor": ({"after": "1" * 2_000}, 400, "bad-cursor", ""),
    "an unknown queue": ({"queue": "nope"}, 404, "unknown-queue", ""),
    "a queue and a prefix": ({"queue": "good", "prefix": "g"}, 400, "bad-input", ""),
    "an order key of the finished": (
        {"order_key": "k", "state": "delivered"}, 400, "bad-input", "",
    ),
    "times in the wrong order": (
        {"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, 400, "bad-time", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
async def test_a_bad_list_is_refused_by_name(stand: Stand, what: str) -> None:
    query, status, word, field = BAD[what]
    answer = await stand.say("GET", WHERE, query=query)
    assert (answer.status, kind(answer)) == (status, word), answer.content
    if field:
        assert fields(answer) == [field]


async def test_a_cursor_of_another_query_is_refused(stand: Stand) -> None:
    for _ in range(3):
        await stand.send()
    after = (await listed(stand, limit=1))["after"]
    answer = await stand.say("GET", WHERE, query={"after": after, "queue": "good"})
    assert (answer.status, kind(answer)) == (400, "cursor-of-another-query")
    assert len((await listed(stand, limit=1, after=after))["messages"]) == 1


async def test_a_tenant_lists_and_sends_again_only_its_own(stand: Stand) -> None:
    ours = await stand.send("bad")
    await asyncio.wait_for(stand.road.run(until_idle=True), 60)
    token = (await stand.road.tokens.make("theirs", tenant="acme")).secret
    answer = await stand.say("GET", WHERE, token=token)
    assert answer.json()["messages"] == []
    for path in (f"{WHERE}/{ours}/body", f"{WHERE}:send-again"):
        method, data = ("GET", None) if path.endswith("body") else ("POST", {"ids": [ours]})
        answer = await stand.say(method, path, data, token=token)
        assert answer.status == 404, answer.content


async def test_bodies_and_headers_are_shown_only_with_their_scope(stand: Stand) -> None:
    data = {"queue": "bad", "body": {"pin": 4711}, "headers": {"x-trace": "t-1"}}
    number = (await stand.say("POST", WHERE, data)).json()["id"]
    shown = (await stand.say("GET", f"{WHERE}/{number}/body")).json()
    assert (shown["body"], shown["headers"]) == ({"pin": 4711}, {"x-trace": "t-1"})
    await asyncio.wait_for(stand.road.run(until_idle=True), 60)
    reader = (await stand.road.tokens.make("reader", scopes=["read", "manage"])).secret
    for path in (f"/v1/dead/{number}", f"{WHERE}/{number}", WHERE, f"{WHERE}/{number}/body"):
        said = await stand.say("GET", path, token=reader)
        assert b"t-1" not in said.content
        assert b'"pin"' not in said.content
        assert said.status == (403 if path.endswith("body") else 200)
    hidden = (await stand.say("GET", f"/v1/dead/{number}", token=reader)).json()
    assert "scope 'bodies'" in hidden["hidden"]
    seer = (await stand.road.tokens.make("seer", scopes=["read", "bodies"])).secret
    whole = (await stand.say("GET", f"/v1/dead/{number}", token=seer)).json()
    assert (whole["body"], whole["hidden"]) == ({"pin": 4711}, "")


async def again(stand: Stand, **data: Any) -> dict[str, Any]:
    answer = await stand.say("POST", f"{WHERE}:send-again", data)
    assert answer.status == 200, answer.content
    said: dict[str, Any] = answer.json()
    return said


async def test_delivered_messages_are_sent_again_where_bodies_are_kept(tmp_path: Path) -> None:
    async with Stand(tmp_path, Settings(keep_bodies=3_600.0)) as stand:
        first = [await stand.send(body={"n": n}) for n in range(3)]
        await asyncio.wait_for(stand.road.run(until_idle=True), 60)
        one = await again(stand, ids=[first[0]], key="k")
        assert (one["sent"], one["repeated"], len(one["ids"])) == (1, 0, 1)
        assert await again(stand, ids=[first[0]], key="k") == {**one, "sent": 0, "repeated": 1}
        new = await stand.say("GET", f"{WHERE}/{one['ids'][0]}/body")
        assert new.json()["headers"]["postroad-again-of"] == first[0]
        assert await again(stand, queue="good", dry_run=True) == {
            "sent": 3, "repeated": 0, "without_body": 0, "ids": [],
        }  # fmt: skip
        rest = await again(stand, queue="good", key="k")
        assert (rest["sent"], rest["repeated"]) == (2, 1)
        headers = {"accept": "application/x-ndjson"}
        said = await stand.say("POST", f"{WHERE}:send-again", {"count": 1}, headers=headers)
        assert msgspec.json.decode(said.content.splitlines()[-1])["done"] is True
        stand.seen.clear()
        await asyncio.wait_for(stand.road.run(until_idle=True), 60)
        assert sorted(each["n"] for each in stand.seen) == [0, 0, 1, 2]


async def test_without_a_kept_body_sending_again_says_so(stand: Stand) -> None:
    gone = await stand.send()
    await asyncio.wait_for(stand.road.run(until_idle=True), 60)
    waiting = await stand.send()
    counts = await again(stand, queue="good")
    assert (counts["sent"], counts["without_body"]) == (0, 1)
    bad: list[tuple[dict[str, Any], int, str]] = [
        ({"ids": [gone]}, 404, "no-body"),
        ({"ids": [waiting]}, 400, "bad-input"),
        ({"ids": ["msg_0000000000000"]}, 404, "unknown-message"),
        ({}, 400, "bad-input"),
        ({"ids": [gone], "queue": "good"}, 400, "bad-input"),
        ({"queue": "good", "state": "waiting"}, 400, "bad-input"),
    ]
    for data, status, word in bad:
        answer = await stand.say("POST", f"{WHERE}:send-again", data)
        assert (answer.status, kind(answer)) == (status, word), answer.content
    assert len((await listed(stand, state="waiting"))["messages"]) == 1


async def test_every_list_refuses_what_is_no_cursor_and_the_cursor_of_another(stand: Stand) -> None:
    """Queues began anew after a name that was none; the dead took the cursor of other filters."""
    for name in ("good", "bad"):
        for _ in range(2):
            await stand.send(name)
        await stand.say("POST", "/v1/queues:pause", {"queue": name})
        await stand.say("POST", "/v1/queues:resume", {"queue": name})
    await stand.road.run(until_idle=True)
    lists = ("/v1/messages", "/v1/dead", "/v1/queues", "/v1/lanes", "/v1/audit")
    cursors = {}
    for path in lists:
        page = await stand.say("GET", path, query={"limit": 1})
        cursors[path] = page.json()["after"]
        assert cursors[path], path
        again = await stand.say("GET", path, query={"limit": 1, "after": cursors[path]})
        assert again.status == 200, path
        for wrong in ("x", "1", "good", "1.0123", "\u00e9." + "0" * 12, cursors[path] + "0"):
            refused = await stand.say("GET", path, query={"after": wrong})
            assert refused.status == 400, (path, wrong)
            assert "cursor" in kind(refused), (path, wrong)
    for path in lists:
        for other in lists:
            if other != path:
                refused = await stand.say("GET", path, query={"after": cursors[other]})
                assert (refused.status, kind(refused)) == (400, "cursor-of-another-query")
    for path, query in (("/v1/dead", {"queue": "bad"}), ("/v1/audit", {"verb": "queue_pause"})):
        refused = await stand.say("GET", path, query=query | {"after": cursors[path]})
        assert kind(refused) == "cursor-of-another-query"


async def test_an_unknown_filter_is_told_with_the_nearest_or_all(stand: Stand) -> None:
    near = await stand.say("GET", "/v1/messages", query={"quue": "x"})
    assert "did you mean 'queue'?" in near.json()["detail"]
    far = await stand.say("GET", "/v1/queues", query={"colour": "x"})
    assert "give after, limit" in far.json()["detail"]
