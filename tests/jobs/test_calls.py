"""A registered function is sent to by its name, and gets its arguments, the message and what is
provided."""

import inspect
import logging
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from postroad import Message, Postroad, provided
from postroad.model.errors import BadInput
from postroad.sync import Postroad as Blocking
from postroad.testing.rehearsal import Rehearsal
from tests.jobs.conftest import Within

TYPED = Path(__file__).parent / "typed_calls.py"


class Photo(msgspec.Struct):
    id: int
    width: int = 800


class Album:
    """What a handler may need, and no body."""

    def __init__(self) -> None:
        self.photos: list[object] = []
        self.open = True


async def delivered(road: Postroad, *sends: Any) -> list[Any]:
    """Send, deliver all, and return the receipts; nothing may die."""
    async with road:
        receipts = [await one for one in sends]
        await road.run(until_idle=True)
        assert [one.error for one in (await road.dead.list()).messages] == []
    return receipts


def test_a_handler_of_the_message_is_sent_to_by_its_name(road: Postroad, within: Within) -> None:
    seen: list[tuple[Photo, str]] = []

    @road.handler("resize")
    async def resize(message: Message[Photo]) -> None:
        seen.append((message.body, message.id))

    assert inspect.iscoroutinefunction(resize.function)  # type: ignore[attr-defined]
    assert resize.__name__ == "resize"  # type: ignore[attr-defined]

    async def story() -> None:
        async with road:
            first = await resize.send(Photo(7), key="seven")
            again = await resize.send(Photo(7), key="seven")
            many = await resize.send_many([Photo(8), Photo(9)], headers={"a": "b"})
            assert (again.duplicate, first.queue) == (True, "resize")
            await road.run(until_idle=True)
            assert {one for _, one in seen} == {first.id, *(one.id for one in many)}

    within(story())
    assert sorted(photo.id for photo, _ in seen) == [7, 8, 9]


def test_the_decorated_name_is_still_the_plain_function(road: Postroad, within: Within) -> None:
    @road.handler("double")
    def double(number: int) -> int:
        return 2 * number

    @road.handler("later")
    async def later(message: Message[int]) -> int:
        return message.body

    @road.handler("one more")
    @road.handler("one")
    def twice(message: Message) -> str:
        return f"twice {message}"

    class Fake:
        body = 3

    assert double(4) == 8
    assert within(later(Fake())) == 3  # type: ignore[arg-type]
    assert twice(None) == "twice None"
    assert list(road.registry.functions.handlers) == ["double", "later", "one", "one more"]


def test_a_plain_functions_parameters_are_the_fields_of_its_body(
    road: Postroad, within: Within
) -> None:
    seen: list[object] = []

    @road.handler("crop")
    def crop(photo: Photo, width: int, height: int = 3, *, note: str | None = None) -> None:
        seen.append((photo, width, height, note))

    @road.handler("rotate")
    async def rotate(photo: Photo) -> None:
        seen.append(photo)

    @road.handler("add")
    def add(one, other, /):  # type: ignore[no-untyped-def]
        seen.append(one + other)

    @road.handler("tidy")
    async def tidy() -> None:
        seen.append("tidy")

    async def story() -> None:
        await delivered(
            road,
            crop.send(Photo(1), width=2),
            crop.options(priority=2).send(Photo(1), 2, height=4, note="x"),
            road.send("crop", {"photo": {"id": 5}, "width": 6}),
            rotate.send(Photo(7)),
            add.send(1, 2),
            tidy.send(),
        )

    within(story())
    expected = [
        (Photo(1), 2, 3, None),
        (Photo(1), 2, 4, "x"),
        (Photo(5), 6, 3, None),
        Photo(7),
        3,
        "tidy",
    ]
    assert sorted(map(repr, seen)) == sorted(map(repr, expected))


def test_arguments_that_do_not_fit_are_told_where_they_are_given(
    road: Postroad, within: Within
) -> None:
    @road.handler("crop")
    def crop(width: int, height: int) -> None: ...

    @road.handler("resize")
    def resize(message: Message[Photo]) -> None: ...

    with pytest.raises(BadInput, match=r"'crop' takes \(width: int, height: int\): missing a req"):
        crop.as_send(width=1)  # type: ignore[call-arg]
    said = r"'crop' takes \(width: int, height: int\): there is no hight=: did you mean"
    with pytest.raises(BadInput, match=said):
        crop.as_send(width=1, height=1, hight=2)  # type: ignore[call-arg]
    with pytest.raises(BadInput, match="'resize' takes one argument, its body: 2 were given"):
        resize.as_send(Photo(1), Photo(2))  # type: ignore[call-arg, arg-type]
    with pytest.raises(BadInput, match=r"\): there is no c=: give its arguments"):
        crop.as_send(1, c=3)  # type: ignore[call-arg]
    with pytest.raises(BadInput, match="there is no prio="):
        resize.options(prio=1)  # type: ignore[call-arg]

    async def story() -> None:
        async with road:
            await road.send("crop", {"width": 1, "height": 2, "depth": 3})
            await road.run(until_idle=True)
            (dead,) = (await road.dead.list()).messages
            assert (dead.reason, "the body does not fit crop" in dead.error) == ("rejected", True)

    within(story())


