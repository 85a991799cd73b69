"""Whatever can be set over HTTP can be read back over HTTP; of secrets, that they are there."""

from typing import Any

from msgspec import structs

from postroad.api.app import ROUTES
from postroad.api.routing import Route
from tests.api.stand import Stand

QUEUE = {"queue": "good"}
URL = "https://93.184.216.34/hook"
STEPS = {"type": "steps", "retries": 2, "delays_ms": [1_000, 60_000]}
ENDPOINT = {
    "url": URL,
    "secrets": ["whsec_MTExMTExMTExMTExMTExMTExMTExMTEx"],
    "headers": {"x-shop": "7"},
    "reject": [404, 418],
    "connect_timeout": 2.5,
    "timeout": 9,
    "names": {"id": "x-id", "timestamp": "x-time", "signature": "x-sign"},
    "ladder": STEPS,
    "keep_bodies": 60,
}
CREDENTIAL: dict[str, Any] = {
    "name": "main",
    "secret": "whsec_MTExMTExMTExMTExMTExMTExMTExMTEx",
    "kind": "webhook",
    "provider": "",
    "account": "",
    "sender": "",
    "rate": "50/s",
    "segments_max": 1,
    "price": 0.5,
    "callback": "",
    "expires_at": "2199-01-31T12:00:00Z",
    "options": {},
    "secrets": {},
}
TOKEN = {"name": "ci", "scopes": ["send", "read"], "tenant": "shop", "lasts_s": 3_600}
ROLE = {"name": "ops", "role": "operate"}
MAILBOX = {"quota": 7, "ttl_s": 3_600}
MESSAGE = {
    "queue": "good",
    "delay": 3_600,
    "deliver_at": None,
    "expires_at": "2199-01-31T12:00:00Z",
}
SUPPRESSION = {
    "recipient": "ann@example.com",
    "reason": "complaint",
    "campaign": "spring",
    "message": "cmp_1_2",
    "note": "a note",
    "everywhere": True,
}
LIMIT = {"rate": "50/s,1000/h", "cost": 2, "hours": "09:00-20:00", "zone": "Asia/Singapore"}
RULE = {
    "name": "busy", "lanes": "smtp:*.example.com", "do": "limit", "status": "421", "code": "4.7.*",
    "text": "too fast", "lasts_s": 900.0, "rate": "10/min", "reason": "complaint", "count": 2,
    "within_s": 600.0, "note": "As they ask for.", "everywhere": True,
}  # fmt: skip
NAMED = {"name": "gmail", "lanes": "smtp:*.google.com", "everywhere": True, **LIMIT}

MADE: dict[str, Any] = {
    **{name: value for name, value in ENDPOINT.items() if name != "secrets"},
    "types": ["order.*"],
    "channels": ["eu"],
    "filter": {"/total": {"gte": 10}},
    "description": "theirs",
    "metadata": {"plan": "gold"},
    "rate": "5/s",
    "ordered": True,
    "secret": "whsec_MTExMTExMTExMTExMTExMTExMTExMTEx",
}
CHANGED: dict[str, Any] = {
    **{name: value for name, value in MADE.items() if name not in ("ordered", "secret")},
    "state": "disabled",
    "reason": "on holiday",
    "by": "operator",
}
RULES: dict[str, Any] = {
    "notice_after_s": 10.0,
    "disable_after_s": 20.0,
    "hold_for_s": 30.0,
    "hold_max": 40,
    "dead_every_s": 50.0,
    "drain": "5/s",
}
EVENT_TYPE: dict[str, Any] = {
    "name": "order.paid",
    "description": "An order was paid",
    "schema": {"required": ["id"]},
    "warn": True,
    "archived": True,
}

TENANT_LIMITS = {
    "queues_max": 1, "lanes_max": 2, "messages_max": 3, "messages_bytes_max": 4,
    "attachments_bytes_max": 5, "mailboxes_max": 6, "campaigns_max": 7, "imports_max": 8, "timetables_max": 9,
}  # fmt: skip
TENANT: dict[str, Any] = {"name": "acme", "description": "a customer", **TENANT_LIMITS}
TIMETABLE: dict[str, Any] = {
    "name": "nightly/1",
    "queue": "good",
    "body": {"all": True},
    "cron": "30 2 * * *",
    "zone": "Europe/Berlin",
    "missed": "all",
    "paused": True,
}
OTHER_TIMES: dict[str, Any] = {
    "queue": "bad",
    "body": None,
    "cron": "0 9 * * MON",
    "zone": "UTC",
    "missed": "skip",
}

