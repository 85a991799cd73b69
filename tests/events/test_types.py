"""Event types: their schemas are checked at publish, and nothing is fetched for them."""

import time
from typing import Any

import pytest

from postroad import Postroad
from postroad.model.endpoint import OPERATOR
from postroad.model.errors import (
    BadInput,
    BadSchema,
    EventTypeArchived,
    SchemaMismatch,
    UnknownEventType,
)

HOOK = "http://127.0.0.1:9/hook"
ORDER: dict[str, Any] = {
    "type": "object",
    "required": ["id"],
    "properties": {
        "id": {"type": "integer"},
        "lines": {"type": "array", "items": {"properties": {"a/b": {"type": "string"}}}},
    },
}


async def test_a_body_that_does_not_fit_is_refused_with_its_pointer(road: Postroad) -> None:
    await road.event_types.set("order.paid", schema=ORDER)
    assert (await road.publish("order.paid", {"id": 7})).problems == ()
    with pytest.raises(SchemaMismatch, match=r"/id: .*not of type"):
        await road.publish("order.paid", {"id": "7"})
    with pytest.raises(SchemaMismatch, match="/lines/1/a~1b: "):
        await road.publish("order.paid", {"id": 7, "lines": [{}, {"a/b": 1}]})
    with pytest.raises(SchemaMismatch, match="id"):
        await road.publish("order.paid", {})
    assert len((await road.events.list()).events) == 1


async def test_a_type_may_only_warn(road: Postroad) -> None:
    await road.event_types.set("order.paid", schema=ORDER, warn=True)
    (problem,) = (await road.publish("order.paid", {"id": "7"})).problems
    assert problem.startswith("/id: ")


async def test_unknown_and_archived_types_are_refused_once_a_road_has_types(road: Postroad) -> None:
    assert (await road.publish("anything", 1)).id
    await road.event_types.set("order.paid", description="An order was paid")
    with pytest.raises(UnknownEventType, match=r"order\.paid"):
        await road.publish("order.payd", 1)
    await road.event_types.set("order.paid", archived=True)
    with pytest.raises(EventTypeArchived):
        await road.publish("order.paid", 1)
    assert (await road.event_types.list(archived=False)).event_types == ()
    (kind,) = (await road.event_types.list()).event_types
    assert kind == await road.event_types.get("order.paid")
    with pytest.raises(UnknownEventType):
        await road.event_types.get("order.payd")


async def test_what_is_refused_is_taken_as_soon_as_its_type_allows_it(road: Postroad) -> None:
    await road.event_types.set("order.paid", archived=True)
    with pytest.raises(UnknownEventType):
        await road.publish("order.late", 1)
    await road.event_types.set("order.late")
    assert (await road.publish("order.late", 1)).id
    with pytest.raises(EventTypeArchived):
        await road.publish("order.paid", 1)
    await road.event_types.set("order.paid", schema=ORDER)
    with pytest.raises(SchemaMismatch):
        await road.publish("order.paid", {"id": "7"})
    await road.event_types.set("order.paid")
    assert (await road.publish("order.paid", {"id": "7"})).id


async def test_a_test_event_is_of_the_types_of_now(road: Postroad) -> None:
    made = await road.endpoints.create(HOOK)
    await road.event_types.set("order.paid")
    assert (await road.endpoints.test(made.id, "order.paid")).type == "order.paid"
    with pytest.raises(UnknownEventType):
        await road.endpoints.test(made.id, "order.late")
    await road.event_types.set("order.late")
    assert (await road.endpoints.test(made.id, "order.late")).type == "order.late"


async def test_an_endpoint_says_which_of_its_types_the_road_does_not_have(road: Postroad) -> None:
    """They may be misspelt, or come later: it is made all the same."""
    wanted = ("order.*", "order.payd", "refund.*", "*")
    made = await road.endpoints.create(HOOK, types=wanted)
    assert made.unknown_types == (), "a road without event types publishes every name"
    await road.event_types.set("order.paid")
    assert (await road.endpoints.get(made.id)).unknown_types == ("order.payd", "refund.*")
    again = await road.endpoints.create(HOOK, types=wanted)
    assert again.unknown_types == ("order.payd", "refund.*")
    changed = await road.endpoints.change(made.id, types=("order.paid",))
    assert changed.unknown_types == ()
    own = ("endpoint.*", "message.dead", "endpoint.faling")
    operators = await road.endpoints.create(HOOK, types=own, tenant=OPERATOR)
    assert operators.unknown_types == ("endpoint.faling",)


