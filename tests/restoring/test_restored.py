"""A restored road: what it would send is told first; held, it sends nothing; released, all of it."""

import asyncio
import json
import re
import socket
from pathlib import Path
from typing import Any

import psycopg
import pytest

from postroad import Postroad
from postroad.errors import RoadHeld
from postroad.model.credential import CredentialSpec
from postroad.model.mailbox import Post, digest
from postroad.model.restoring import Restoration
from tests.cli.running import WAIT_S, data, postroad, running, start
from tests.servers.door import door_of
from tests.servers.postgres import PrivatePostgres


class World:
    """A road, how it is backed up, and how its backup becomes a road again."""

    def __init__(self, folder: Path, server: PrivatePostgres | None) -> None:
        self._folder = folder
        self._server = server
        self.dsn = f"sqlite:///{folder}/road.db"
        if server is not None:
            self.dsn = server.create_database()
        self.restored = f"sqlite:///{folder}/again.db"

    def back_up(self) -> None:
        if self._server is None:
            assert data("store", "backup", str(self._folder / "again.db"), "--dsn", self.dsn)[
                "rows"
            ]
            return
        name = self.dsn.rpartition("/")[2]
        self.restored = self._server.create_database(template=name)

    def seen_long_ago(self) -> None:
        """Nobody has run the restored road for a minute."""
        if self._server is not None:
            with psycopg.connect(self.restored, autocommit=True) as raw:
                raw.execute("update postroad.process set beat_at = beat_at - 60000")


