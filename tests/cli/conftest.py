"""Commands run in a folder of their own, with nothing configured."""

import asyncio
import os
from pathlib import Path

import pytest

from postroad import Postroad
from tests.cli.running import TASKS


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The present folder; no POSTROAD_ variable is set."""
    for name in [name for name in os.environ if name.startswith("POSTROAD_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tasks.py").write_text(TASKS)
    return tmp_path


@pytest.fixture
def road(folder: Path) -> str:
    """A road in ./road/ that nobody runs, with the queues of TASKS."""
    (folder / "road").mkdir()
    dsn = f"sqlite:///{folder}/road/road.db"

    async def make() -> None:
        ours = Postroad(dsn)
        for name in ("good", "bad", "slow"):
            ours.handler(name)(_nothing)
        async with ours:
            pass

    asyncio.run(make())
    return dsn


async def _nothing(_message: object) -> None: ...