async def test_a_schema_that_cannot_be_used_is_refused(road: Postroad) -> None:
    bad: list[dict[str, Any]] = [
        {"type": "strin"},
        {"$ref": "https://example.com/schema.json"},
        {"$ref": "file:///etc/passwd"},
        {"$ref": "#/nowhere"},
        {"pattern": r"(a)\1"},
        {"pattern": "(((a{1,1000}){1,1000}){1,1000})"},
        {"enum": ["x" * 300_000]},
    ]
    for schema in bad:
        with pytest.raises(BadSchema):
            await road.event_types.set("order.paid", schema=schema)
    assert (await road.event_types.list()).event_types == ()


async def test_patterns_are_matched_in_linear_time(road: Postroad) -> None:
    await road.event_types.set("order.paid", schema={"pattern": "^(a+)+$"})
    begun = time.process_time()
    with pytest.raises(SchemaMismatch):
        await road.publish("order.paid", "a" * 50_000 + "!")
    assert time.process_time() - begun < 5


@pytest.mark.parametrize(
    ("schema", "body", "problems"),
    [
        ({"items": {"type": "integer"}}, [1, "x"], ('/1: "x" is not of type integer',)),
        ({"allOf": [{"required": ["a"]}, {"minProperties": 2}]}, {}, 2),
        (
            {"properties": {"a": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"enum": [1]}}},
            {"a": 2},
            "/a: ",
        ),
        (
            {"$id": "https://example.com/s", "properties": {"a": {"$ref": "#"}}, "type": "object"},
            {"a": {"a": 1}},
            ("/a/a: 1 is not of type object",),
        ),
        (
            {"prefixItems": [{"type": "string"}], "items": False},
            ["a", 2],
            ("/1: nothing may be here",),
        ),
        (
            {"additionalProperties": {"maxLength": 1}},
            {"a/b": "xy"},
            ('/a~1b: "xy" does not fit maxLength: 1',),
        ),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, 1, ("(the body): does not fit anyOf",)),
        (
            {"properties": {"a": {"$ref": "#x"}}, "$defs": {"x": {"$anchor": "x", "type": "null"}}},
            {"a": 1},
            ("/a: does not fit $ref",),
        ),
        (
            {"required": ["a", "b"]},
            {},
            ('(the body): "a" is missing', '(the body): "b" is missing'),
        ),
        (
            {"type": "array", "items": {"$ref": "#"}},
            [[["x"]]],
            ('/0/0/0: "x" is not of type array',),
        ),
    ],
)
async def test_each_place_that_does_not_fit_is_told(
    road: Postroad, schema: dict[str, Any], body: Any, problems: Any
) -> None:
    await road.event_types.set("order.paid", schema=schema, warn=True)
    said = (await road.publish("order.paid", body)).problems
    if isinstance(problems, int):
        assert len(said) == problems
    elif isinstance(problems, str):
        assert said[0].startswith(problems)
    else:
        assert said == problems


@pytest.mark.parametrize(
    ("schema", "body"),
    [
        ({"items": {"type": "integer"}}, ["x"] * 200_000),
        ({"items": {"type": "integer"}}, [*[1] * 200_000, "x"]),
        ({"anyOf": [{"items": {"const": i}} for i in range(200)]}, [-1] * 50_000),
        ({"type": "array", "items": {"$ref": "#"}}, [[["x"] * 200_000]]),
        ({"additionalProperties": False}, {f"k{i}": 1 for i in range(60_000)}),
    ],
)
async def test_a_large_body_that_does_not_fit_is_refused_at_once(
    road: Postroad, schema: dict[str, Any], body: Any
) -> None:
    """All its errors together would take half a minute, in which nothing else goes on."""
    await road.event_types.set("order.paid", schema=schema)
    begun = time.process_time()
    with pytest.raises(SchemaMismatch) as refused:
        await road.publish("order.paid", body)
    assert time.process_time() - begun < 5
    assert len(str(refused.value)) < 2_000


