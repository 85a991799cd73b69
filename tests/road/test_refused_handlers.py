"""Functions that cannot work as handlers are refused where they are registered, not run for nothing
when messages come."""

import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from postroad import Message, Postroad
from postroad.model.errors import BadInput

if TYPE_CHECKING:
    from decimal import Decimal


def generator(_message: Message[int]) -> Iterator[int]:
    yield 1


async def async_generator(_message: Message[int]) -> AsyncIterator[int]:
    yield 1


class Yields:
    def __call__(self, _message: Message[int]) -> Iterator[int]:
        yield 1


def names(**_names: Any) -> None: ...


def names_after_a_logger(_logger: logging.Logger, **_names: Any) -> None: ...


async def hidden(_price: "Decimal") -> None: ...


def hidden_within(_name: str, _price: "Decimal") -> None: ...


async def hidden_message(_message: "Message[Decimal]") -> None: ...


REFUSED: list[tuple[Callable[..., Any], str]] = [
    (generator, "generator has a `yield`"),
    (async_generator, "async_generator has a `yield`"),
    (Yields(), "has a `yield`"),
    (names, r"names takes `\*\*` alone"),
    (names_after_a_logger, r"takes `\*\*` alone"),
    (hidden, "hidden: Decimal cannot be read .* not under `if TYPE_CHECKING:`"),
    (hidden_within, "hidden_within: Decimal cannot be read"),
    (hidden_message, r"hidden_message: Message\[Decimal\] cannot be read"),
]


@pytest.mark.parametrize(("function", "says"), REFUSED)
def test_a_function_that_cannot_be_called_with_a_message_is_refused(
    road: Postroad, function: Callable[..., Any], says: str
) -> None:
    with pytest.raises(BadInput, match=says):
        road.handler("work")(function)
    with pytest.raises(BadInput):
        road.every("@hourly")(function)


async def one(_message: Message[int]) -> None: ...


async def nothing() -> None: ...


async def number(_number: int) -> None: ...


async def numbers(_numbers: list[int]) -> None: ...


async def two(_messages: list[Message[int]], _other: int) -> None: ...


async def yields(_messages: list[Message[int]]) -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize("function", [one, nothing, number, numbers, two, yields])
def test_a_function_that_takes_no_list_is_refused_with_batch(
    road: Postroad, function: Callable[..., Any]
) -> None:
    with pytest.raises(BadInput, match=function.__name__):
        road.handler("work", batch=2)(function)


async def sequence(_messages: Sequence[Message[int]]) -> None: ...


async def bare(_messages: list) -> None: ...  # type: ignore[type-arg]


async def untyped(_messages) -> None: ...  # type: ignore[no-untyped-def]


@pytest.mark.parametrize("function", [sequence, bare, untyped])
def test_a_function_that_takes_a_list_of_whatever_kind_is_taken_with_batch(
    road: Postroad, function: Callable[..., Any]
) -> None:
    assert road.handler("work", batch=2)(function).name == "work"


def test_a_message_that_only_the_type_checker_knows_is_the_message(
    road: Postroad, within: Callable[..., Any]
) -> None:
    """Nothing else could be meant."""
    seen = list[object]()

    async def handler(message: "Message") -> None:
        seen.append(message.body)

    handler.__annotations__["message"] = "hidden.Message"
    road.handler("work")(handler)

    async def story() -> None:
        async with road:
            await road.send("work", 7)
            await road.run(until_idle=True)

    within(story())
    assert seen == [7]
