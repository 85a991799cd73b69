"""Events over HTTP: the pinned answers, refusals with names, and who may do what."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from postroad.config import Settings
from tests.api.stand import Stand, kind
from tests.webhook.conftest import LOCAL

HOOK = "http://127.0.0.1:9/hook"


@asynccontextmanager
async def standing(folder: Path) -> AsyncIterator[Stand]:
    async with Stand(folder, Settings(webhooks=LOCAL)) as stand:
        yield stand


async def test_an_endpoint_is_made_changed_and_deleted(tmp_path: Path) -> None:
    async with standing(tmp_path) as stand:
        asked = {"url": HOOK, "types": ["order.*"], "filter": {"/total": {"gte": 10}}}
        made = await stand.say("POST", "/v1/endpoints", asked)
        assert made.status == 201
        told = made.json()
        assert told["id"].startswith("ep_")
        assert told["secret"].startswith("whsec_")
        path = f"/v1/endpoints/{told['id']}"
        assert made.headers["location"] == path
        shown = (await stand.say("GET", path)).json()
        assert "secret" not in shown
        assert (shown["types"], shown["filter"]) == (asked["types"], asked["filter"])
        changed = await stand.say("PATCH", path, {"types": [], "filter": None})
        assert (changed.json()["types"], changed.json()["filter"]) == ([], None)
        off = await stand.say("PATCH", path, {"state": "disabled", "reason": "tired"})
        assert (off.json()["state"], off.json()["reason"]) == ("disabled", "tired")
        bad = {"state": "enabled", "url": "http://10.0.0.1/forbidden"}
        assert (await stand.say("PATCH", path, bad)).status == 400  # nothing goes to the old one
        assert (await stand.say("GET", path)).json()["state"] == "disabled"
        on = await stand.say("PATCH", path, {"state": "enabled"})
        assert on.json()["state"] == "enabled"
        again = await stand.say("POST", f"{path}/rotate", {"overlap": 60})
        assert again.json()["secret"] not in (told["secret"], "")
        assert again.json()["secrets"] == 2
        listed = (await stand.say("GET", "/v1/endpoints")).json()["endpoints"]
        assert [one["id"] for one in listed] == [told["id"]]
        assert (await stand.say("DELETE", path)).status == 204
        assert kind(await stand.say("GET", path)) == "unknown-endpoint"


async def test_an_event_is_published_listed_and_shown(tmp_path: Path) -> None:
    async with standing(tmp_path) as stand:
        await stand.say("POST", "/v1/endpoints", {"url": HOOK})
        asked = {"type": "order.paid", "body": {"id": 7}, "channels": ["eu"]}
        headers = {"idempotency-key": "k"}
        said = await stand.say("POST", "/v1/events", asked, headers=headers)
        assert said.status == 201
        told = said.json()
        assert told["id"].startswith("evt_")
        assert len(told["messages"]) == 1
        again = await stand.say("POST", "/v1/events", asked, headers=headers)
        assert (again.status, again.json()["id"]) == (200, told["id"])
        other = await stand.say("POST", "/v1/events", {**asked, "body": 8}, headers=headers)
        assert kind(other) == "conflict"
        shown = (await stand.say("GET", f"/v1/events/{told['id']}")).json()
        assert (shown["body"], shown["channels"]) == ({"id": 7}, ["eu"])
        assert shown["messages"] == told["messages"]
        blind = (await stand.road.tokens.make("blind", scopes=["read"])).secret
        hidden = (await stand.say("GET", f"/v1/events/{told['id']}", token=blind)).json()
        assert (hidden["body"], "bodies" in hidden["hidden"]) == (None, True)
        assert len((await stand.say("GET", "/v1/events")).json()["events"]) == 1
        text = (await stand.say("GET", "/metrics")).content.decode()
        assert 'postroad_events_total{matched="yes"} 1.0' in text


async def test_event_types_are_the_operators(tmp_path: Path) -> None:
    async with standing(tmp_path) as stand:
        schema: dict[str, Any] = {"type": "object", "required": ["id"]}
        asked = {"name": "order.paid", "description": "An order was paid", "schema": schema}
        customer = (await stand.road.tokens.make("theirs", tenant="acme")).secret
        refused = await stand.say("POST", "/v1/event-types", asked, token=customer)
        assert kind(refused) == "forbidden"
        made = await stand.say("POST", "/v1/event-types", asked)
        assert (made.status, made.json()["schema"]) == (201, schema)
        listed = await stand.say("GET", "/v1/event-types", token=customer)
        assert [one["name"] for one in listed.json()["event_types"]] == ["order.paid"]
        shown = await stand.say("GET", "/v1/event-types/order.paid", token=customer)
        assert shown.json() == made.json()
        bad = await stand.say("POST", "/v1/events", {"type": "order.paid", "body": {}})
        assert kind(bad) == "schema-mismatch"
        unknown = await stand.say("POST", "/v1/events", {"type": "order.lost", "body": {}})
        assert (unknown.status, kind(unknown)) == (400, "unknown-event-type")
        document = (await stand.say("GET", "/v1/event-types:export", token=customer)).json()
        assert (await stand.say("POST", "/v1/event-types:import", document)).status == 200
        refused = await stand.say("POST", "/v1/event-types:import", document, token=customer)
        assert kind(refused) == "forbidden"


async def test_bad_input_is_refused_by_name(tmp_path: Path) -> None:
    async with standing(tmp_path) as stand:
        for path, data, name in (
            ("/v1/endpoints", {"url": HOOK, "filter": {"a": 1}}, "bad-filter"),
            ("/v1/endpoints", {"url": "http://10.0.0.1/"}, "bad-url"),
            ("/v1/endpoints", {"url": HOOK, "type": "order.*"}, "bad-request"),
            ("/v1/events", {"type": "no name", "body": 1}, "bad-input"),
            ("/v1/events", {"type": "order.paid"}, "bad-request"),
            ("/v1/event-types", {"name": "a", "schema": {"type": 1}}, "bad-schema"),
            ("/v1/event-types:import", {"webhooks": {}}, "bad-input"),
        ):
            assert kind(await stand.say("POST", path, data)) == name
        missing = await stand.say("PATCH", "/v1/endpoints/ep_0000000000000", {"types": []})
        assert (missing.status, kind(missing)) == (404, "unknown-endpoint")


async def test_a_replay_is_started_watched_and_cancelled(tmp_path: Path) -> None:
    async with standing(tmp_path) as stand:
        await stand.say("POST", "/v1/events", {"type": "order.paid", "body": 1})
        made = (await stand.say("POST", "/v1/endpoints", {"url": HOOK})).json()
        asked = {"what": "missed", "endpoint": made["id"], "rate": "5/s"}
        counted = await stand.say("POST", "/v1/replays", {**asked, "dry_run": True})
        assert (counted.status, counted.json()["total"]) == (200, 1)
        said = await stand.say("POST", "/v1/replays", asked)
        assert said.status == 201
        path = f"/v1/replays/{said.json()['id']}"
        assert said.headers["location"] == path
        for verb, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
            assert (await stand.say("POST", f"{path}/{verb}")).json()["state"] == state
        assert (await stand.say("GET", path)).json()["ended_at_ms"]
        listed = (await stand.say("GET", "/v1/replays")).json()["replays"]
        assert [one["id"] for one in listed] == [said.json()["id"]]
        nothing = await stand.say("POST", "/v1/replays", {"since": "2026-01-01T00:00:00Z"})
        assert (nothing.status, kind(nothing)) == (404, "nothing-to-replay")
        assert kind(await stand.say("GET", "/v1/replays/rpl_0000000000000")) == "unknown-replay"
