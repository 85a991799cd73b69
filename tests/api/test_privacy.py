"""Exporting and erasing over HTTP: who may, and what is told."""

from typing import Any

import msgspec

from tests.api.stand import Stand, kind


async def done(stand: Stand, number: int, **more: Any) -> Any:
    path = f"/v1/privacy/erasures/{number}"
    answer = await stand.say("GET", path, query={"wait_s": 20}, **more)
    assert answer.status == 200, answer.content
    return answer.json()


async def test_a_tenant_is_exported_then_erased_and_both_are_in_the_audit_log(
    stand: Stand,
) -> None:
    mine = {"postroad-tenant": "mine"}
    await stand.send("good", "a body of mine", headers=mine)
    await stand.send("good", "another's")
    answer = await stand.say("POST", "/v1/privacy:export", {"everything": True}, headers=mine)
    lines = [msgspec.json.decode(line) for line in answer.content.splitlines()]
    assert [line["body"] for line in lines if line["kind"] == "message"] == ["a body of mine"]
    asked = await stand.say("POST", "/v1/privacy:erase", {"everything": True}, headers=mine)
    assert asked.status == 202
    said = await done(stand, asked.json()["id"])
    assert said["erased"]["history"] == 1
    page = (await stand.say("GET", "/v1/audit")).json()["lines"]
    assert [line["verb"] for line in page] == ["privacy_erased", "privacy_erase", "privacy_export"]
    assert page[1]["what"] == {"everything": "true", "erasure": str(said["id"])}
    assert page[0]["count"] == sum(said["erased"].values())
    assert {line["tenant"] for line in page} == {"mine"}
    left = (await stand.say("GET", "/v1/queues")).json()["queues"]
    assert [queue["waiting"] for queue in left if queue["queue"] == "good"] == [1]


async def test_whom_an_erasure_is_about_is_not_in_the_audit_log(stand: Stand) -> None:
    person = "+15550001111"
    asked = await stand.say("POST", "/v1/privacy:erase", {"recipient": person})
    await done(stand, asked.json()["id"])
    await stand.say("POST", "/v1/privacy:export", {"recipient": person})
    page = (await stand.say("GET", "/v1/audit")).content
    assert person.encode() not in page
    assert asked.json()["recipient_digest"].encode() in page


async def test_only_an_admin_may_and_a_tenants_only_for_itself(stand: Stand) -> None:
    operator = (await stand.road.tokens.make("op", role="operate")).secret
    for path in ("/v1/privacy:erase", "/v1/privacy:export"):
        answer = await stand.say("POST", path, {"everything": True}, token=operator)
        assert answer.status == 403
    admin = (await stand.road.tokens.make("own", role="admin", tenant="mine")).secret
    other = {"postroad-tenant": "default"}
    refused = await stand.say(
        "POST", "/v1/privacy:erase", {"everything": True}, token=admin, headers=other
    )
    assert refused.status == 403
    theirs = (await stand.say("POST", "/v1/privacy:erase", {"recipient": "x"})).json()["id"]
    hidden = await stand.say("GET", f"/v1/privacy/erasures/{theirs}", token=admin)
    assert (hidden.status, kind(hidden)) == (404, "unknown-erasure")
    assert (await stand.say("GET", "/v1/privacy/erasures", token=admin)).json() == []
    everybody = (await stand.say("GET", "/v1/privacy/erasures")).json()
    assert [row["id"] for row in everybody] == [theirs]


async def test_a_tenants_own_token_ends_with_the_tenant(stand: Stand) -> None:
    admin = (await stand.road.tokens.make("own", role="admin", tenant="mine")).secret
    asked = await stand.say("POST", "/v1/privacy:erase", {"everything": True}, token=admin)
    await done(stand, asked.json()["id"])
    stand.context.access.forget()
    assert (await stand.say("GET", "/v1/queues", token=admin)).status == 401


async def test_it_must_be_said_whose(stand: Stand) -> None:
    for data in ({}, {"recipient": "x", "everything": True}, {"tenant": "mine"}):
        for path in ("/v1/privacy:erase", "/v1/privacy:export"):
            answer = await stand.say("POST", path, data)
            assert answer.status == 400, (path, data)
    assert (await stand.say("GET", "/v1/privacy/erasures/0")).status == 404
