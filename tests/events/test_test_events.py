"""Test events: one, marked, for one endpoint alone, with a body that fits its type."""

import json
from typing import Any

import pytest

from postroad import Postroad
from postroad.errors import BadInput, EndpointDisabled, SchemaMismatch, UnknownEventType
from postroad.model import matching
from postroad.model.endpoint import OPERATOR
from postroad.model.errors import EventTypeArchived, TenantFull, UnknownEndpoint
from postroad.verbs.event_samples import VALUES_MAX, sample
from postroad.verbs.event_schemas import checker
from tests.api.stand import kind
from tests.events.test_http import HOOK, standing
from tests.webhook.conftest import Receiver

ORDER: dict[str, Any] = {
    "type": "object",
    "required": ["id", "lines"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "format": "uuid"},
        "lines": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/line"}},
        "paid": {"type": ["null", "boolean"]},
    },
    "$defs": {
        "line": {
            "type": "object",
            "required": ["count"],
            "properties": {"count": {"type": "integer", "minimum": 5, "multipleOf": 4}},
        }
    },
}


async def test_a_test_event_reaches_its_endpoint_alone(
    road: Postroad, receiver: Receiver, mark: str
) -> None:
    await road.event_types.set("order.paid", schema=ORDER)
    how: dict[str, Any] = {"types": ("order.*",), "channels": ("eu",), "filter": {"/id": "none"}}
    made = await road.endpoints.create(receiver.url(f"/200/{mark}"), **how)
    await road.endpoints.create(receiver.url(f"/200/{mark}-other"))
    sent = await road.endpoints.test(made.id)
    assert sent.type == "order.paid"
    await road.run(until_idle=True)
    (got,) = receiver.got(f"/200/{mark}")
    assert (got["headers"]["postroad-test"], got["headers"]["webhook-id"]) == ("true", sent.message)
    assert receiver.got(f"/200/{mark}-other") == []
    event = await road.events.get(sent.event)
    assert event.channels == ("postroad.test",)
    assert checker("order.paid", ORDER)(json.loads(event.body)) == ()


async def test_no_replay_brings_a_test_to_others(
    road: Postroad, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await road.endpoints.create(HOOK)
    await road.endpoints.test(first.id)
    late = await road.endpoints.create(HOOK)
    assert (await road.replays.start("missed", endpoint=late.id, dry_run=True)).total == 0
    # Without the guard it would.
    monkeypatch.setattr(matching, "TEST_CHANNEL", "none")
    assert (await road.replays.start("missed", endpoint=late.id, dry_run=True)).total == 1


async def test_a_type_is_chosen_found_or_made_up(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK, types=("order.*",))
    some = await road.endpoints.create(HOOK, types=("refund.asked",))
    every = await road.endpoints.create(HOOK)
    told = [(await road.endpoints.test(one.id)).type for one in (made, some, every)]
    assert told == ["order.test", "refund.asked", "test"]
    await road.event_types.set("order.gone", archived=True)
    await road.event_types.set("order.paid")
    assert (await road.endpoints.test(made.id)).type == "order.paid"
    assert (await road.endpoints.test(some.id, "order.paid")).type == "order.paid"
    ours = await road.endpoints.create(HOOK, types=("message.*",), tenant=OPERATOR)
    assert (await road.endpoints.test(ours.id, tenant=OPERATOR)).type == "message.dead"


async def test_what_cannot_be_tested_is_refused_by_name_and_stores_nothing(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK, types=("order.*",))
    await road.event_types.set("refund.asked")
    await road.event_types.set("order.gone", archived=True)
    pattern: dict[str, object] = {"type": "string", "pattern": "^[0-9]{4}$"}
    await road.event_types.set("code.sent", schema=pattern)
    await road.event_types.set("code.seen", schema=pattern, warn=True)
    for kinds, error in (
        ("", BadInput),  # it gets none of them
        ("order.paid", UnknownEventType),
        ("order.gone", EventTypeArchived),
        ("code.sent", SchemaMismatch),
        ("no type!", BadInput),
    ):
        with pytest.raises(error):
            await road.endpoints.test(made.id, kinds)
    with pytest.raises(UnknownEndpoint):
        await road.endpoints.test(made.id, "refund.asked", tenant="other")
    with pytest.raises(BadInput, match="marks test events"):
        await road.publish("refund.asked", 1, channels=("postroad.test",))
    await road.endpoints.disable(made.id)
    with pytest.raises(EndpointDisabled, match="disabled by owner"):
        await road.endpoints.test(made.id, "refund.asked")
    assert (await road.events.list()).events == ()
    await road.endpoints.enable(made.id)
    assert (await road.endpoints.test(made.id, "code.seen")).problems


async def test_a_full_tenant_gets_no_test(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK)
    road._sending.allowance._full["default"] = "full"
    with pytest.raises(TenantFull):
        await road.endpoints.test(made.id)


async def test_over_http_a_test_answers_with_its_message(tmp_path: Any) -> None:
    async with standing(tmp_path) as stand:
        made = (await stand.say("POST", "/v1/endpoints", {"url": HOOK})).json()
        path = f"/v1/endpoints/{made['id']}"
        said = await stand.say("POST", f"{path}/test", {"type": "order.paid"})
        assert (said.status, said.json()["type"]) == (201, "order.paid")
        shown = (await stand.say("GET", f"/v1/messages/{said.json()['message']}")).json()
        assert shown["queue"] == made["queue"]
        await stand.say("PATCH", path, {"state": "disabled"})
        refused = await stand.say("POST", f"{path}/test", {})
        assert (refused.status, kind(refused)) == (409, "endpoint-disabled")


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"examples": [{"id": 7}], "type": "string"}, {"id": 7}),
        ({"enum": ["b", "a"]}, "b"),
        ({"anyOf": [{"const": 4}, {"type": "null"}]}, 4),
        (
            {
                "allOf": [{"properties": {"a": {"default": 1}}}, {"$ref": "#/$defs/b"}],
                "$defs": {"b": {"required": ["b"]}},
            },
            {"b": "test", "a": 1},
        ),
        ({"type": "array", "prefixItems": [{"type": "boolean"}, {"type": "null"}]}, [True, None]),
        ({"type": "string", "minLength": 6}, "testxx"),
        ({"type": "string", "maxLength": 2}, "te"),
        ({"type": "number", "exclusiveMaximum": 0}, -0.5),
        ({"$ref": "https://elsewhere/x"}, "test"),
    ],
)
def test_a_sample_is_what_a_schema_describes(schema: dict[str, Any], expected: object) -> None:
    assert sample(schema) == expected


@pytest.mark.parametrize("bad", [{"minimum": 10**400, "multipleOf": 0.1}, {"multipleOf": 1e-320}])
def test_bounds_that_no_number_fits_give_a_number(bad: dict[str, Any]) -> None:
    assert sample({"type": "number", **bad}) == 1


def test_no_more_parts_are_joined_than_a_sample_has_values() -> None:
    parts = [{"required": [f"n{n}"], "properties": {f"n{n}": {"const": n}}} for n in range(1_000)]
    made = sample({"allOf": parts})
    assert (made["n0"], len(made) <= VALUES_MAX) == (0, True)


def test_a_schema_that_refers_to_itself_has_a_bounded_sample() -> None:
    both = {"a": {"$ref": "#"}, "b": {"$ref": "#"}}
    made = sample({"type": "object", "required": ["a", "b"], "properties": both})
    assert len(json.dumps(made)) < VALUES_MAX * 20
