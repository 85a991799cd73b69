"""A sender to very many queues keeps only so many in mind."""

import asyncio
from pathlib import Path

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.verbs import sending


def test_what_a_sender_knows_of_queues_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "QUEUES_KNOWN_MAX", 3)

    async def story() -> None:
        road = Postroad(f"sqlite:///{tmp_path}/road.db", settings=Settings(log_level="error"))
        got: list[int] = []
        for number in range(10):
            road.handler(f"q{number}")(_taking(got))
        async with road:
            for number in range(20):
                await road.send(f"q{number % 10}", number)
                assert len(road._sending._queues) <= 3
            await road.run(until_idle=True)
        assert sorted(got) == list(range(20))

    asyncio.run(story())


def _taking(got: list[int]):  # type: ignore[no-untyped-def]
    async def take(message) -> None:  # type: ignore[no-untyped-def]
        got.append(message.body)

    return take
