"""A road on SQLite makes a key of its own; unsealed values are not believed where there are keys."""

import asyncio
import os
import stat
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.model.errors import BadKey, CopyRefused
from postroad.model.keyring import new_key
from postroad.model.webhook import WebhookRules
from postroad.stores.copying import copy
from postroad.stores.naming import make_folder
from postroad.verbs.own_keys import OwnKeys

URL = "http://127.0.0.1:9/hook"
SETTINGS = Settings(webhooks=WebhookRules(allow=("127.0.0.1/32",), http=True, ports=()))
SECRET = "whsec_" + "c2VjcmV0" * 4


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POSTROAD_KEYS", raising=False)
    monkeypatch.delenv("POSTROAD_KEYS_FILE", raising=False)


def road_at(path: Path) -> Postroad:
    return Postroad(f"sqlite:///{path}", settings=SETTINGS)


async def secrets_of(path: Path) -> int:
    async with road_at(path) as road:
        return (await road.webhooks.get(URL)).secrets


def keys_in(path: Path) -> list[str]:
    file = apsw.Connection(str(path))
    try:
        return [str(key) for (key,) in file.execute("select key from webhook")]
    finally:
        file.close()


def unseal(path: Path) -> None:
    """As somebody leaves it who can write to the file, or a release that had no keys."""
    file = apsw.Connection(str(path))
    file.execute(
        "update webhook set key = '', sealed = ?", (b'{"secrets":["%s"]}' % SECRET.encode(),)
    )
    file.close()


def test_a_new_road_makes_a_key_that_only_its_user_reads_and_says_so_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, keys = tmp_path / "road.db", tmp_path / "road.db.keys"
    caplog.set_level("INFO", logger="postroad")

    async def story() -> None:
        for _ in range(2):
            async with road_at(path) as road:
                await road.webhooks.set(URL, secrets=[SECRET])

    asyncio.run(story())
    said = caplog.text
    assert said.count("made a key for secrets at rest") == 1
    assert str(keys) in said
    name, _, secret = keys.read_text().strip().partition(":")
    assert secret not in said
    assert stat.S_IMODE(keys.stat().st_mode) == 0o600
    assert keys_in(path) == [name]
    assert SECRET.encode() not in path.read_bytes()


def test_an_unsealed_value_is_refused_until_somebody_seals_it(tmp_path: Path) -> None:
    path = tmp_path / "road.db"

    async def story() -> None:
        async with road_at(path) as road:
            await road.webhooks.set(URL, secrets=[SECRET])
        unseal(path)
        async with road_at(path) as road:
            with pytest.raises(BadKey, match="stored unsealed, though this road has keys"):
                await road.webhooks.get(URL)
            assert "unsealed" in (await road.webhooks.list()).webhooks[0].fault
            assert (await road.sealing.rotate()).sealed == 1
            assert (await road.webhooks.get(URL)).secrets == 1

    asyncio.run(story())


def test_a_road_from_before_is_sealed_when_it_gets_its_key_also_after_a_crash(
    tmp_path: Path,
) -> None:
    """A start that dies half-way leaves the key under another name: the next one goes on."""
    path = tmp_path / "road.db"

    async def story() -> None:
        async with road_at(path) as road:
            await road.webhooks.set(URL, secrets=[SECRET])
        unseal(path)
        (tmp_path / "road.db.keys").unlink()
        begun = OwnKeys(path).begin()  # and then the process died
        assert await secrets_of(path) == 1
        assert keys_in(path) == [begun[0][0]]
        assert OwnKeys(path).read() == begun

    asyncio.run(story())


def test_rotating_own_keys_makes_a_new_one_and_keeps_the_old(tmp_path: Path) -> None:
    path = tmp_path / "road.db"

    async def story() -> None:
        async with road_at(path) as road:
            await road.webhooks.set(URL, secrets=[SECRET])
            rotated = await road.sealing.rotate()  # while the road is open
            assert (rotated.key[:5], rotated.sealed) == ("own2_", 1)
            assert (await road.webhooks.get(URL)).secrets == 1
        assert await secrets_of(path) == 1
        names = [name for name, _ in OwnKeys(path).read()]
        assert [name.partition("_")[0] for name in names] == ["own2", "own1"]
        assert keys_in(path) == names[:1]
        assert stat.S_IMODE((tmp_path / "road.db.keys").stat().st_mode) == 0o600

    asyncio.run(story())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_keys_that_root_changes_stay_those_of_the_roads_user(tmp_path: Path) -> None:
    path, keys = tmp_path / "road.db", tmp_path / "road.db.keys"

    async def story() -> None:
        async with road_at(path):
            pass
        os.chown(path, 65534, 65534)
        async with road_at(path) as road:
            await road.sealing.rotate()
        assert (keys.stat().st_uid, keys.stat().st_gid) == (65534, 65534)
        assert stat.S_IMODE(keys.stat().st_mode) == 0o600

    asyncio.run(story())