@pytest.fixture(params=["sqlite", "postgresql"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    server = request.getfixturevalue("server") if request.param == "postgresql" else None
    return World(tmp_path, server)


def road_at(dsn: str, seen: list[Any]) -> Postroad:
    road = Postroad(dsn)

    @road.handler("good")
    async def good(message: Any) -> None:
        seen.append(message.body)

    return road


async def fill(dsn: str) -> list[str]:
    """Three that are due and one that is not; answers with their ids."""
    async with road_at(dsn, []) as road:
        due = [await road.send("good", n) for n in range(3)]
        later = await road.send("good", 3, delay=3_600)
    return [receipt.id for receipt in (*due, later)]


def test_what_would_be_sent_is_told_held_and_let_go(world: World) -> None:
    ids = asyncio.run(fill(world.dsn))
    world.back_up()
    at = ("--dsn", world.restored)
    told = data("store", "restored", *at)
    totals = told["totals"]
    assert (totals["due"], totals["later"], told["held_at_ms"]) == (3, 1, 0)
    assert [(q["tenant"], q["queue"], q["due"], q["later"]) for q in told["queues"]] == [
        ("default", "good", 3, 1)
    ]
    assert told["known"] is world.restored.startswith("sqlite")
    assert 0 < told["backup_at_ms"] <= told["now_ms"]
    world.seen_long_ago()
    assert (
        data("store", "restored", "--hold", "--reason", "look first", *at)["reason"] == "look first"
    )
    seen: list[Any] = []

    async def held() -> str:
        async with road_at(world.restored, seen) as road:
            for until_idle in (True, False):
                with pytest.raises(RoadHeld, match=r"look first.*store release"):
                    await road.run(until_idle=until_idle)
            new = await road.send("good", "new")  # what comes meanwhile is accepted
            explained = await road.explain(ids[0])
            assert (explained.state, explained.because) == ("held", "road held: look first")
            assert "postroad store release" in explained.sentence
            whole = await road.explain_queue("good")
            assert (whole.because, sum(whole.held.values())) == ("road held: look first", 5)
            assert "postroad store release" in whole.sentence
            cancelled = await road.cancel(ids[1])  # the operator knows that it was sent
            assert cancelled.state == "cancelled"
        return new.id

    new = asyncio.run(held())
    assert seen == []
    world.seen_long_ago()
    assert data("store", "release", *at) == {"released": True}
    assert data("store", "release", *at) == {"released": False}

    async def released() -> None:
        async with road_at(world.restored, seen) as road:
            await road.run(until_idle=True)
            states = [(await road.explain(each)).state for each in (*ids, new)]
            assert states == ["delivered", "cancelled", "delivered", "waiting", "delivered"]

    asyncio.run(released())
    assert sorted(map(str, seen)) == ["0", "2", "new"]


def test_all_that_goes_on_is_counted_and_nothing_that_stands_still(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drafts, what is paused and what has ended send nothing after a restore."""
    if world.dsn.startswith("postgresql"):  # a file has its keys beside it
        monkeypatch.setenv("POSTROAD_KEYS", postroad("keys", "new", "k1").stdout.strip())
    asyncio.run(fill(world.dsn))
    asyncio.run(fill_with_all_else(world.dsn, tmp_path))
    world.back_up()
    told = data("store", "restored", "--dsn", world.restored)
    assert told["totals"] == {
        "due": 4, "later": 1, "recipients": 3, "letters": 2, "timetables": 1, "replays": 1,
    }  # fmt: skip
    said = postroad("store", "restored", "--dsn", world.restored).stdout
    for what in (r"3 recipients", r"2 letters", r"timetables +1\b", r"replays +1\b"):
        assert re.search(what, said), said


async def fill_with_all_else(dsn: str, folder: Path) -> None:
    """A campaign, letters, a timetable and a replay that go on, beside some that do not."""
    hook = "https://shop.example/hook"
    async with road_at(dsn, []) as road:
        secret = "whsec_" + "c2VjcmV0IG9mIGEgdGVzdCB0aGF0IGlzIGxvbmc="
        await road.credentials.put("main", CredentialSpec(""), secret, kind="webhook")
        people = folder / "people.csv"
        people.write_text("recipient\n" + "".join(f"{hook}/{n}\n" for n in range(3)))
        for name in ("going", "draft"):
            await road.campaigns.create(name, credential="main", template='{"a": 1}')
            await road.campaigns.import_file(name, people)
        await road.campaigns.start("going")
        box = await road.mailboxes.create()
        store: Any = road.store
        await store.hub_lead()
        post = Post(box.box, digest(box.sender_token), text=True, body=b"a letter")
        await store.box_commit([post, post])
        await store.hub_unlead()
        for name in ("hourly", "paused"):
            await road.timetables.create(name, "good", 1, every=3_600)
        await road.timetables.pause("paused")
        await road.endpoints.create(hook)
        await road.publish("order.paid", 1)
        late = await road.endpoints.create(f"{hook}?late")
        await road.replays.start("missed", endpoint=late.id)
        await road.replays.pause((await road.replays.start("missed", endpoint=late.id)).id)


def test_without_the_hold_it_is_sent_again_and_that_is_told_once(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    """The guard is the hold: without it the restored road sends what the lost one had sent."""
    asyncio.run(fill(world.dsn))
    world.back_up()
    seen: list[Any] = []

    async def run(dsn: str) -> None:
        async with road_at(dsn, seen) as road:
            await road.run(until_idle=True)

    asyncio.run(run(world.dsn))
    asyncio.run(run(world.restored))
    asyncio.run(run(world.restored))
    assert sorted(seen) == [0, 0, 1, 1, 2, 2]
    told = caplog.text.count("runs from a backup")
    assert told == (1 if world.restored.startswith("sqlite") else 0)


def test_a_road_that_runs_is_not_held(tmp_path: Path) -> None:
    """On SQLite its file is locked; on PostgreSQL its signs of life are seen."""
    (tmp_path / "tasks.py").write_text("from postroad import Postroad\n\nroad = Postroad()\n")
    words = ("up", "--listen", "127.0.0.1:0", "--dsn", "sqlite:///road/road.db")
    dsn = f"sqlite:///{tmp_path}/road/road.db"
    with running(tmp_path, *words):
        for command in (("restored",), ("restored", "--hold"), ("release",)):
            refused = postroad("store", *command, "--dsn", dsn)
            assert (refused.exit_code, "is open in process" in refused.stderr) == (3, True)


def test_a_fleet_that_runs_is_not_held(server: PrivatePostgres) -> None:
    dsn = server.create_database()
    asyncio.run(fill(dsn))

    async def story() -> None:
        seen: list[Any] = []
        async with road_at(dsn, seen) as road:
            running = asyncio.create_task(road.run())
            while len(seen) < 3:
                await asyncio.sleep(0.01)
            refused = await asyncio.to_thread(postroad, "store", "restored", "--hold", "--dsn", dsn)
            assert (refused.exit_code, "stop them" in refused.stderr) == (1, True), refused.output
            assert not running.done()
            road.stop()
            await running

    asyncio.run(story())


def test_a_held_road_serves_nothing_but_commands(tmp_path: Path) -> None:
    """`postroad up` and `hub` end with the reason; commands still look into it."""
    dsn = f"sqlite:///{tmp_path}/road.db"
    ids = asyncio.run(fill(dsn))
    assert data("store", "restored", "--hold", "--dsn", dsn)["reason"] == "held by hand"
    for role in ("up", "worker", "hub"):
        process = start(tmp_path, role, "--listen", "127.0.0.1:0", "--dsn", dsn)
        _, said = process.communicate(timeout=WAIT_S)
        assert (process.returncode, "store release" in said) == (3, True), said
        assert door_of(tmp_path, process.pid) is None
    assert data("message", "show", ids[0], "--dsn", dsn)["state"] == "held"
    listed = postroad("messages", "--json", "--dsn", dsn)
    assert {each["because"] for each in json.loads(listed.stdout)["messages"]} == {
        "road held: held by hand"
    }


def test_a_start_that_fails_does_not_forget_the_backup(tmp_path: Path) -> None:
    """The note was deleted before the port was bound: the next start told nobody."""
    asyncio.run(fill(f"sqlite:///{tmp_path}/road.db"))
    dsn = f"sqlite:///{tmp_path}/again.db"
    made = data("store", "backup", f"{tmp_path}/again.db", "--dsn", f"sqlite:///{tmp_path}/road.db")
    assert made["rows"]
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        process = start(tmp_path, "up", "--listen", listen, "--dsn", dsn)
        said = process.communicate(timeout=WAIT_S)
    assert process.returncode, said
    assert data("store", "restored", "--dsn", dsn)["known"], said


def test_bad_input_is_refused_by_name(tmp_path: Path) -> None:
    dsn = f"sqlite:///{tmp_path}/road.db"
    for words, said in (
        (("restored", "--dsn", dsn), "there is no road at"),
        (("restored", "--reason", "x", "--dsn", dsn), "belongs to --hold"),
        (("release", "--dsn", f"amqp://h?state={dsn}"), "in RabbitMQ"),
    ):
        refused = postroad("store", *words)
        assert (refused.exit_code, said in refused.stderr) == (2, True), refused.stderr
    asyncio.run(fill(dsn))
    refused = postroad("store", "restored", "--hold", "--reason", "x" * 501, "--dsn", dsn)
    assert (refused.exit_code, "500 at most" in refused.stderr) == (2, True)


def test_a_hold_that_comes_while_a_process_starts_is_kept(world: World) -> None:
    """The process has read that the road is not held, and is about to run it."""
    noted = asyncio.run(held_while_it_starts(world))
    assert noted
    assert noted.held_at_ms == 2


async def held_while_it_starts(world: World) -> Restoration | None:
    async with road_at(world.dsn, []) as road:
        store: Any = road.store
        asked = store.restoration
        await store.restoration_put(Restoration(1))

        async def held_after_the_answer() -> Restoration | None:
            found: Restoration | None = await asked()
            await store.restoration_put(Restoration(1, 2, "look first"))
            return found

        store.restoration = held_after_the_answer
        with pytest.raises(RoadHeld, match="look first"):
            await road.run(until_idle=True)
        noted: Restoration | None = await asked()
    return noted
