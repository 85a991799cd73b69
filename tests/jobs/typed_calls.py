"""Sends to handlers that a type checker accepts, and, marked to be ignored, those that it must
refuse. It is checked, and not run."""

import logging

import msgspec

from postroad import Message, Postroad, provided
from postroad.sync import Postroad as Blocking

road = Postroad("sqlite:///typed.db")
blocking = Blocking("sqlite:///blocking.db")


class Photo(msgspec.Struct):
    id: int


class Album:
    """Something that is provided."""


@road.handler("resize")
async def resize(message: Message[Photo]) -> int:
    return message.body.id


@road.handler("rotate")
async def rotate(photo: Photo, album: Album = provided) -> None:
    del photo, album


@road.handler("crop")
def crop(id: int, width: int, *, log: logging.Logger = provided) -> str:  # noqa: A002
    return f"{id} to {width}, {log}"


@road.handler("tidy")
async def tidy() -> None: ...


@road.handler("frame")
async def frame(message: Message[object], width: int, *, colour: str = "red") -> None:
    del message, width, colour


@road.handler("sign")
async def sign(name: str, message: Message[object] = provided) -> None:
    del name, message


@road.handler("index", batch=500, within=1.0)
async def index(messages: list[Message[Photo]]) -> None:
    del messages


@blocking.handler("gather", batch=500)
async def gather(messages: list[Message[Photo]]) -> None:
    del messages


@blocking.handler("stamp")
def stamp(photo: Photo) -> None:
    del photo


async def main() -> None:
    receipt = await resize.send(Photo(7), delay=5)
    await resize.options(priority=2).send(Photo(8))
    await resize.send_many([Photo(9)], tenant="a")
    await rotate.send(Photo(7))
    await crop.send(id=7, width=3)
    await crop.options(delay=1).send(7, 3)
    await tidy.send()
    assert receipt.id + stamp.send(Photo(1)).id + crop(1, 2).upper()
    stamp(Photo(1))
    await frame.send(width=3)
    await sign.send("Ann")
    await index.send(Photo(7))
    await index.send_many([Photo(7)], delay=1)
    gather.send(Photo(7))
    await resize.send(7)  # type: ignore[arg-type]
    await resize.send(Photo(7), dely=5)  # type: ignore[call-arg]
    await resize.options(prio=2).send(Photo(8))  # type: ignore[call-arg]
    await resize.send_many([7])  # type: ignore[list-item]
    await rotate.send("a photo")  # type: ignore[arg-type]
    await crop.send(id=7)  # type: ignore[call-arg]
    await crop.send(id=7, width="wide")  # type: ignore[arg-type]
    await tidy.send(1)  # type: ignore[call-arg]
    stamp.send(7)  # type: ignore[arg-type]
    await frame.send(width="wide")  # type: ignore[arg-type]
    await frame.send()  # type: ignore[call-arg]
    await sign.send(7)  # type: ignore[arg-type]
    await index.send({"id": 7})  # type: ignore[arg-type]
    await index.send_many([7])  # type: ignore[list-item]
    gather.send([Photo(7)])  # type: ignore[arg-type]