def test_keys_that_are_given_take_over_from_own_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "road.db"

    async def story() -> None:
        async with road_at(path) as road:
            await road.webhooks.set(URL, secrets=[SECRET])
        monkeypatch.setenv("POSTROAD_KEYS", new_key("given", os.urandom))
        async with road_at(path) as road:
            assert (await road.webhooks.get(URL)).secrets == 1
            assert await road.sealing.rotate() is not None
        (tmp_path / "road.db.keys").unlink()
        assert await secrets_of(path) == 1
        assert keys_in(path) == ["given"]
        assert not (tmp_path / "road.db.keys").exists()

    asyncio.run(story())


def test_a_road_whose_keys_are_lost_is_refused_until_they_are_back(tmp_path: Path) -> None:
    """As a backup is that was restored without them: with a new key it would run, and give up
    what it cannot open."""
    path, keys, away = (tmp_path / name for name in ("road.db", "road.db.keys", "away"))

    async def story() -> None:
        async with road_at(path) as road:
            await road.webhooks.set(URL, secrets=[SECRET])
        keys.rename(away)
        for _ in range(2):
            with pytest.raises(BadKey, match=r"sealed with key 'own1_.*put .*road\.db\.keys back"):
                await secrets_of(path)
        assert not keys.exists()
        away.rename(keys)
        assert await secrets_of(path) == 1
        # For good: with a key that somebody puts there it goes on without what was sealed.
        keys.write_text(new_key("k1", os.urandom))
        with pytest.raises(BadKey, match="which this road does not have"):
            await secrets_of(path)
        async with road_at(path) as road:
            await road.webhooks.delete(URL)
            await road.webhooks.set(URL, secrets=[SECRET])
            assert (await road.webhooks.get(URL)).secrets == 1

    asyncio.run(story())


def test_a_message_with_sealed_headers_also_tells_that_the_keys_are_lost(tmp_path: Path) -> None:
    path = tmp_path / "road.db"

    async def story() -> None:
        async with road_at(path) as road:
            await road.send(URL, 1, headers={"authorization": "hush"})
        path.with_name("road.db.keys").unlink()
        with pytest.raises(BadKey, match=r"put .*road\.db\.keys back"):
            await secrets_of(path)

    asyncio.run(story())