def test_what_is_provided_is_opened_and_closed_with_the_run(road: Postroad, within: Within) -> None:
    told: list[str] = []

    class Client(Album): ...

    class Pool(Album): ...

    async def album() -> AsyncIterator[Album]:
        made = Album()
        yield made
        made.open = False
        told.append(f"closed after {made.photos}")

    @contextmanager
    def client() -> Iterator[Client]:
        told.append("client opened")
        yield Client()
        told.append("client closed")

    async def pool() -> Pool:
        return Pool()

    road.provide(Album, album)
    road.provide(Client, client)
    road.provide(Pool, pool)

    @road.handler("add")
    async def add(photo: Photo, album: Album, log: logging.Logger, message: Message) -> None:
        assert (album.open, log.name) == (True, "postroad.handler.add")
        album.photos.append((photo.id, message.attempt))

    @road.handler("ask")
    def ask(message: Message[int], pool: Pool = provided, client: Client = provided) -> None:
        told.append(f"{type(pool).__name__} and {type(client).__name__} for {message.body}")

    async def story() -> None:
        await delivered(road, road.send("add", Photo(7)), ask.send(3))

    within(story())
    assert sorted(told) == sorted(
        ["client opened", "Pool and Client for 3", "client closed", "closed after [(7, 1)]"]
    )


def test_a_timetable_gets_what_is_provided(tmp_path: Path) -> None:
    seen: list[object] = []
    with Rehearsal(tmp_path / "road.db") as rehearsal:
        rehearsal.provide(Album, Album)

        @rehearsal.every("* * * * *")
        def tick(album: Album) -> None:
            seen.append(type(album))

        rehearsal.deliver_all()
        rehearsal.advance(60)
    assert seen[:1] == [Album]


def test_what_nobody_provides_is_told_before_anything_runs(road: Postroad, within: Within) -> None:
    @road.handler("add")
    async def add(photo: Photo, album: Album) -> None: ...

    async def story() -> None:
        async with road:
            pass

    with pytest.raises(BadInput, match=r"'add': album: Album .* road.provide\(Album, factory\)"):
        within(story())
    with pytest.raises(BadInput, match="Photo is the body of a handler that is registered already"):
        road.provide(Photo, lambda: Photo(1))
    with pytest.raises(BadInput, match="give a function that makes one"):
        road.provide(Album, Album())  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="give a class"):
        road.provide("Album", Album)  # type: ignore[arg-type]
    road.provide(Album, Album)
    within(story())


def test_calls_of_a_blocking_road_block(tmp_path: Path) -> None:
    road = Blocking(f"sqlite:///{tmp_path}/road.db")
    seen: list[object] = []

    @road.handler("first")
    def first(number: int) -> None:
        seen.append(number)
        second.send(number, word="x")

    @road.handler("second")
    def second(number: int, word: str) -> None:
        seen.append((number, word))

    with road:
        assert first.send(1, key="a").queue == "first"
        assert [one.queue for one in second.send_many([{"number": 2, "word": "y"}])] == ["second"]
        road.run(until_idle=True)
        while len(seen) < 3:
            road.run(until_idle=True)
    assert sorted(map(str, seen)) == ["(1, 'x')", "(2, 'y')", "1"]


def test_calls_of_an_adopted_road_go_where_it_was_adopted(tmp_path: Path) -> None:
    """As in a worker with --app, and in tests."""
    mine = Postroad(f"sqlite:///{tmp_path}/mine.db")
    mine.provide(Album, Album)
    seen: list[object] = []

    @mine.handler("first")
    async def first(number: int, album: Album) -> None:
        await second.send(number + 1)
        seen.append(type(album).__name__)

    @mine.handler("second")
    async def second(message: Message[int]) -> None:
        seen.append(message.body)

    class Other(Album): ...

    with Rehearsal(tmp_path / "road.db") as rehearsal:
        rehearsal.provide(Album, Other)  # in place of the program's own
        rehearsal.adopt(mine)
        rehearsal.run(mine.registry.home.now.road.send_many([first.as_send(1)]))  # type: ignore[call-arg]
        rehearsal.deliver_all()
        assert set(seen) == {"Other", 2}
        rehearsal.assert_sent("second", 2, count=1)
    assert mine.registry.home.now is mine.registry.home


@pytest.mark.wide
def test_a_type_checker_checks_what_is_sent_against_the_handlers_parameter(tmp_path: Path) -> None:
    """`make lint` checks the same file, in which no mark may be unused."""
    lines = TYPED.read_text().splitlines()
    refused = {number for number, line in enumerate(lines, 1) if "# type: ignore" in line}
    unmarked = tmp_path / "calls.py"
    unmarked.write_text("\n".join(line.partition("  # type: ignore")[0] for line in lines))
    check = [sys.executable, "-m", "mypy", "--config-file", "/dev/null", "--no-error-summary"]
    where = ["--cache-dir", str(tmp_path / "cache"), str(unmarked)]
    done = subprocess.run([*check, *where], capture_output=True, text=True, check=False)
    told = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert {int(line.split(":")[1]) for line in told} == refused, done.stdout + done.stderr
    assert len(refused) == 15
