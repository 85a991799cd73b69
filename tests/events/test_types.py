"""Event types: their schemas are checked at publish, and nothing is fetched for them."""

import time
from typing import Any

import pytest

from postroad import Postroad
from postroad.model.errors import (
    BadInput,
    BadSchema,
    EventTypeArchived,
    SchemaMismatch,
    UnknownEventType,
)

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
