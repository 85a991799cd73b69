"""A message's own authorization and cookies: sealed where it lies, in clear where it goes."""

import asyncio
import os
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from postroad import Postroad, Reject
from postroad.model.errors import BadInput, BadKey, Conflict
from postroad.model.keyring import new_key
from postroad.stores.copying import copy
from tests.servers.postgres import PrivatePostgres

SECRETS = {"Authorization": "Bearer hush", "cookie": "id=hush", "Proxy-Authorization": "hush"}
GIVEN = {**SECRETS, "x-plain": "seen"}


def road_at(dsn: str, got: list[dict[str, str]], *, works: bool = True) -> Postroad:
    road = Postroad(dsn)

    @road.handler("inbox")
    async def inbox(message: Any) -> None:
        got.append(message.headers)
        if not works:
            raise Reject("no")

    return road


def raw(path: Path) -> bytes:
    """All that is on the disk, whatever table it is in."""
    return b"".join(
        file.read_bytes() for file in path.parent.glob(f"{path.name}*") if file.is_file()
    )


def test_secret_headers_are_sealed_in_the_file_and_clear_for_the_receiver(tmp_path: Path) -> None:
    path, got = tmp_path / "road.db", list[dict[str, str]]()

    async def story() -> None:
        async with road_at(f"sqlite:///{path}", got) as road:
            await road.send("inbox", 1, headers=GIVEN)
            assert b"seen" in raw(path)
            assert b"hush" not in raw(path)
            await road.run(until_idle=True)
        assert got == [GIVEN]
        assert b"hush" not in raw(path)

    asyncio.run(story())


def test_a_dead_message_shows_no_secret_and_is_replayed_with_it(tmp_path: Path) -> None:
    path, got = tmp_path / "road.db", list[dict[str, str]]()

    async def story() -> None:
        async with road_at(f"sqlite:///{path}", got, works=False) as road:
            number = (await road.send("inbox", 1, headers=GIVEN)).id
            await road.run(until_idle=True)
            shown = (await road.dead.show(number)).headers
            assert shown == {**dict.fromkeys(SECRETS, "…"), "x-plain": "seen"}
            assert b"hush" not in raw(path)
            await road.dead.replay(ids=[number])
            await road.run(until_idle=True)
        assert got == [GIVEN, GIVEN]

    asyncio.run(story())


@pytest.mark.parametrize(
    "headers",
    [[("authorization", "hush")], {"authorization": b"hush"}, "hush", {"cookie": ["hush"]}],
)
def test_headers_that_are_refused_are_not_in_the_error(tmp_path: Path, headers: Any) -> None:
    async def story() -> None:
        async with road_at(f"sqlite:///{tmp_path}/road.db", []) as road:
            with pytest.raises(BadInput, match="texts") as refused:
                await road.send("inbox", 1, headers=headers)
            assert "hush" not in str(refused.value)

    asyncio.run(story())


def test_a_dead_message_with_a_strangers_headers_is_shown_all_the_same(tmp_path: Path) -> None:
    async def story() -> None:
        async with road_at(f"sqlite:///{tmp_path}/road.db", [], works=False) as road:
            number = (await road.send("inbox", 1, headers=GIVEN)).id
            await road.run(until_idle=True)
            road.connection().execute("update dead set headers = ?", (b'{"a":"\xff',))
            letter = await road.dead.show(number)
            assert (letter.body, list(letter.headers)) == (b"1", ["unreadable"])

    asyncio.run(story())


def test_a_key_means_the_same_message_whatever_its_token_is(tmp_path: Path) -> None:
    async def story() -> None:
        async with road_at(f"sqlite:///{tmp_path}/road.db", []) as road:
            first = await road.send("inbox", 1, key="k", headers=GIVEN)
            fresh = {**GIVEN, "Authorization": "Bearer fresh"}
            again = await road.send("inbox", 1, key="k", headers=fresh)
            assert (again.id, again.duplicate) == (first.id, True)
            with pytest.raises(Conflict):
                await road.send("inbox", 1, key="k", headers={**GIVEN, "x-plain": "other"})

    asyncio.run(story())


def test_a_sealed_header_opens_in_its_own_message_only(tmp_path: Path) -> None:
    """Moved to another message by somebody who can write to the file, it is not sent."""
    path, got = tmp_path / "road.db", list[dict[str, str]]()

    async def story() -> None:
        async with road_at(f"sqlite:///{path}", got) as road:
            await road.send("inbox", 1, headers=GIVEN)
            theirs = (await road.send("inbox", 2, delay=3600)).id
            await road.run(until_idle=True)
            one = (await road.send("inbox", 3, delay=3600, headers=GIVEN)).id
            mover = road.connection()
            mover.execute(
                "update message set headers = (select max(headers) from message), due = 0"
            )
            mover.execute("update message set place = 0")
            mover.close()
            assert one != theirs
        async with road_at(f"sqlite:///{path}", got) as road:
            await road.store.pause_queue(await queue_of(road), paused=True)
            await road.store.pause_queue(await queue_of(road), paused=False)
            task = asyncio.create_task(road.run())
            async with asyncio.timeout(60):
                while not (tries := (await road.explain(theirs)).tries):
                    await asyncio.sleep(0.02)
            road.stop()
            await task
            assert (tries[0].outcome, "moved here" in tries[0].error) == ("failed", True)

    asyncio.run(story())


