"""Typed bodies: what a handler's signature asks for is checked before it is called."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypedDict

import msgspec
import pytest

from postroad import Message, Postroad
from postroad.model.errors import BadInput

Within = Callable[..., Any]


class Order(msgspec.Struct):
    id: int
    items: list[str] = []


@dataclass
class Place:
    street: str
    number: int = 1


class Loose(TypedDict):
    word: str


async def died(road: Postroad) -> list[tuple[str, str]]:
    """Why each dead message died."""
    page = await road.dead.list()
    return [(entry.reason, entry.error) for entry in page.messages]


GOOD: list[tuple[str, object, object]] = [
    ("orders", Order(1, ["cup"]), Order(1, ["cup"])),
    ("orders", {"id": 2}, Order(2)),
    ("places", Place("High Street", 3), Place("High Street", 3)),
    ("loose", {"word": "a"}, {"word": "a"}),
    ("loose", 7, 7),
    ("text", [{"street": "Low Street"}], [Place("Low Street")]),
    ("raw", b"\xff", b"\xff"),
]


@pytest.mark.parametrize(("queue", "sent", "read"), GOOD)
def test_a_struct_a_dataclass_and_other_types_are_made_of_the_body(
    road: Postroad, within: Within, queue: str, sent: object, read: object
) -> None:
    """Sent as the same type, or as plain data."""
    seen: list[object] = []

    @road.handler("orders")
    async def on_order(message: Message[Order]) -> None:
        seen.append(message.body)

    @road.handler("places")
    def on_place(message: Message[Place]) -> None:
        seen.append(message.body)

    @road.handler("loose")
    async def on_loose(message: Message[Loose | int]) -> None:
        seen.append(message.body)

    @road.handler("text")
    async def on_text(message: "Message[list[Place]]") -> None:
        seen.append(message.body)

    @road.handler("raw")
    async def on_raw(message: Message[bytes]) -> None:
        seen.append(message.body)

    async def story() -> None:
        async with road:
            await road.send(queue, sent)
            await road.run(until_idle=True)

    within(story())
    assert seen == [read]


BAD = [
    ("orders", {"id": "seven"}, r"does not fit Order: Expected `int`, got `str` - at `\$.id`"),
    ("orders", {}, "does not fit Order: Object missing required field `id`"),
    ("orders", {"id": 1, "items": ["a", 2]}, r"got `int` - at `\$.items\[1\]`"),
    ("orders", b"bytes", "does not fit Order: it was sent as bytes"),
    (
        "places",
        {"street": None},
        r"does not fit Place: Expected `str`, got `null` - at `\$.street`",
    ),
    ("raw", {"a": 1}, "does not fit bytes: it was sent as data"),
]


@pytest.mark.parametrize(("queue", "body", "says"), BAD)
def test_a_body_that_does_not_fit_is_rejected_and_the_error_names_the_field(
    road: Postroad, within: Within, queue: str, body: object, says: str
) -> None:
    """Dead at once: no retry makes it fit. The handler is not called."""
    called: list[object] = []

    @road.handler("orders")
    async def on_order(message: Message[Order]) -> None:
        called.append(message)

    @road.handler("places")
    def on_place(message: Message[Place]) -> None:
        called.append(message)

    @road.handler("raw")
    async def on_raw(message: Message[bytes]) -> None:
        called.append(message)

    async def story() -> list[tuple[str, str]]:
        async with road:
            await road.send(queue, body)
            await road.run(until_idle=True)
            return await died(road)

    ((reason, error),) = within(story())
    assert reason == "rejected"
    with pytest.raises(ValueError, match=says):
        raise ValueError(error)
    assert called == []


def test_a_handler_that_says_nothing_gets_plain_data(road: Postroad, within: Within) -> None:
    """Also one that says Message[Any], or something else."""
    seen: list[object] = []
    road.handler("a")(lambda message: seen.append(message.body))

    @road.handler("b")
    async def any_of(message: Message[Any]) -> None:
        seen.append(message.body)

    @road.handler("c")
    async def other(message: object) -> None:
        seen.append(message.body)  # type: ignore[attr-defined]

    class Deep:
        async def __call__(self, message: "Message") -> None:
            seen.append(message.body)

    road.handler("d")(Deep())

    async def story() -> None:
        async with road:
            for queue in "abcd":
                await road.send(queue, {"id": "x"})
            await road.run(until_idle=True)

    within(story())
    assert seen == [{"id": "x"}] * 4


def test_a_signature_that_cannot_be_meant_is_refused_at_once(road: Postroad) -> None:
    """Where it is written, not when a message comes."""

    async def local(message: "Message[NotThere]") -> None: ...  # type: ignore[name-defined]  # noqa: F821

    async def odd(message: Message[complex]) -> None: ...

    async def twice(one: Message, other: Message) -> None: ...

    def method(self: object, number: int) -> None: ...

    with pytest.raises(BadInput, match="'NotThere' is not defined"):
        road.handler("work")(local)
    with pytest.raises(BadInput, match=r"Message\[complex\] cannot be read"):
        road.handler("work")(odd)
    with pytest.raises(BadInput, match="takes the message twice: one, other"):
        road.handler("work")(twice)
    with pytest.raises(BadInput, match="is a method: register it of an object"):
        road.handler("work")(method)