SET: dict[str, dict[str, Any]] = {
    "/v1/tenants": TENANT,
    "/v1/tenants/{name}/limits": TENANT_LIMITS,
    "/v1/endpoints": MADE,
    "/v1/endpoints/{id}": CHANGED,
    "/v1/endpoint-rules": RULES | {"everywhere": False},
    "/v1/event-types": EVENT_TYPE,
    "/v1/webhooks": ENDPOINT,
    "/v1/credentials": CREDENTIAL,
    "/v1/tokens": TOKEN | ROLE,
    "/v1/mailboxes": MAILBOX,
    "/v1/queues:limit": QUEUE | LIMIT,
    "/v1/lanes:limit": {"lane": 1, **LIMIT},
    "/v1/limits": NAMED,
    "/v1/rules": RULE,
    "/v1/queues:pause": QUEUE,
    "/v1/queues:resume": QUEUE,
    "/v1/lanes:pause": {"lane": 1},
    "/v1/lanes:resume": {"lane": 1},
    "/v1/messages": MESSAGE,
    "/v1/suppressions": SUPPRESSION,
    "/v1/timetables": TIMETABLE,
    "/v1/timetables/{name}": OTHER_TIMES,
}
"""Routes that set something, each with all of its fields: a test below reads each of them."""
DO = (
    "/v1/messages:cancel", "/v1/messages/{id}/settle", "/v1/dead:replay", "/v1/dead:purge",
    "/v1/queues:unblock", "/v1/lanes:unblock", "/v1/privacy:export", "/v1/privacy:erase", "/v1/campaigns/{name}/test",
    "/v1/campaigns/{name}/schedule", "/v1/campaigns/{name}/resume", "/v1/campaigns/{name}/settle",
    "/v1/messages:send-again", "/v1/suppressions:export", "/v1/messages:settle",
    "/v1/batches", "/v1/replays", "/v1/events", "/v1/endpoints/{id}/rotate", "/v1/endpoints/{id}/recover", "/v1/event-types:import",
    "/v1/endpoints/{id}/ack", "/v1/endpoints/{id}/test", "/v1/logins", "/v1/sessions",
    "/v1/portal-links", "/v1/portal-sessions",
)  # fmt: skip
"""Routes that do something once: their fields say to what and how, and none is an option."""
ACCESS = {"auth", "tls", "shape", "transform"}
ELSEWHERE = {
    "/v1/endpoints": {*ACCESS, "expires_in", "pull"},
    "/v1/endpoints/{id}": {*ACCESS, "expires_in"},
    "/v1/webhooks": ACCESS,
    "/v1/messages": {
        *("body", "body_base64", "credential", "headers", "key", "order_key", "priority", "check"),
        *("zone", "replace", "at_most", "unique_for"),
    },
    "/v1/tokens": {"role", "everywhere"},
    "/v1/timetables": {"every_s", "body_base64"},
    "/v1/timetables/{name}": {"every_s", "body_base64"},
}
"""Fields of a message: what it is, not how something is set up. A role is given in place of scopes,
and read back in test_roles.py, as is a token of every tenant; what authorizes and shapes webhooks, in tests/webhook_requests; when endpoints
end and which are read, in tests/events."""


def of_a_body() -> dict[str, Route]:
    return {route.path: route for route in ROUTES if route.decoder is not None}


def unread(path: str) -> set[str]:
    """The fields of a route's body that no test reads back."""
    fields = {each.encode_name for each in structs.fields(of_a_body()[path].takes)}
    return fields - set(SET[path]) - ELSEWHERE.get(path, set())


def test_every_field_that_can_be_set_is_read_back_below() -> None:
    # Read back in tests/campaigns.
    campaigns = {"/v1/campaigns", "/v1/campaigns/{name}/edit", "/v1/campaigns/{name}/clone"}
    assert set(of_a_body()) == {*SET, *DO, *campaigns}
    assert {path: unread(path) for path in SET if unread(path)} == {}
    del SET["/v1/webhooks"]["ladder"]
    assert unread("/v1/webhooks") == {"ladder"}
    SET["/v1/webhooks"]["ladder"] = STEPS


async def test_a_tenant(stand: Stand) -> None:
    made = await stand.say("POST", "/v1/tenants", TENANT)
    shown = (await stand.say("GET", "/v1/tenants/acme")).json()
    assert made.status == 201
    assert (shown["limits"], shown["own"]) == (TENANT_LIMITS, list(TENANT_LIMITS))
    assert (shown["name"], shown["description"]) == ("acme", "a customer")
    assert {**made.json(), "counts": shown["counts"]} == shown
    doubled = {name: 2 * value for name, value in TENANT_LIMITS.items()}
    assert (await stand.say("PUT", "/v1/tenants/acme/limits", doubled)).status == 200
    assert (await stand.say("GET", "/v1/tenants/acme")).json()["limits"] == doubled


