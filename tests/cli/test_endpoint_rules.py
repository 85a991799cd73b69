"""`postroad endpoint rules`: times with their units, in and out."""

import asyncio
from pathlib import Path

import pytest

from postroad import Postroad
from tests.cli.running import data, postroad


async def make_road(dsn: str) -> None:
    async with Postroad(dsn):
        pass


def test_rules_are_given_and_shown_as_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dsn = f"sqlite:///{tmp_path}/road.db"
    asyncio.run(make_road(dsn))
    words = ("endpoint", "rules", "--dsn", dsn)
    times = ("--notice-after", "12h", "--disable-after", "0", "--hold-for", "30d")
    said = data(*words, *times, "--hold-max", "7")
    assert (said["notice_after_s"], said["disable_after_s"]) == (43_200, 0)
    assert (said["hold_for_s"], said["hold_max"], said["drain"]) == (30 * 86_400, 7, "50/s")
    shown = postroad(*words)
    assert shown.exit_code == 0, shown.output
    for text in ("12 h", "never", "30 d", "50/s"):
        assert text in shown.output
    wrong = postroad(*words, "--hold-for", "soon")
    assert (wrong.exit_code, "give a time, as 30d" in wrong.output) == (2, True)
