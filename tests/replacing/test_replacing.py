"""Replacing: the newest body wins and is sent once, when quiet or after `at_most`; the answer says what
became of the earlier one."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from postroad import Message, Postroad, Send, sync
from postroad.errors import BadInput, BadTime
from postroad.testing.rehearsal import Rehearsal
from tests.cli.running import postroad
from tests.replacing.racing import race


@pytest.fixture
def got(road: Postroad) -> list[object]:
    """What the handler `note` got."""
    found: list[object] = []

    @road.handler("note")
    async def note(message: Message) -> None:
        found.append(message.body)

    return found


async def test_the_newest_of_racing_bodies_is_sent_once(dsn: str) -> None:
    roads = 1 if dsn.startswith("sqlite") else 3
    assert (await race(dsn, 600, 20, roads)).breaches == []


async def test_the_answer_says_what_became_of_the_earlier_one(
    road: Postroad, got: list[object]
) -> None:
    first = await road.send("note", 1, replace="k", delay=600)
    assert first.earlier == ""
    second = await road.send("note", 2, replace="k", delay=600)
    assert (second.earlier, second.id != first.id) == ("replaced", True)
    assert (await road.explain(first.id)).state == "cancelled"
    last = await road.send("note", 3, replace="k")
    assert last.earlier == "replaced"
    after = await road.send("note", 4, replace="k", delay=600)
    assert after.earlier == "started"  # it is due: somebody may be at it
    other = await road.send("note", 5, replace="other", delay=600)
    assert other.earlier == ""
    await road.run(until_idle=True)
    assert got == [3]
    assert (await road.send("note", 6, replace="k")).earlier == "replaced"
    await road.run(until_idle=True)
    assert got == [3, 6]
    assert (await road.send("note", 7, replace="k", delay=600)).earlier == ""


async def test_one_that_runs_is_not_replaced(dsn: str) -> None:
    """The answer says so, and the newer one is sent too."""
    road, got = Postroad(dsn), list[object]()
    begun, go_on = asyncio.Event(), asyncio.Event()

    @road.handler("slow")
    async def slow(message: Message) -> None:
        begun.set()
        await go_on.wait()
        got.append(message.body)

    async with road:
        running = asyncio.create_task(road.run())
        _ = await road.send("slow", 1, replace="k")
        async with asyncio.timeout(60):
            await begun.wait()
            newer = await road.send("slow", 2, replace="k")
            assert newer.earlier == "started"
            go_on.set()
            while (await road.explain(newer.id)).state != "delivered":
                await asyncio.sleep(0.01)
        road.stop()
        await running
    assert got == [1, 2]


async def test_many_at_once_replace_each_other_in_order(road: Postroad, got: list[object]) -> None:
    sends = [Send("note", n, replace=f"k{n % 2}", delay=0 if n > 7 else 600) for n in range(10)]
    receipts = await road.send_many([*sends, Send("note", "plain")])
    assert [one.earlier for one in receipts] == ["", "", *["replaced"] * 8, ""]
    await road.run(until_idle=True)
    assert sorted(map(str, got)) == ["8", "9", "plain"]
    assert (await road.explain(receipts[0].id)).state == "cancelled"


async def test_one_within_its_time_is_one(road: Postroad, got: list[object]) -> None:
    first = await road.send("note", {"a": 1}, unique_for=600)
    again = await road.send("note", {"a": 1}, unique_for=600)
    assert (again.id, again.duplicate) == (first.id, True)
    assert not (await road.send("note", {"a": 2}, unique_for=600)).duplicate
    named = await road.send("note", 1, key="n", unique_for=600)
    assert (await road.send("note", 2, key="n", unique_for=600)).id == named.id
    await road.run(until_idle=True)
    assert len(got) == 3


async def test_bad_input_is_named(road: Postroad, got: list[object]) -> None:
    wrong: list[dict[str, Any]] = [
        {"replace": ""},
        {"replace": 7},
        {"replace": "k", "key": "x"},
        {"replace": "k", "order_key": "x"},
        {"replace": "k", "unique_for": 5},
        {"at_most": 5},
        {"replace": "k" * 300},
    ]
    for options in wrong:
        with pytest.raises(BadInput):
            await road.send("note", 1, **options)
    late: list[dict[str, Any]] = [{"replace": "k", "at_most": -1}, {"unique_for": -1}]
    for options in late:
        with pytest.raises(BadTime):
            await road.send("note", 1, **options)
    with pytest.raises(BadInput, match="takes no replace"):
        await road.batch([Send("note", 1, replace="k")])
    await road.run(until_idle=True)
    assert got == []


def test_it_is_sent_when_quiet_or_after_at_most(tmp_path: Path) -> None:
    with Rehearsal(tmp_path / "road.db") as road:
        found: list[tuple[object, float]] = []
        start = road.now

        @road.handler("note")
        async def note(message: Message) -> None:
            found.append((message.body, (road.now - start).total_seconds()))

        for n in range(10):
            road.send("note", n, replace="quiet", delay=5)
            road.send("note", f"at most {n}", replace="most", delay=5, at_most=12)
            road.advance(2)
        road.advance(60)
        bodies = [body for body, _ in found]
        assert bodies.count(9) == 1
        assert not {*range(9)} & {body for body in bodies if isinstance(body, int)}
        early = [(body, at) for body, at in found if str(body).startswith("at most")]
        assert early[0][1] == pytest.approx(12, abs=1)
        assert early[-1][0] == "at most 9"


def test_a_key_is_free_again_after_its_time(tmp_path: Path) -> None:
    with Rehearsal(tmp_path / "road.db") as road:

        @road.handler("note")
        async def note(message: Message) -> None: ...

        first = road.send("note", 1, unique_for=60)
        road.advance(59)
        assert road.send("note", 1, unique_for=60).id == first.id
        road.advance(2)
        assert road.send("note", 1, unique_for=60).id != first.id


def test_the_command_and_the_blocking_face_replace(tmp_path: Path) -> None:
    dsn, found = f"sqlite:///{tmp_path}/road.db", list[object]()
    with sync.Postroad(dsn) as road:

        @road.handler("note")
        def note(message: Message) -> None:
            found.append(message.body)

        one = road.send("note", 1, replace="k", delay=600)
        two = road.send("note", 2, replace="k", delay=600)
        assert (one.earlier, two.earlier) == ("", "replaced")
        assert road.send("note", 3, unique_for=600).id == road.send("note", 3, unique_for=600).id
        words = ("--with", "replace=k", "--with", "at_most=60", "--dsn", dsn)
        said = postroad("send", "note", "4", *words)
        assert "is stored; the earlier one is cancelled" in said.stdout
        said = postroad("send", "note", "5", *words)
        assert "is stored; the earlier one has started, and is sent, too" in said.stdout
        unique = ("send", "note", "6", "--with", "unique_for=600", "--dsn", dsn)
        assert "is stored" in postroad(*unique).stdout
        assert "was stored before, under the same key" in postroad(*unique).stdout
        road.run(until_idle=True)
    assert sorted(map(str, found)) == ["3", "4", "5", "6"]