def test_what_a_start_sealed_that_died_opens_also_with_other_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given to the road afterwards, or put back beside it."""
    path, keys = tmp_path / "road.db", tmp_path / "road.db.keys"

    async def story() -> None:
        async with road_at(path) as road:
            await road.webhooks.set(URL, secrets=[SECRET])
        keys.rename(tmp_path / "road.db.keys.new")  # it died before it settled this
        with monkeypatch.context() as given:
            given.setenv("POSTROAD_KEYS", new_key("given", os.urandom))
            assert await secrets_of(path) == 1
        keys.write_text(new_key("k1", os.urandom))
        async with road_at(path) as road:
            assert (await road.webhooks.get(URL)).secrets == 1
            assert (await road.sealing.rotate()).sealed == 1
        assert await secrets_of(path) == 1

    asyncio.run(story())


def test_keys_that_cannot_be_written_or_read_are_told_with_their_file(tmp_path: Path) -> None:
    path, keys = tmp_path / "road.db", tmp_path / "road.db.keys"
    (tmp_path / "road.db.keys.new.part").mkdir()

    async def story(says: str) -> None:
        with pytest.raises(BadKey, match=says):
            await secrets_of(path)

    asyncio.run(story(r"road\.db\.keys, this road's own keys, cannot be written"))
    for damaged in ("", "own1:half", "\0" * 60):
        keys.write_text(damaged)
        asyncio.run(story(r"road\.db\.keys"))


def test_the_files_of_a_road_and_a_folder_that_is_made_are_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "road.db"
    before = os.umask(0o022)
    try:
        make_folder(f"sqlite:///{path}")

        async def story() -> None:
            async with road_at(path) as road:
                await road.tokens.make("t")
                modes = {
                    file.name: stat.S_IMODE(file.stat().st_mode) for file in path.parent.iterdir()
                }
            assert {"road.db", "road.db-wal", "road.db-shm", "road.db.lock"} <= modes.keys()
            assert modes.pop("road.db.window") == 0o700
            assert set(modes.values()) == {0o600}

        asyncio.run(story())
    finally:
        os.umask(before)
    for folder in (path.parent, path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_who_looks_into_the_file_of_a_running_road_takes_nothing_away(tmp_path: Path) -> None:
    """As a backup does, or `sqlite3 road.db`: the last who closes a file deletes its log, and is
    kept from it by the locks of who has the file open."""
    path = tmp_path / "road.db"
    look = (
        "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone())"
    )

    def seen() -> str:
        query = "select count(*) from message"
        asked = [sys.executable, "-c", look, str(path), query]
        return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()

    async def story() -> None:
        async with road_at(path) as road:
            await road.send(URL, 1)
            assert seen() == "1"
            await road.send(URL, 2)
            assert (seen(), path.with_name("road.db-wal").exists()) == ("2", True)

    asyncio.run(story())


def test_a_road_behind_a_link_is_made_private(tmp_path: Path) -> None:
    (tmp_path / "link.db").symlink_to(tmp_path / "real.db")
    before = os.umask(0o022)
    try:
        asyncio.run(new_road(tmp_path / "link.db"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "real.db").stat().st_mode) == 0o600


async def new_road(path: Path) -> None:
    async with road_at(path):
        pass


def test_a_road_that_is_half_sealed_is_not_copied(tmp_path: Path) -> None:
    """Nobody would give the target the key that a start began with."""
    path = tmp_path / "road.db"
    asyncio.run(new_road(path))
    (tmp_path / "road.db.keys").rename(tmp_path / "road.db.keys.new")
    with pytest.raises(CopyRefused, match="start it once more"):
        asyncio.run(copy(f"sqlite:///{path}", "postgresql://nowhere/x", lambda *_: None))


def test_files_that_others_could_read_are_made_private_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "road.db"

    async def opened() -> None:
        async with road_at(path):
            pass

    asyncio.run(opened())
    path.chmod(0o644)
    link = tmp_path / "road.db.token"  # somebody else's file stays as it is
    (tmp_path / "other").write_text("x")
    (tmp_path / "other").chmod(0o644)
    link.symlink_to(tmp_path / "other")
    asyncio.run(opened())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "other").stat().st_mode) == 0o644
    assert "others could read this file" in caplog.text


@pytest.mark.parametrize("name", ["k1", ""])
def test_a_road_does_not_run_with_keys_that_open_none_of_its_secrets(
    tmp_path: Path, name: str
) -> None:
    """Also when another key has the name of the lost one."""
    path, keys = tmp_path / "road.db", tmp_path / "road.db.keys"

    async def story() -> None:
        async with road_at(path) as road:
            await road.webhooks.set(URL, secrets=[SECRET])
        right = keys.read_text()
        keys.write_text(new_key(name or right.partition(":")[0], os.urandom))
        async with road_at(path) as road:
            with pytest.raises(BadKey, match=r"sealed with the key own1_.*give it back"):
                await road.run(until_idle=True)
        keys.write_text(right)
        async with road_at(path) as road:
            await road.run(until_idle=True)

    asyncio.run(story())


def test_a_secret_that_cannot_be_read_holds_its_queue_and_blames_no_server(tmp_path: Path) -> None:
    path, other = tmp_path / "road.db", URL.replace("hook", "other")

    async def story() -> None:
        async with road_at(path) as road:
            await road.webhooks.set(URL, secrets=[SECRET])
            await road.webhooks.set(other, secrets=[SECRET])
            file = road.connection()
            file.execute("update webhook set sealed = zeroblob(60) where queue_id = 1")
            receipt = await road.send(URL, 1)
            await road.run(until_idle=True)
            told = await road.explain(receipt.id)
            assert "held: setup" in str(told)
            assert "a sealed secret has an unknown form" in told.tries[0].error
            assert "strikes=0" in str(await road.explain_queue(other))

    asyncio.run(story())
