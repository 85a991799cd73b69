"""What a provider says is recorded whatever is in it, and a recorder that dies ends the process."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from postroad.campaigns import recording
from postroad.model import foreign
from postroad.model.campaign import CallResult, Counts
from postroad.model.entities import Message, Queue
from postroad.model.outcome import Kind, Outcome, ProviderAnswer
from postroad.stores.postgres.campaigns import PostgresCampaigns
from postroad.stores.sqlite.campaigns import SqliteCampaigns
from postroad.transports.sms.session import SmsSession
from tests.campaigns.provider import Provider
from tests.campaigns.stories import local, numbers, prepare, reaches, running

Within = Callable[[Any], Any]
IDS = ["SM\0zero", "SM\ud83dhalf", "SM" + "x" * (1 << 20), "SM\x1b[2J\x07"]
ROOT = Path(__file__).parents[2]


def answering(monkeypatch: pytest.MonkeyPatch, ids: Sequence[str]) -> None:
    """A provider that gives these ids, one after the other, and then good ones."""
    numbered = count()

    async def send(_self: SmsSession, _queue: Queue, _message: Message) -> Outcome:
        n = next(numbered)
        said = ids[n] if n < len(ids) else f"SM{n}"
        return Outcome(Kind.delivered, said, provider=ProviderAnswer(said, said, said))

    monkeypatch.setattr(SmsSession, "send", send)


def test_ids_that_no_store_takes_are_recorded_all_the_same(
    dsn: str, provider: Provider, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering(monkeypatch, IDS)

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, numbers(59))
            await road.campaigns.start("c")
            assert (await reaches(road, "done")).counts.sent == 59
            found = await road.campaigns.recipients("c")
            assert all(one.provider_id.startswith("SM") for one in found)
            assert all(one.provider_id.isprintable() for one in found)

    within(story())


def test_without_the_door_58_of_59_are_recorded_and_the_other_without_its_texts(
    dsn: str, provider: Provider, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One row that the database refuses loses none of the others."""
    monkeypatch.setattr(foreign, "TABLE", {})
    answering(monkeypatch, ["SM\0\ud83d"])

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, numbers(59))
            await road.campaigns.start("c")
            assert (await reaches(road, "done")).counts.sent == 59
            found = await road.campaigns.recipients("c")
            (bare,) = [one for one in found if one.sub_type == recording.UNSTORABLE]
            assert (bare.provider_id, bare.code) == ("", "")
            assert sum(one.provider_id.startswith("SM") for one in found) == 58

    within(story())


def test_a_recorder_that_breaks_ends_the_run(
    dsn: str, provider: Provider, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(_self: object, _campaign: int, _results: Sequence[CallResult]) -> Counts:
        raise ZeroDivisionError("somewhere deep")

    for store in (PostgresCampaigns, SqliteCampaigns):
        monkeypatch.setattr(store, "record", broken)

    async def story() -> None:
        road = local(dsn)
        async with road:
            ending = asyncio.create_task(road.run())
            await prepare(road, provider, tmp_path, numbers(3))
            await road.campaigns.start("c")
            with pytest.raises(recording.RecorderFailed, match="not written") as raised:
                await ending
            assert isinstance(raised.value.__cause__, ZeroDivisionError)

    within(story())


@pytest.mark.parametrize("asked_to_end", [False, True])
@pytest.mark.wide
def test_a_worker_whose_recorder_broke_exits_with_an_error(
    provider: Provider, tmp_path: Path, within: Within, *, asked_to_end: bool
) -> None:
    """It is named in the log; and a SIGTERM meanwhile does not hang."""
    dsn = f"sqlite:///{tmp_path}/road.db"

    async def prepared() -> None:
        async with local(dsn) as road:
            await prepare(road, provider, tmp_path, numbers(9))
            await road.campaigns.start("c")

    within(prepared())
    arguments = (sys.executable, "-m", "tests.campaigns.worker_process", dsn, "10000", "record")
    worker = subprocess.Popen(
        arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "ready\n"
    if asked_to_end:
        os.kill(worker.pid, signal.SIGTERM)
    try:
        _, said = worker.communicate(timeout=45)
    finally:
        worker.kill()
    if not asked_to_end:
        assert worker.returncode != 0
        assert "a part of the road broke" in said
        assert "somewhere deep" in said
