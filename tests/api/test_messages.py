"""Messages over HTTP: send, look, explain, cancel; and what is wrong with what was sent."""

from typing import Any

import pytest

from tests.api.stand import Stand, fields, kind


async def test_a_message_is_sent_delivered_and_explained(stand: Stand) -> None:
    answer = await stand.say("POST", "/v1/messages", {"queue": "good", "body": {"id": 7}})
    assert answer.status == 201
    receipt = answer.json()
    assert answer.headers["location"] == f"/v1/messages/{receipt['id']}"
    assert receipt["queue"] == "good"
    waiting = (await stand.say("GET", f"/v1/messages/{receipt['id']}")).json()
    assert waiting["state"] == "waiting"
    await stand.road.run(until_idle=True)
    assert stand.seen == [{"id": 7}]
    said = (await stand.say("GET", f"/v1/messages/{receipt['id']}/explain")).json()
    assert said["state"] == "delivered"
    assert "was delivered" in said["sentence"]


async def test_a_body_is_stored_as_it_was_written(stand: Stand) -> None:
    text = b'{"queue": "good", "body": {"b": 1.50,  "a": "\xc3\xa9"}}'
    number = (await stand.say("POST", "/v1/messages", text)).json()["id"]
    await stand.say("POST", "/v1/messages", {"queue": "good", "body_base64": "AP8="})
    await stand.road.run(until_idle=True)
    assert {"b": 1.5, "a": "é"} in stand.seen
    assert b"\x00\xff" in stand.seen
    assert number


async def test_the_same_key_gives_the_first_receipt_and_another_body_a_conflict(
    stand: Stand,
) -> None:
    headers = {"idempotency-key": "k-1"}
    first = await stand.say("POST", "/v1/messages", {"queue": "good", "body": 1}, headers=headers)
    again = await stand.say("POST", "/v1/messages", {"queue": "good", "body": 1, "key": "k-1"})
    assert (first.status, again.status) == (201, 200)
    assert again.json() == {**first.json(), "duplicate": True}
    other = await stand.say("POST", "/v1/messages", {"queue": "good", "body": 2, "key": "k-1"})
    assert (other.status, kind(other)) == (409, "conflict")
    both = await stand.say(
        "POST", "/v1/messages", {"queue": "good", "body": 2, "key": "k-2"}, headers=headers
    )
    assert (both.status, fields(both)) == (400, ["key"])


async def test_cancelling_ends_it_and_a_finished_one_is_left_alone(stand: Stand) -> None:
    number = await stand.send()
    cancelled = await stand.say("DELETE", f"/v1/messages/{number}")
    assert cancelled.json() == {"id": number, "state": "cancelled"}
    done = await stand.send()
    await stand.road.run(until_idle=True)
    late = await stand.say("DELETE", f"/v1/messages/{done}")
    assert (late.status, kind(late)) == (409, "not-cancelled")
    unknown = await stand.say("DELETE", "/v1/messages/msg_0000000000000")
    assert (unknown.status, kind(unknown)) == (404, "unknown-message")


DEEP = b'{"queue": "good", "body": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"
BAD: dict[str, tuple[bytes, list[str]]] = {
    "no JSON": (b"queue=good", []),
    "cut off": (b'{"queue": "good", "body"', []),
    "nothing": (b"", []),
    "not UTF-8": (b'{"queue": "good", "body": "\xff"}', []),
    "too deep": (DEEP, []),
    "a list": (b"[]", [""]),
    "no queue": (b'{"body": 1}', ["queue"]),
    "an empty queue": (b'{"queue": "", "body": 1}', ["queue"]),
    "a number as queue": (b'{"queue": 7, "body": 1}', ["queue"]),
    "no body": (b'{"queue": "good"}', ["body"]),
    "two bodies": (b'{"queue": "good", "body": 1, "body_base64": "AA=="}', ["body"]),
    "bad base64": (b'{"queue": "good", "body_base64": "?"}', ["body_base64"]),
    "an unknown field": (b'{"queue": "good", "body": 1, "prio": 1}', ["prio"]),
    "a text as priority": (b'{"queue": "good", "body": 1, "priority": "9"}', ["priority"]),
    "a priority out of range": (b'{"queue": "good", "body": 1, "priority": 10}', ["priority"]),
    "a negative delay": (b'{"queue": "good", "body": 1, "delay": -1}', ["delay"]),
    "no time": (b'{"queue": "good", "body": 1, "deliver_at": "soon"}', ["deliver_at"]),
    "a number in headers": (
        b'{"queue": "good", "body": 1, "headers": {"x": 1}}',
        ["headers[...]"],
    ),
}


@pytest.mark.parametrize("what", BAD)
async def test_a_bad_message_is_refused_and_the_problem_names_the_field(
    stand: Stand, what: str
) -> None:
    text, named = BAD[what]
    answer = await stand.say("POST", "/v1/messages", text)
    assert (answer.status, kind(answer)) == (400, "bad-request"), answer.content
    assert fields(answer) == named
    assert (await stand.road.store.counts())["waiting"] == 0


async def test_what_the_road_itself_refuses_is_a_problem_too(stand: Stand) -> None:
    times = {"deliver_at": "2030-01-01T00:00:00"}
    tries: list[tuple[dict[str, Any], int, str]] = [
        ({"queue": "nope", "body": 1}, 404, "unknown-queue"),
        ({"queue": "gopher://x", "body": 1}, 400, "bad-input"),
        ({"queue": "good", "body": 1, **times}, 400, "bad-time"),
        ({"queue": "good", "body": "x" * 2_000_000}, 413, "body-too-large"),
        ({"queue": "good", "body": "x" * 40_000_000}, 413, "body-too-large"),
    ]
    for data, status, word in tries:
        answer = await stand.say("POST", "/v1/messages", data)
        assert (answer.status, kind(answer)) == (status, word), answer.content


async def test_wrong_paths_methods_and_parameters_are_problems(stand: Stand) -> None:
    assert kind(await stand.say("GET", "/nowhere")) == "not-found"
    assert kind(await stand.say("PUT", "/v1/messages")) == "method-not-allowed"
    number = await stand.send()
    odd = await stand.say("DELETE", f"/v1/messages/{number}", query={"wait": 1})
    assert (odd.status, fields(odd)) == (400, ["wait"])
    long = await stand.say("DELETE", f"/v1/messages/{number}", query={"wait_s": 99})
    assert (long.status, fields(long)) == (400, ["wait_s"])
    assert (await stand.say("GET", f"/v1/messages/{number}")).json()["state"] == "waiting"


async def test_a_fault_is_told_without_its_trace_or_words(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object, **__: object) -> None:
        raise RuntimeError("password=hunter2")

    monkeypatch.setattr(stand.road, "explain", broken)
    answer = await stand.say("GET", "/v1/messages/msg_0000000000000")
    assert (answer.status, kind(answer)) == (500, "internal")
    assert b"hunter2" not in answer.content