async def test_an_endpoint_of_events(stand: Stand) -> None:
    made = (await stand.say("POST", "/v1/endpoints", MADE)).json()
    path = f"/v1/endpoints/{made['id']}"
    shown = (await stand.say("GET", path)).json()
    assert {**shown, "secret": MADE["secret"]} == made
    assert shown["disabled_by"] == ""
    changed = (await stand.say("PATCH", path, CHANGED)).json()
    assert changed == (await stand.say("GET", path)).json()
    for told, given in ((shown, MADE), (changed, CHANGED)):
        for name in given.keys() - {
            "connect_timeout",
            "timeout",
            "keep_bodies",
            "headers",
            "secret",
            "by",
        }:
            assert told[name] == given[name], name
        assert (told["connect_timeout_ms"], told["timeout_ms"]) == (2_500, 9_000)
        assert (told["keep_bodies_ms"], told["secrets"], told["headers"]) == (60_000, 1, ["x-shop"])


async def test_rules_of_endpoints(stand: Stand) -> None:
    assert (await stand.say("PUT", "/v1/endpoint-rules", RULES)).json() == RULES
    assert (await stand.say("GET", "/v1/endpoint-rules")).json() == RULES
    more = {"everywhere": True, "hold_max": 1}
    assert (await stand.say("PUT", "/v1/endpoint-rules", more)).json()["hold_max"] == 1
    assert (await stand.say("GET", "/v1/endpoint-rules")).json() == RULES


async def test_an_event_type(stand: Stand) -> None:
    assert (await stand.say("POST", "/v1/event-types", EVENT_TYPE)).json() == EVENT_TYPE
    assert (await stand.say("GET", "/v1/event-types/order.paid")).json() == EVENT_TYPE
    listed = await stand.say("GET", "/v1/event-types", query={"archived": "true"})
    assert listed.json()["event_types"] == [EVENT_TYPE]


async def test_a_webhook(stand: Stand) -> None:
    said = (await stand.say("PUT", "/v1/webhooks", ENDPOINT)).json()
    shown = (await stand.say("GET", "/v1/webhooks", query={"url": URL})).json()
    (listed,) = (await stand.say("GET", "/v1/webhooks")).json()["webhooks"]
    assert said == shown == listed
    for name in ("url", "reject", "names", "ladder"):
        assert shown[name] == ENDPOINT[name]
    assert (shown["connect_timeout_ms"], shown["timeout_ms"]) == (2_500, 9_000)
    assert shown["keep_bodies_ms"] == 60_000
    assert (shown["secrets"], shown["headers"]) == (1, ["x-shop"])
    again = {"type": "exponential", "retries": 3, "base_ms": 500, "cap_ms": 9_000}
    assert (await stand.say("PUT", "/v1/webhooks", {"url": URL, "ladder": again})).status == 200
    assert (await stand.say("GET", "/v1/webhooks", query={"url": URL})).json()["ladder"] == again


async def test_a_credential(stand: Stand) -> None:
    assert (await stand.say("POST", "/v1/credentials", CREDENTIAL)).status == 201
    answer = await stand.say("GET", "/v1/credentials")
    (shown,) = answer.json()
    for name in CREDENTIAL.keys() - {"secret", "secrets", "expires_at"}:
        assert shown[name] == CREDENTIAL[name], name
    assert shown["secrets"] == ["secret"]
    assert shown["expires_at_ms"] == 7_229_217_600_000
    assert b"whsec_" not in answer.content


async def test_a_suppression(stand: Stand) -> None:
    made = (await stand.say("POST", "/v1/suppressions", SUPPRESSION)).json()
    listed = await stand.say("GET", "/v1/suppressions", query={"everywhere": True})
    assert listed.json()["suppressions"] == [made]
    for name in SUPPRESSION.keys() - {"everywhere"}:
        assert made[name] == SUPPRESSION[name], name
    assert made["tenant"] == "*"


async def test_a_token(stand: Stand) -> None:
    made = (await stand.say("POST", "/v1/tokens", TOKEN)).json()
    listed = (await stand.say("GET", "/v1/tokens")).json()
    (shown,) = [each for each in listed if each["id"] == made["token"]["id"]]
    assert (shown["name"], shown["tenant"]) == ("ci", "shop")
    assert sorted(shown["scopes"]) == ["read", "send"]
    assert shown["expires_at_ms"] - shown["created_at_ms"] == 3_600_000
    assert shown["role"] is None
    made = (await stand.say("POST", "/v1/tokens", ROLE)).json()
    listed = (await stand.say("GET", "/v1/tokens")).json()
    assert [each["role"] for each in listed if each["id"] == made["token"]["id"]] == ["operate"]


