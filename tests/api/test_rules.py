"""Answer rules over HTTP: whose they are, what is refused, and what they would do."""

import pytest

from tests.api.stand import Stand, kind

RULE = {
    "name": "busy",
    "lanes": "smtp:*.example.com",
    "do": "hold_lane",
    "status": "421",
    "code": "4.7.*",
    "text": "too (fast|many)",
    "lasts_s": 900.0,
    "rate": "",
    "reason": "hard_bounce",
    "count": 2,
    "within_s": 600.0,
    "note": "As they ask for.",
}


async def names(stand: Stand, token: str | None = None) -> list[str]:
    answer = await stand.say("GET", "/v1/rules", token=token)
    return [f"{one['tenant']}/{one['name']}" for one in answer.json() if one["tenant"] != "shipped"]


async def test_a_rule_is_put_listed_and_deleted(stand: Stand) -> None:
    made = await stand.say("POST", "/v1/rules", RULE)
    assert made.status == 201
    listed = (await stand.say("GET", "/v1/rules")).json()
    assert made.json() == listed[0] == RULE | {"tenant": "default"}
    assert {one["tenant"] for one in listed[1:]} == {"shipped"}
    assert (await stand.say("DELETE", "/v1/rules/busy")).status == 204
    gone = await stand.say("DELETE", "/v1/rules/busy")
    assert (gone.status, kind(gone)) == (404, "unknown-rule")
    shipped = await stand.say("DELETE", "/v1/rules/gmail%2Ftoo-fast")
    assert "do=keep" in shipped.json()["detail"]
    lines = (await stand.say("GET", "/v1/audit")).json()["lines"]
    (put,) = [line for line in lines if line["verb"] == "rule_put"]
    assert (put["what"]["lanes"], put["what"]["do"]) == ("smtp:*.example.com", "hold_lane")
    assert "too (fast" not in str(lines)  # a pattern may be what somebody said


async def test_tenants_do_not_see_or_set_each_others_rules(stand: Stand) -> None:
    acme = (await stand.road.tokens.make("a", tenant="acme")).secret
    assert (await stand.say("POST", "/v1/rules", RULE, token=acme)).status == 201
    for_all = RULE | {"name": "all", "everywhere": True}
    refused = await stand.say("POST", "/v1/rules", for_all, token=acme)
    assert (refused.status, kind(refused)) == (403, "forbidden")
    assert (await stand.say("POST", "/v1/rules", for_all)).status == 201
    assert await names(stand, acme) == ["acme/busy"]
    assert await names(stand) == ["*/all"]
    query = {"answer": "421 4.7.1 too fast", "lane": "smtp:mx.example.com"}
    for token, expected in ((acme, ["acme"]), (None, ["*"])):
        said = (await stand.say("GET", "/v1/rules:test", query=query, token=token)).json()
        assert [one["rule"]["tenant"] for one in said["matches"]] == expected
    assert (await stand.say("DELETE", "/v1/rules/all", token=acme)).status == 404
    assert (await stand.say("DELETE", "/v1/rules/all", query={"everywhere": "true"})).status == 204


async def test_an_answer_is_tried_out(stand: Stand) -> None:
    assert (await stand.say("POST", "/v1/rules", RULE)).status == 201
    query = {"answer": "421-4.7.28 too many messages", "lane": "smtp:google.com"}
    said = (await stand.say("GET", "/v1/rules:test", query=query)).json()
    assert (said["status"], said["code"]) == (421, "4.7.28")
    assert [one["rule"]["name"] for one in said["matches"]] == ["gmail/too-fast"]
    assert said["matches"][0]["does"].startswith("limits the lane to 10/min for 1 h")
    anywhere = (await stand.say("GET", "/v1/rules:test", query={"answer": query["answer"]})).json()
    assert [one["rule"]["name"] for one in anywhere["matches"]] == ["busy", "gmail/too-fast"]
    other = {"answer": "250 2.0.0 Ok"}
    assert (await stand.say("GET", "/v1/rules:test", query=other)).json()["matches"] == []
    for wrong in ("too fast", "x" * 2_000):
        refused = await stand.say("GET", "/v1/rules:test", query={"answer": wrong})
        assert refused.status == 400


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"text": "("}, "is no pattern (RE2): missing )"),
        ({"text": "x" * 600}, "text"),
        ({"do": "shout"}, "do"),
        ({"do": "limit"}, "50/s"),
        ({"lasts_s": 100_000}, "lasts_s"),
        ({"lasts_s": 0}, "give lasts"),
        ({"status": "", "code": "", "text": ""}, "say which answers"),
        ({"name": "gmail/too-fast"}, "shipped"),
        ({"lanes": "x" * 300}, "lanes"),
        ({"count": 0}, "count"),
        ({"surprise": 1}, "surprise"),
    ],
)
async def test_a_bad_rule_is_refused(stand: Stand, change: dict[str, object], says: str) -> None:
    answer = await stand.say("POST", "/v1/rules", RULE | change)
    assert answer.status in (400, 422), answer.content
    assert says in answer.json()["detail"]
    assert await names(stand) == []