async def test_a_schema_that_looks_too_often_at_one_place_is_refused(road: Postroad) -> None:
    """A publish would never end."""
    four: dict[str, Any] = {
        f"{i}": {"allOf": [{"$ref": f"#/$defs/{i + 1}"}] * 4} for i in range(14)
    }
    deeper: dict[str, Any] = {
        f"{i}": {"properties": {"a": {"anyOf": [{"$ref": f"#/$defs/{i + 1}"}] * 4}}}
        for i in range(14)
    }
    named = {f"{i}": {"$anchor": f"d{i}", "allOf": [{"$ref": f"#d{i + 1}"}] * 4} for i in range(14)}
    last: dict[str, Any] = {"14": {"$anchor": "d14", "type": "object"}}
    for parts in (four, deeper, named):
        with pytest.raises(BadSchema, match="times at one place"):
            schema: dict[str, Any] = {"$defs": parts | last, "$ref": "#/$defs/0"}
            await road.event_types.set("order.paid", schema=schema)
    kinds = [{"properties": {"k": {"const": i}, "of": {"$ref": "#"}}} for i in range(100)]
    await road.event_types.set("order.paid", schema={"anyOf": kinds})
    body: dict[str, Any] = {}
    for _ in range(50):
        body = {"k": 99, "of": body}
    assert (await road.publish("order.paid", body)).problems == ()


async def test_types_are_exported_as_openapi_webhooks_and_imported_again(road: Postroad) -> None:
    money = {"type": "object", "properties": {"cents": {"type": "integer"}}}
    body = {"$ref": "#/components/schemas/Order"}
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "webhooks": {
            "order.paid": {
                "post": {
                    "description": "An order was paid",
                    "requestBody": {"content": {"application/json": {"schema": body}}},
                }
            },
            "ping": {"post": {}},
        },
        "components": {
            "schemas": {
                "Order": {"properties": {"total": {"$ref": "#/components/schemas/Money"}}},
                "Money": money,
                "Unused": {},
            }
        },
    }
    imported = await road.event_types.import_openapi(document)
    assert [kind.name for kind in imported.event_types] == ["order.paid", "ping"]
    with pytest.raises(SchemaMismatch, match="/total/cents: "):
        await road.publish("order.paid", {"total": {"cents": "7"}})
    exported: Any = await road.event_types.export_openapi()
    assert exported["components"]["schemas"].keys() == {"Order", "Money"}
    assert exported["webhooks"]["order.paid"]["post"]["description"] == "An order was paid"
    before = await road.event_types.list()
    await road.event_types.import_openapi(exported)
    after = await road.event_types.list()
    assert [k.schema for k in after.event_types][:1] == [k.schema for k in before.event_types][:1]
    bad: list[dict[str, Any]] = [{}, {"webhooks": {"order.paid": []}}]
    for wrong in [*bad, {"webhooks": {"no name": {"post": {}}}}]:
        with pytest.raises(BadInput):
            await road.event_types.import_openapi(wrong)


async def test_shared_schemas_of_the_same_name_are_kept_apart_in_an_export(road: Postroad) -> None:
    """Each refers to one that is alike, and which refers to one that differs."""
    refer = {"$ref": "#/components/schemas/Order"}
    for name, needed in (("order.paid", "paid"), ("order.late", "late"), ("order.lost", "paid")):
        parts = {
            "Order": {"properties": {"id": {"$ref": "#/components/schemas/Id"}}},
            "Id": {"required": [needed]},
        }
        await road.event_types.set(name, schema={**refer, "components": {"schemas": parts}})
    exported: Any = await road.event_types.export_openapi()
    await road.event_types.import_openapi(exported)
    for name, needed in (("order.paid", "paid"), ("order.late", "late"), ("order.lost", "paid")):
        assert (await road.publish(name, {"id": {needed: 1}})).problems == ()
        with pytest.raises(SchemaMismatch):
            await road.publish(name, {"id": {}})
    assert {"Id", "Id.order.lost", "Id.order.paid"} < exported["components"]["schemas"].keys()
