"""docs/guide/backups.md: its commands do what it says, on SQLite and with PostgreSQL's own tools."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from postroad import Postroad
from tests.servers import unprivileged
from tests.servers.postgres import PrivatePostgres, bin_folder

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "backups.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def block_with(word: str) -> str:
    (found,) = [block for block in BLOCK.findall(GUIDE.read_text()) if word in block]
    return str(found)


def shell(script: str, folder: Path, **names: str) -> str:
    """Run a block as a person would; `postroad` is this one."""
    own = folder / "bin"
    own.mkdir(exist_ok=True)
    (own / "postroad").write_text(f'#!/bin/sh\nexec {sys.executable} -m postroad "$@"\n')
    (own / "postroad").chmod(0o755)
    path = f"{own}:{bin_folder()}:{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "COLUMNS": "200", **names}
    done = subprocess.run(
        ("sh", "-ec", script), cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def fill(dsn: str) -> str:
    road = Postroad(dsn)
    road.handler("good")(print)
    async with road:
        return (await road.send("good", 1)).id


def test_a_road_on_sqlite_is_backed_up_restored_held_and_let_go(tmp_path: Path) -> None:
    (tmp_path / "road").mkdir()
    number = asyncio.run(fill(f"sqlite:///{tmp_path}/road/road.db"))
    assert "verified" in shell(block_with("store backup"), tmp_path)
    keys = tmp_path / "road" / "road.db.keys"
    (tmp_path / "keys-from-elsewhere").write_bytes(keys.read_bytes())
    (tmp_path / "road" / "road.db").unlink()
    keys.unlink()
    told = shell(block_with("cp backup.db"), tmp_path)
    assert re.search(r"may be sent again +1 messages", told)
    assert "asking the shop" in shell(block_with("--hold"), tmp_path)
    script = block_with("store release").replace("msg_…", number)
    steps, up = script.split("postroad up")
    assert up.strip() == ""
    said = shell(steps, tmp_path)
    assert "road held: asking the shop" in said
    assert "cancelled" in said
    assert said.splitlines()[-1] == "released"


def test_a_road_is_dumped_and_restored_by_postgresqls_own_tools(
    tmp_path: Path, server: PrivatePostgres
) -> None:
    dsn, new = server.create_database(), server.create_database()
    _ = asyncio.run(fill(dsn))
    told = shell(block_with("pg_dump"), tmp_path, DSN=dsn, NEW_DSN=new)
    assert re.search(r"may be sent again +1 messages", told)

    async def deliver() -> list[object]:
        seen: list[object] = []
        road = Postroad(new)

        @road.handler("good")
        async def good(message: object) -> None:
            seen.append(message)

        async with road:
            await road.run(until_idle=True)
        return seen

    assert len(asyncio.run(deliver())) == 1


@pytest.mark.wide
def test_a_base_backup_is_made_and_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("POSTROAD_TEST_POSTGRES", raising=False)
    with PrivatePostgres() as own:
        assert own.folder is not None
        path = f"{bin_folder()}:{os.environ['PATH']}"
        done = subprocess.run(
            ("sh", "-ec", block_with("pg_basebackup")),
            cwd=own.folder,  # where its own user may write
            env={**os.environ, "PATH": path, "ADMIN_DSN": own._dsn_of("postgres")},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **unprivileged(),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "successfully verified" in done.stdout
        assert (own.folder / "base" / "backup_manifest").exists()
