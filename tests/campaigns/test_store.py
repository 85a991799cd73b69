"""What the tables promise to senders, on either database: age, epochs, leases, late answers."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.model.campaign import CallResult, Campaign, Counts, Job, RowState, Verb
from postroad.ports.campaigns import CampaignStore, Intents
from tests.campaigns.provider import Provider
from tests.campaigns.stories import draft, local, numbers, prepare

LEASE_MS = 60_000
ME, OTHER = 101, 102
Within = Callable[[Any], Any]


class Bench:
    """A campaign that runs, with nobody who sends."""

    def __init__(self, road: Postroad, campaign: Campaign) -> None:
        self.store: CampaignStore = road.campaign_service.store
        self.road = road
        self.campaign = campaign

    async def claim(self, owner: int = ME, lease_ms: int = LEASE_MS) -> Job:
        job = await self.store.claim(owner, lease_ms)
        assert job is not None
        return job

    async def begin(self, job: Job, count: int, owner: int = ME) -> dict[int, int]:
        await self.store.enqueue(owner, job, count)
        rows = await self.store.queued(job, 0, count)
        return (await self.store.intend(owner, job, [row.n for row in rows])).tries

    async def counts(self) -> Counts:
        exact = await self.store.exact(self.campaign.id)
        assert exact == (await self.road.campaigns.show(self.campaign.name)).counts
        assert exact.adds_up
        return exact


async def bench(road: Postroad, provider: Provider, folder: Path, **options: Any) -> Bench:
    await prepare(road, provider, folder, numbers(10), **options)
    await road.campaigns.start("c")
    campaign = await road.campaign_service.store.campaign("default", "c")
    assert campaign is not None
    return Bench(road, campaign)


@pytest.fixture
def tell(dsn: str, provider: Provider, tmp_path: Path, within: Within) -> Callable[..., None]:
    """Runs a story on a campaign of ten that runs."""

    def run(story: Callable[[Bench], Any], **options: Any) -> None:
        async def whole() -> None:
            async with local(dsn) as road:
                await story(await bench(road, provider, tmp_path, **options))

        within(whole())

    return run


def test_the_oldest_job_goes_first_and_a_retried_one_keeps_its_age(
    tell: Callable[..., None], tmp_path: Path
) -> None:
    async def story(here: Bench) -> None:
        first = await here.claim()
        await draft(here.road, tmp_path, numbers(5), "young")
        await here.road.campaigns.start("young")
        await here.road.campaigns.stop("c")
        await here.store.release(ME, first)
        await here.store.log()
        await here.road.campaigns.resume("c")
        again, young = await here.claim(), await here.claim()
        assert (again.id, again.epoch) == (first.id, first.epoch + 1)
        assert young.id > first.id
        assert await here.store.claim(ME, LEASE_MS) is None

    tell(story)


def test_slices_of_several_jobs_never_overlap(tell: Callable[..., None]) -> None:
    async def story(here: Bench) -> None:
        one, two = await here.claim(), await here.claim(OTHER)
        mine, other = await here.begin(one, 4), await here.begin(two, 4, OTHER)
        assert (set(mine), set(other)) == ({1, 2, 3, 4}, {5, 6, 7, 8})
        assert await here.store.enqueue(ME, one, 100) == 2
        assert await here.store.enqueue(OTHER, two, 100) == 0

    tell(story, jobs=2)


def test_a_stale_owner_begins_nothing(tell: Callable[..., None]) -> None:
    async def story(here: Bench) -> None:
        old = await here.claim(lease_ms=1)
        await here.store.enqueue(ME, Job(old.id, old.campaign, old.epoch), 5)
        await asyncio.sleep(0.05)
        assert await here.store.intend(ME, old, [1]) == Intents({}, {})
        assert await here.store.reap() == 1
        new = await here.claim(OTHER)
        assert (new.id, new.epoch) == (old.id, old.epoch + 2)
        assert await here.store.intend(ME, old, [1]) == Intents({}, {})
        assert await here.begin(new, 3, OTHER) == {1: 1, 2: 1, 3: 1}

    tell(story)


def test_a_lost_lease_leaves_what_was_begun_uncertain_and_a_late_answer_settles_it(
    tell: Callable[..., None],
) -> None:
    async def story(here: Bench) -> None:
        job = await here.claim()
        begun = await here.begin(job, 4)
        await here.store.renew(ME, -1, [job.id])  # its lease has ended
        assert await here.store.reap() == 1
        assert (await here.counts()).uncertain == 4
        late = [
            CallResult(1, begun[1], RowState.sent, "SM1"),
            CallResult(2, begun[2], RowState.failed, "", "21211"),
            CallResult(3, begun[3], RowState.unsent),
            CallResult(4, begun[4] + 1, RowState.sent, "SM4"),  # of another try
        ]
        await here.store.record(job.campaign, late)
        found = await here.counts()
        assert (found.sent, found.failed, found.uncertain, found.unsent) == (1, 1, 1, 7)
        await here.store.record(job.campaign, late)
        assert await here.counts() == found
        again = await here.claim(OTHER)
        assert set(await here.begin(again, 10, OTHER)) == {3, 5, 6, 7, 8, 9, 10}

    tell(story)


def test_a_stopped_job_stays_stopped_when_its_owner_is_lost(tell: Callable[..., None]) -> None:
    async def story(here: Bench) -> None:
        job = await here.claim()
        await here.begin(job, 2)
        await here.road.campaigns.stop("c")
        await here.store.renew(ME, -1, [job.id])  # its lease has ended
        assert await here.store.reap() == 1
        assert await here.store.claim(OTHER, LEASE_MS) is None
        assert await here.store.log() == []
        assert (await here.road.campaigns.show("c")).state == "stopped"
        assert (await here.counts()).uncertain == 2
        await here.road.campaigns.resume("c")
        assert set(await here.begin(await here.claim(OTHER), 10, OTHER)) == set(range(3, 11))

    tell(story)


def test_nothing_is_final_while_an_owner_has_something_in_flight(tell: Callable[..., None]) -> None:
    async def story(here: Bench) -> None:
        job = await here.claim()
        begun = await here.begin(job, 10)
        await here.road.campaigns.stop("c")
        await here.store.log()
        assert (await here.store.due())[2]
        results = [CallResult(n, tries, RowState.sent, f"SM{n}") for n, tries in begun.items()]
        await here.store.record(job.campaign, results)
        await here.store.release(ME, job)
        await here.store.log()
        assert not (await here.store.due())[2]
        assert (await here.counts()).sent == 10

    tell(story)


def test_a_campaign_whose_counts_do_not_add_up_is_not_finished_and_named(
    tell: Callable[..., None],
) -> None:
    async def story(here: Bench) -> None:
        job = await here.claim()
        begun = await here.begin(job, 10)
        await here.store.record(
            job.campaign, [CallResult(n, tries, RowState.sent) for n, tries in begun.items()]
        )
        await here.store.release(ME, job)
        await spoil(here.store, "update {0}campaign set failed = 0, sent = sent - 1")
        assert await here.store.log() == ["c"]
        assert (await here.road.campaigns.show("c")).state == "running"
        await spoil(here.store, "update {0}campaign set sent = sent + 1")
        assert await here.store.log() == []
        assert (await here.road.campaigns.show("c")).state == "done"

    tell(story)


async def spoil(store: Any, sql: str) -> None:
    if hasattr(store, "_side"):
        await store._side.work("test", lambda raw: raw.execute(sql.format("postroad.")))
    else:
        await store._store.write("test", lambda db: db.connection.execute(sql.format("")))


def test_of_verbs_that_race_one_moves_the_campaign(tell: Callable[..., None]) -> None:
    async def story(here: Bench) -> None:
        moves = [here.store.move(here.campaign, Verb.stop) for _ in range(4)]
        assert sorted(await asyncio.gather(*moves)) == [False, False, False, True]

    tell(story)


def test_a_report_takes_back_a_failure_that_was_temporary(tell: Callable[..., None]) -> None:
    async def story(b: Bench) -> None:
        tries = await b.begin(await b.claim(), 2)
        later, never = sorted(tries)
        failed = RowState.failed
        results = [
            CallResult(later, tries[later], failed, due_ms=1),
            CallResult(never, tries[never], failed),
        ]
        told = await b.store.record(b.campaign.id, results)
        assert (told.sent, told.failed, told.temporary) == (0, 2, 1)
        for n, left in ((later, 1), (never, 0)):
            assert await b.store.callback(b.campaign.id, n, f"SM{n}", "delivered", "")
            counts = (await b.road.campaigns.show("c")).counts
            assert (counts.sent, counts.failed, counts.temporary) == (2 - left, left, 0)

    tell(story)


def test_what_a_released_job_had_begun_is_uncertain_but_for_those_nobody_called(
    tell: Callable[..., None],
) -> None:
    """The job was ready again, and what stood begun in it was never sent to and never ended."""

    async def story(here: Bench) -> None:
        job = await here.claim()
        await here.begin(job, 4)
        stale = Job(job.id, job.campaign, job.epoch - 1)
        await here.store.release(ME, stale, [1, 2, 3, 4])
        await here.store.release(OTHER, job, [1, 2, 3, 4])
        assert await here.store.queued(job, 0, 10) == []
        await here.store.release(ME, job, [1, 2])
        assert ((await here.counts()).uncertain, (await here.counts()).unsent) == (2, 8)
        again = await here.claim(OTHER)
        assert await here.begin(again, 10, OTHER) == {1: 2, 2: 2, **dict.fromkeys(range(5, 11), 1)}
        await here.store.release(OTHER, again, repeats=True)
        assert (await here.counts()).uncertain == 2
        assert len(await here.begin(await here.claim(), 10)) == 8

    tell(story)


def test_a_stopped_job_that_is_released_with_a_call_in_doubt_does_not_send_it_again(
    tell: Callable[..., None],
) -> None:
    """What was begun was forgotten with the job, and sent again when the campaign was resumed."""

    async def story(here: Bench) -> None:
        job = await here.claim()
        await here.begin(job, 2)
        await here.road.campaigns.stop("c")
        await here.store.release(ME, job)
        await here.store.log()
        assert (await here.counts()).uncertain == 2
        await here.road.campaigns.resume("c")
        assert set(await here.begin(await here.claim(), 10)) == set(range(3, 11))

    tell(story)