async def test_a_mailbox(stand: Stand) -> None:
    box = (await stand.say("POST", "/v1/mailboxes", MAILBOX)).json()["box"]
    shown = (await stand.say("GET", f"/v1/mailboxes/{box}")).json()
    assert (shown["quota"], shown["ttl_s"]) == (7, 3_600)


async def test_a_queue_and_its_lane(stand: Stand) -> None:
    async def queue() -> Any:
        return (await stand.say("GET", "/v1/queues:explain", query=QUEUE)).json()

    lane = (await queue())["lanes"][0]["id"]

    async def of_lane() -> Any:
        return (await stand.say("GET", "/v1/lanes:explain", query={"lane": lane})).json()

    for path in ("/v1/queues:limit", "/v1/queues:pause"):
        assert (await stand.say("POST", path, SET[path])).status == 200
    shown = await queue()
    assert (shown["limits"][0]["limit"], shown["limits"][0]["cost"]) == (LIMIT["rate"], 2)
    assert {name: shown["limits"][0][name] for name in ("hours", "zone")}.items() <= LIMIT.items()
    assert shown["paused"] is True
    assert shown["policy"]["ladder"]["retries"] == 2  # as its handler has it
    assert shown["policy"]["at_most_once"] is False
    assert (await stand.say("POST", "/v1/queues:resume", QUEUE)).status == 200
    assert (await queue())["paused"] is False
    for path in ("/v1/lanes:limit", "/v1/lanes:pause"):
        assert (await stand.say("POST", path, {**SET[path], "lane": lane})).status == 200
    shown = await of_lane()
    assert (shown["limits"][0]["limit"], shown["limits"][0]["cost"]) == (LIMIT["rate"], 2)
    assert {name: shown["limits"][0][name] for name in ("hours", "zone")}.items() <= LIMIT.items()
    assert shown["paused"] is True
    assert (await stand.say("POST", "/v1/lanes:resume", {"lane": lane})).status == 200
    assert (await of_lane())["paused"] is False


async def test_a_named_limit(stand: Stand) -> None:
    assert (await stand.say("POST", "/v1/limits", NAMED)).status == 201
    (shown,) = (await stand.say("GET", "/v1/limits")).json()
    told = {name: value for name, value in NAMED.items() if name != "everywhere"}
    assert shown == told | {"tenant": "*", "until_ms": 0}


async def test_an_answer_rule(stand: Stand) -> None:
    assert (await stand.say("POST", "/v1/rules", RULE)).status == 201
    shown = (await stand.say("GET", "/v1/rules")).json()[0]
    told = {name: value for name, value in RULE.items() if name != "everywhere"}
    assert shown == told | {"tenant": "*"}


async def test_a_message(stand: Stand) -> None:
    sent = (await stand.say("POST", "/v1/messages", {**MESSAGE, "body": 1})).json()
    shown = (await stand.say("GET", f"/v1/messages/{sent['id']}")).json()
    assert (shown["queue"], shown["expires_at_ms"]) == ("good", 7_229_217_600_000)
    assert shown["next"]["not_before_ms"] - shown["accepted_at_ms"] == 3_600_000


async def test_timetables(stand: Stand) -> None:
    said = await stand.say("POST", "/v1/timetables", TIMETABLE)
    assert (said.status, said.headers["location"]) == (201, "/v1/timetables/nightly%2F1")
    shown = (await stand.say("GET", "/v1/timetables/nightly%2F1")).json()
    assert {name: shown[name] for name in TIMETABLE} == TIMETABLE
    assert shown["when"] == "at 02:30 every day Europe/Berlin"
    place = "/v1/timetables/nightly%2F1"
    assert (await stand.say("PATCH", place, OTHER_TIMES)).status == 200
    shown = (await stand.say("GET", place)).json()
    assert {name: shown[name] for name in OTHER_TIMES} == OTHER_TIMES
    often = (await stand.say("PATCH", place, {"every_s": 90})).json()
    assert (often["every_s"], often["cron"], often["when"]) == (90.0, "", "every 1 min 30 s")
    for number, one in enumerate((shown, often)):  # what is shown can be sent back
        back = {name: one[name] for name in (*OTHER_TIMES, "every_s")}
        changed = (await stand.say("PATCH", place, back)).json()
        made = (await stand.say("POST", "/v1/timetables", back | {"name": str(number)})).json()
        assert [changed["when"], made["when"]] == [one["when"]] * 2
    for none in ({"cron": ""}, {"every_s": 0}, {"every_s": 0.5}):
        assert (await stand.say("PATCH", place, none)).status == 400
