"""Named limits over HTTP and by commands: whose they are, and what is refused."""

import pytest

from tests.api.stand import Stand, kind

LIMIT = {
    "name": "gmail",
    "lanes": "smtp:*.google.com",
    "rate": "100/s",
    "cost": 2,
    "hours": "09:00-20:00",
    "zone": "Asia/Singapore",
}


async def names(stand: Stand, token: str | None = None) -> list[str]:
    answer = await stand.say("GET", "/v1/limits", token=token)
    return [f"{one['tenant']}/{one['name']}" for one in answer.json()]


async def test_a_limit_is_put_listed_and_deleted(stand: Stand) -> None:
    made = await stand.say("POST", "/v1/limits", LIMIT)
    assert made.status == 201
    (listed,) = (await stand.say("GET", "/v1/limits")).json()
    assert made.json() == listed == LIMIT | {"tenant": "default", "until_ms": 0}
    assert (await stand.say("DELETE", "/v1/limits/gmail")).status == 204
    gone = await stand.say("DELETE", "/v1/limits/gmail")
    assert (gone.status, kind(gone)) == (404, "unknown-limit")
    lines = (await stand.say("GET", "/v1/audit")).json()["lines"]
    assert [line["verb"] for line in lines[:3]] == ["limit_delete", "limit_delete", "limit_put"]
    assert lines[2]["what"]["lanes"] == "smtp:*.google.com"


async def test_tenants_do_not_see_or_set_each_others_limits(stand: Stand) -> None:
    acme = (await stand.road.tokens.make("a", tenant="acme")).secret
    assert (await stand.say("POST", "/v1/limits", LIMIT, token=acme)).status == 201
    assert (await stand.say("POST", "/v1/limits", LIMIT | {"name": "mine"})).status == 201
    all_of_them = LIMIT | {"name": "all", "everywhere": True}
    refused = await stand.say("POST", "/v1/limits", all_of_them, token=acme)
    assert (refused.status, kind(refused)) == (403, "forbidden")
    assert (await stand.say("POST", "/v1/limits", all_of_them)).status == 201
    assert await names(stand, acme) == ["acme/gmail"]
    assert await names(stand) == ["default/mine", "*/all"]
    for path in ("/v1/limits/mine", "/v1/limits/all"):
        assert (await stand.say("DELETE", path, token=acme)).status == 404
    query = {"everywhere": "true"}
    assert (await stand.say("DELETE", "/v1/limits/all", query=query, token=acme)).status == 403
    assert (await stand.say("DELETE", "/v1/limits/all", query=query)).status == 204
    assert await names(stand) == ["default/mine"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"lanes": "gmail"}, "name the transport first"),
        ({"lanes": "*" * 20}, "stars"),
        ({"lanes": "a:" + "x" * 300}, "lanes"),
        ({"lanes": "a:\n"}, "TRANSPORT:SERVER"),
        ({"rate": "fast"}, "50/s"),
        ({"rate": "", "hours": "", "zone": ""}, "a rate, as 100/s, or hours"),
        ({"hours": "9 to 5"}, "09:00-20:00"),
        ({"zone": "Mars/Olympus"}, "not a time zone"),
        ({"hours": ""}, "without hours"),
        ({"name": "rule x"}, "another one"),
        ({"cost": 1000}, "cost"),
    ],
)
async def test_a_bad_limit_is_refused(stand: Stand, change: dict[str, str], says: str) -> None:
    answer = await stand.say("POST", "/v1/limits", LIMIT | change)
    assert answer.status in (400, 422), answer.content
    assert says in answer.json()["detail"]
    assert await names(stand) == []


async def test_a_tenant_has_a_bounded_number_of_limits(stand: Stand) -> None:
    for number in range(200):
        await stand.road.limits.put(f"n{number}", lanes="web:*", rate="5/s", tenant="acme")
    acme = (await stand.road.tokens.make("a", tenant="acme")).secret
    refused = await stand.say("POST", "/v1/limits", LIMIT, token=acme)
    assert (refused.status, kind(refused)) == (429, "tenant-full")
    again = await stand.say("POST", "/v1/limits", LIMIT | {"name": "n7"}, token=acme)
    assert again.status == 201
