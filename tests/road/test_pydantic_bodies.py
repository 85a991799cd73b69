"""Pydantic models, dataclasses and attrs classes as bodies, and numbers that JSON does not have."""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf, nan
from pathlib import Path
from typing import Any

import attrs
import msgspec
import pytest
from pydantic import BaseModel, ConfigDict, Field, field_serializer
from pydantic.dataclasses import dataclass as pydantic_dataclass

from postroad import Message, Postroad, sync
from postroad.model.errors import BadBody
from postroad.testing.rehearsal import Rehearsal

Within = Callable[..., Any]


class Item(BaseModel):
    name: str
    price: float | None = None


class Order(BaseModel):
    """Written by its alias and its serialiser, and read by them."""

    number: int = Field(alias="orderNumber")
    at: datetime = datetime(2026, 11, 17, tzinfo=UTC)
    items: list[Item] = []

    @field_serializer("number")
    def as_text(self, number: int) -> str:
        return f"{number:05}"


class Texts(BaseModel):
    """It says itself how a NaN is written."""

    model_config = ConfigDict(ser_json_inf_nan="strings")
    number: float
    other: int | None = None


@pydantic_dataclass
class Place:
    street: str = Field(alias="Street")


@dataclass
class Parcel:
    order: Order
    weight: float = 1.0


class Box(msgspec.Struct):
    orders: list[Order]


@attrs.define
class Stamp:
    value: int


ORDER = Order(orderNumber=7, items=[Item(name="cup")])
AS_READ = {
    "orderNumber": "00007",
    "at": "2026-11-17T00:00:00Z",
    "items": [{"name": "cup", "price": None}],
}
TYPED: list[tuple[object, object, object]] = [
    (Order, ORDER, AS_READ),
    (list[Order], [ORDER], [AS_READ]),
    (Order | None, None, None),
    (dict[str, Order], {"a": ORDER}, {"a": AS_READ}),
    (Parcel, Parcel(ORDER), {"order": AS_READ, "weight": 1.0}),
    (Box, Box([ORDER]), {"orders": [AS_READ]}),
    (Place, Place(Street="High Street"), {"Street": "High Street"}),
    (Stamp, Stamp(3), {"value": 3}),
    (Texts, Texts(number=inf), {"number": "Infinity", "other": None}),
]


@pytest.mark.parametrize(("kind", "sent", "plain"), TYPED)
def test_a_model_is_written_by_itself_and_read_again(
    road: Postroad, within: Within, kind: Any, sent: object, plain: object
) -> None:
    seen: list[object] = []

    @road.handler("typed")
    async def typed(message: Message[kind]) -> None:
        seen.append(message.body)

    @road.handler("plain")
    async def untyped(message: Message) -> None:
        seen.append(message.body)

    async def story() -> None:
        async with road:
            for queue in ("typed", "plain"):
                await road.send(queue, sent)
                await road.run(until_idle=True)

    within(story())
    assert seen == [sent, plain]


class Flat(BaseModel):
    model_config = ConfigDict(extra="forbid")
    secret: int
    a: int = 0
    b: int = 0
    c: int = 0


MISFITS = [
    (Order, {"items": []}, "the body does not fit Order: orderNumber: Field required"),
    (list[Item], [{"name": "a"}, {"name": "b", "price": "s3cret"}], "1.price: Input should be"),
    (Flat, {"secret": "s3cret"}, "the body does not fit Flat: secret: Input should be a valid int"),
    (Flat, dict.fromkeys(("secret", "a", "b", "c", "d"), "s3cret"), r"\(and 2 more\)"),
    (Box, {"orders": [{"orderNumber": "s3cret"}]}, r"orderNumber: .* - at `\$.orders\[0\]`"),
    (Item, b"s3cret", "it was sent as bytes"),
    (Item, "s3cret", "does not fit Item: body: Input should be an object"),
]


@pytest.mark.parametrize(("kind", "body", "says"), MISFITS)
def test_a_body_that_does_not_fit_a_model_is_dead_at_once_and_its_values_are_not_shown(
    road: Postroad, within: Within, kind: Any, body: object, says: str
) -> None:
    @road.handler("work")
    async def work(message: Message[kind]) -> None:
        raise AssertionError(message.body)

    async def story() -> None:
        async with road:
            await road.send("work", body)
            await road.run(until_idle=True)
            (dead,) = (await road.dead.list()).messages
            assert (dead.reason, dead.attempts) == ("rejected", 1)
            assert re.search(says, dead.error)
            assert "s3cret" not in dead.error

    within(story())


NOT_JSON = [
    ({"a": [1, {"b": nan}]}, r"has nan at body.a\[1\].b"),
    (-inf, "has -inf at body, and JSON"),
    ([None, inf], r"has inf at body\[1\]"),
    (Parcel(ORDER, nan), "has nan at body.weight"),
    (Box([Order(orderNumber=1, items=[Item(name="a", price=inf)])]), "body.orders"),
    (Item(name="cup", price=nan), "has nan at body.price"),
    ({"a" * 10_000: nan}, "has nan at body.a{195}, and"),
]


@pytest.mark.parametrize(("body", "says"), NOT_JSON)
def test_a_number_that_json_does_not_have_is_refused_with_its_place(
    road: Postroad, within: Within, body: object, says: str
) -> None:
    """It would arrive as null, and nobody would have been told."""
    road.handler("work")(lambda _message: None)

    async def story() -> None:
        async with road:
            with pytest.raises(BadBody, match=says):
                await road.send("work", body)
            await road.send("work", {"nothing": None, "written": msgspec.Raw(b'{"a":null}')})
            await road.send("work", msgspec.Raw(b"null"))

    within(story())


def test_a_model_that_cannot_be_written_is_refused(road: Postroad, within: Within) -> None:
    class Odd(BaseModel):
        thing: Any

    road.handler("work")(lambda _message: None)

    async def story() -> None:
        async with road:
            for body in (Odd(thing=object()), [Odd], object()):
                with pytest.raises(BadBody, match=r"'work': the body cannot be written as JSON"):
                    await road.send("work", body)

    within(story())


def test_models_in_a_blocking_road_and_in_a_rehearsal(tmp_path: Path) -> None:
    seen: list[object] = []

    def work(message: Message[Order]) -> None:
        seen.append(message.body)

    with sync.Postroad(f"sqlite:///{tmp_path}/road.db") as road:
        road.handler("work")(work)
        road.send("work", ORDER)
        road.run(until_idle=True)
    with Rehearsal(tmp_path / "rehearsed.db") as rehearsal:
        rehearsal.handler("work")(work)
        rehearsal.send("work", ORDER)
        rehearsal.assert_sent("work", ORDER)
        assert rehearsal.deliver_all() == 1
    assert seen == [ORDER, ORDER]


def test_sending_and_typed_handlers_do_not_import_pydantic(tmp_path: Path) -> None:
    """In a process of its own; a body with a null is one that is looked through."""
    program = f"""
import asyncio, sys
from dataclasses import dataclass
from postroad import Message, Postroad

@dataclass
class Place:
    street: str | None

road = Postroad("sqlite:///{tmp_path}/road.db")

@road.handler("work")
async def work(message: Message[Place]):
    print(message.body)

async def main():
    async with road:
        await road.send("work", Place(None))
        await road.run(until_idle=True)

asyncio.run(main())
print([name for name in sys.modules if name.startswith("pydantic")])
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout == "Place(street=None)\n[]\n"