@pytest.mark.parametrize(
    "stored",
    [
        b'{"authorization":"\\u0001gone:AAAA"}',
        b'{"authorization":"\\u0001',
        b'["\\u0001"]',
        b'{"authorization":1,"x":"\\u0001"}',
        b'{"x":"\\u0001\xff"}',
    ],
)
def test_headers_that_cannot_be_opened_take_nobody_along(tmp_path: Path, stored: bytes) -> None:
    """A stranger's, or damaged ones: their message fails by itself, the engine and its neighbours
    go on, and so do the others when keys are changed."""
    path, got = tmp_path / "road.db", list[dict[str, str]]()

    async def story() -> None:
        async with road_at(f"sqlite:///{path}", got) as road:
            bad = (await road.send("inbox", 1, headers=GIVEN)).id
            for _ in range(64):  # some of them are in its lane
                await road.send("inbox", 2, headers=GIVEN)
            mover = road.connection()
            mover.execute("update message set headers = ? where body = ?", (stored, b"1"))
            mover.close()
        async with road_at(f"sqlite:///{path}", got) as road:
            if b"gone" in stored:
                with pytest.raises(BadKey, match=f"headers of 1 messages .* {bad}: .*'gone'"):
                    await road.sealing.rotate()
            else:
                await road.sealing.rotate()
            rows = road.connection().execute("select headers from message where body = x'32'")
            assert all(road.keys.first.encode() in bytes(row[0]) for row in rows)
            await road.run(until_idle=True)
            told = await road.explain(bad)
            assert [tried.outcome for tried in told.tries] == ["failed"]
            assert {block.scope for block in told.blocks} == {"message"}
        assert got == [GIVEN] * 64

    asyncio.run(story())


async def queue_of(road: Postroad) -> int:
    queue = await road.store.find_queue("default", "inbox")
    assert queue is not None
    return queue.id


def test_keys_rotate_reseals_headers_that_wait_and_that_are_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Afterwards the old key is not needed."""
    path, got = tmp_path / "road.db", list[dict[str, str]]()
    old, new = new_key("old", os.urandom), new_key("new", os.urandom)

    async def story() -> None:
        monkeypatch.setenv("POSTROAD_KEYS", old)
        async with road_at(f"sqlite:///{path}", [], works=False) as road:
            dead = (await road.send("inbox", 1, headers=GIVEN)).id
            await road.run(until_idle=True)
            await road.send("inbox", 2, headers=GIVEN)
            await road.send("inbox", 3)
        monkeypatch.setenv("POSTROAD_KEYS", f"{new},{old}")
        async with road_at(f"sqlite:///{path}", []) as road:
            assert (await road.sealing.rotate()).sealed == 2
            assert (await road.sealing.rotate()).sealed == 0
        monkeypatch.setenv("POSTROAD_KEYS", new)
        async with road_at(f"sqlite:///{path}", got) as road:
            await road.dead.replay(ids=[dead])
            await road.run(until_idle=True)
        assert [each for each in got if each] == [GIVEN, GIVEN]

    asyncio.run(story())


def test_headers_from_before_the_road_had_a_key_are_sealed_when_it_gets_one(
    tmp_path: Path,
) -> None:
    path, got = tmp_path / "road.db", list[dict[str, str]]()

    async def story() -> None:
        async with road_at(f"sqlite:///{path}", got) as road:
            await road.send("inbox", 1, headers=GIVEN)
        old = apsw.Connection(str(path))  # as a release without keys left it
        old.execute("update message set headers = ?", (b'{"authorization":"Bearer hush"}',))
        old.execute("pragma wal_checkpoint(truncate)")
        old.close()
        path.with_name("road.db.keys").unlink()
        async with road_at(f"sqlite:///{path}", got) as road:
            rows = road.connection().execute("select headers from message").fetchall()
            assert b"hush" not in bytes(rows[0][0])  # type: ignore[arg-type]
            await road.run(until_idle=True)
        assert got == [{"authorization": "Bearer hush"}]

    asyncio.run(story())


def test_on_postgres_headers_are_sealed_with_the_key_that_is_given(
    server: PrivatePostgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those that came from SQLite, with the keys that lie beside its file."""
    source, target, got = f"sqlite:///{tmp_path}/r.db", server.create_database(), list[Any]()

    async def story() -> None:
        async with road_at(source, []) as road:
            await road.send("inbox", "copied", headers=GIVEN)
        done = await copy(source, target, lambda *_: None)
        assert done.keys_file == str(tmp_path / "r.db.keys")
        monkeypatch.setenv("POSTROAD_KEYS_FILE", done.keys_file)
        async with road_at(target, got) as road:
            await road.send("inbox", "new", headers=GIVEN)
            link = await asyncpg.connect(target)
            rows = await link.fetch("select headers from postroad.message")
            await link.close()
            assert len(rows) == 2
            assert not any(b"hush" in row["headers"] for row in rows)
            await road.run(until_idle=True)
        assert got == [GIVEN, GIVEN]

    asyncio.run(story())
