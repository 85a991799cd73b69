"""Intents whose commit failed, or was not answered: everybody is sent to once, and the campaign
ends."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from postroad.campaigns.job_run import JobRun
from postroad.model.campaign import Job
from postroad.model.errors import StoreUnavailable
from postroad.ports.campaigns import Intents
from postroad.stores.postgres.campaigns import PostgresCampaigns
from postroad.stores.sqlite.campaigns import SqliteCampaigns
from tests.campaigns.provider import Provider
from tests.campaigns.stories import local, numbers, prepare, reaches, running

Within = Callable[[Any], Any]


def failing(monkeypatch: pytest.MonkeyPatch, *, committed: bool) -> list[list[int]]:
    """The second commit of intents fails; answers what each was to write."""
    asked: list[list[int]] = []
    for kind in (SqliteCampaigns, PostgresCampaigns):

        async def intend(
            self: Any, owner: int, job: Job, ns: Sequence[int], real: Any = kind.intend
        ) -> Intents:
            asked.append([*ns])
            breaks = len(asked) == 2
            if breaks and not committed:
                raise StoreUnavailable("it is away")
            found: Intents = await real(self, owner, job, ns)
            if breaks:
                raise StoreUnavailable("the answer to the commit is lost")
            return found

        monkeypatch.setattr(kind, "intend", intend)
    return asked


@pytest.mark.parametrize("committed", [False, True])
def test_when_the_commit_of_intents_fails_all_are_sent_to_once_and_the_campaign_ends(
    dsn: str,
    provider: Provider,
    tmp_path: Path,
    within: Within,
    monkeypatch: pytest.MonkeyPatch,
    committed: bool,  # noqa: FBT001
) -> None:
    asked, people = failing(monkeypatch, committed=committed), numbers(200)

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, people)
            await road.campaigns.start("c")
            counts = (await reaches(road, "done")).counts
            assert (counts.sent, counts.uncertain) == (len(people), 0)

    within(story())
    assert len(asked) > 2
    assert provider.taken() == Counter(people)


def test_lanes_that_share_a_commit_share_its_failure(
    dsn: str,
    provider: Provider,
    tmp_path: Path,
    within: Within,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One of them wrote the intents of all again, and nobody called for the others."""
    asked, people = failing(monkeypatch, committed=False), numbers(6)
    told: list[list[int] | str] = []
    real = JobRun.intend

    async def thrice(self: JobRun, ns: list[int]) -> Intents:
        """As if three lanes came: the last two while the intents of the first are written."""
        if len(asked) > 1:
            return await real(self, ns)
        parts = await asyncio.gather(
            *(real(self, part) for part in (ns[:2], ns[2:4], ns[4:])), return_exceptions=True
        )
        told.extend("failed" if isinstance(part, Exception) else [*part.tries] for part in parts)  # type: ignore[union-attr]
        raise StoreUnavailable("as the first lane would see it")

    monkeypatch.setattr(JobRun, "intend", thrice)

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, people)
            await road.campaigns.start("c")
            counts = (await reaches(road, "done")).counts
            assert (counts.sent, counts.uncertain) == (
                4,
                2,
            )  # the first two were begun and not called

    within(story())
    assert asked[:2] == [[1, 2], [3, 4, 5, 6]]
    assert told == [[1, 2], "failed", "failed"]
