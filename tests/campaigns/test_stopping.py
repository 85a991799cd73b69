"""Stop, restart, resume, retry, halt, cancel."""

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.campaigns import worker
from postroad.campaigns.rendering import RenderedMessage, Renderer
from postroad.model.campaign import HaltRule, Row, WrongState
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import draft, local, numbers, prepare, reaches, running, until

Within = Callable[[Any], Any]
AS_SHIPPED_S = worker.TICK_S


def test_a_stop_takes_effect_at_the_next_turn_and_outlives_a_restart(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    assert AS_SHIPPED_S <= 1
    people = numbers(300)

    async def first() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, people, rate="30/s")
            await road.campaigns.start("c")
            await until(lambda: _arrived(provider, 20))
            await road.campaigns.stop("c")
            await until(lambda: _logged(road))
            assert (await road.campaigns.exact("c")).unsent > 0

    async def second() -> None:
        before = len(provider.arrivals())
        async with running(local(dsn)) as road:
            await until(lambda: _logged(road))
            await asyncio.sleep(3 * worker.TICK_S)
            assert (await road.campaigns.show("c")).state == "stopped"
            assert len(provider.arrivals()) == before
            await road.credentials.put("main", provider.spec(), TOKEN)  # as fast as it can
            await road.campaigns.resume("c")
            done = await reaches(road, "done")
            assert done.counts.sent == len(people)

    within(first())
    within(second())
    assert provider.taken() == Counter(people)


async def _arrived(provider: Provider, count: int) -> bool:
    return len(provider.arrivals()) >= count


async def _quiet(provider: Provider) -> bool:
    """Whether nothing arrives for a while."""
    before = len(provider.arrivals())
    await asyncio.sleep(0.5)
    return len(provider.arrivals()) == before


async def _logged(road: Postroad) -> bool:
    _, _, live = await road.campaign_service.store.due()
    return not live


def test_what_is_uncertain_is_never_picked_by_resume_or_retry_but_can_be_settled(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    hung, broke = numbers(2, "+1514"), numbers(1, "+1515")
    good, bad = numbers(5), numbers(2, "+1517")

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, good + hung + broke + bad)
            await road.campaigns.start("c")
            done = await reaches(road, "done")
            assert (done.counts.sent, done.counts.failed, done.counts.uncertain) == (5, 2, 3)
            await road.campaigns.retry("c")
            done = await reaches(road, "done")
            assert (done.counts.sent, done.counts.failed, done.counts.uncertain) == (5, 2, 3)
            assert await road.campaigns.lookup("c") == 3
            assert (await road.campaigns.exact("c")).sent == 8

    within(story())
    assert set(provider.taken().values()) == {1}
    refused = [one.number for one in provider.arrivals() if one.what == "refused"]
    assert Counter(refused) == dict.fromkeys(bad, 2)


def test_a_number_that_does_not_exist_is_retried_only_when_it_is_off_the_suppression_list(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    first, second = numbers(2, "+1511")

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, [first, second])
            await road.campaigns.start("c")
            assert (await reaches(road, "done")).counts.failed == 2
            for off, failed, suppressed in ((0, 0, 2), (1, 1, 1)):
                assert not off or await road.suppressions.remove(first) == 1
                await road.campaigns.retry("c")
                counts = (await reaches(road, "done")).counts
                assert (counts.failed, counts.suppressed) == (failed, suppressed)

    within(story())
    assert Counter(one.number for one in provider.arrivals()) == {first: 2, second: 1}


def test_settling_says_sent_or_unsent_and_unsent_is_sent_when_resumed(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    hung = numbers(3, "+1514")

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, hung)
            await road.campaigns.start("c")
            await reaches(road, "done")
            uncertain = await road.campaigns.recipients("c", state="uncertain")
            assert await road.campaigns.settle("c", "sent", [uncertain[0].n]) == 1
            assert await road.campaigns.settle("c", "unsent", [uncertain[1].n]) == 1
            counts = await road.campaigns.exact("c")
            assert (counts.sent, counts.unsent, counts.uncertain) == (1, 1, 1)
            await road.campaigns.resume("c")
            done = await reaches(road, "done")
            assert done.counts == await road.campaigns.exact("c")
            assert (done.counts.sent, done.counts.uncertain) == (1, 2)

    within(story())
    assert sorted(provider.taken().values()) == [1, 1, 2]


def test_too_many_hard_failures_halt_it_and_an_override_goes_on(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    people = numbers(200, "+1511") + numbers(60)

    async def story() -> None:
        async with running(local(dsn)) as road:
            rule = HaltRule(failures_min=5, percent=10)
            await prepare(road, provider, tmp_path, people, rate="50/s", halt=rule)
            await road.campaigns.start("c")
            halted = await reaches(road, "halted")
            assert "failed" in halted.reason
            assert 5 < halted.counts.failed < 200
            await until(lambda: _logged(road))
            await road.credentials.put("main", provider.spec(), TOKEN)  # as fast as it can
            await road.campaigns.resume("c", override=True)
            done = await reaches(road, "done")
            assert (done.counts.sent, done.counts.failed) == (60, 200)

    within(story())


def test_finalising_one_campaign_changes_no_row_of_another(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, numbers(20))
            for name, prefix in (("idle", "+1601"), ("halfway", "+1602"), ("over", "+1603")):
                await draft(road, tmp_path, [*numbers(30, prefix), *numbers(2, "+1514")], name)
            await road.campaigns.start("over")
            await reaches(road, "done", "over")
            await road.campaigns.start("halfway")
            await road.campaigns.stop("halfway")
            await until(lambda: _logged(road))
            before = await _others(road)
            await road.campaigns.start("c")
            await reaches(road, "done")
            assert await _others(road) == before

    within(story())


async def _others(road: Postroad) -> list[Any]:
    found: list[Any] = []
    for name in ("idle", "halfway", "over"):
        found += [
            await road.campaigns.show(name),
            await road.campaigns.recipients(name, limit=1000),
        ]
    return found


def test_two_campaigns_on_one_credential_both_move(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    first, second = numbers(900, "+1601"), numbers(900, "+1602")

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, first, "one", rate="60/s")
            await draft(road, tmp_path, second, "two")
            await road.campaigns.start("one")
            await until(lambda: _arrived(provider, 20))
            await road.campaigns.start("two")
            await until(lambda: _both(provider))
            assert (await road.campaigns.show("one")).state == "running"
            for name in ("one", "two"):
                await road.campaigns.cancel(name)

    within(story())


async def _both(provider: Provider) -> bool:
    since = [one.number[:5] for one in provider.arrivals()]
    if "+1602" not in since:
        return False
    shares = Counter(since[since.index("+1602") :])
    return min(shares["+1601"], shares["+1602"]) >= 20


def test_a_cancelled_campaign_stays_so(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, numbers(200), rate="20/s")
            await road.campaigns.start("c")
            await until(lambda: _arrived(provider, 3))
            await road.campaigns.cancel("c")
            for verb in (road.campaigns.start, road.campaigns.resume, road.campaigns.retry):
                with pytest.raises(WrongState, match="cancelled"):
                    await verb("c")
            await until(lambda: _logged(road))
            counts = await road.campaigns.exact("c")
            assert counts.adds_up
            assert counts.sent < 200

    within(story())


def test_a_paused_lane_holds_its_credentials_campaigns(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, numbers(600), rate="40/s")
            queue = await road.store.find_queue("default", "sms:main")
            assert queue is not None
            await road.lanes.pause(queue.lanes[0])
            await road.campaigns.start("c")
            await asyncio.sleep(1)
            assert not provider.arrivals()
            await road.lanes.resume(queue.lanes[0])
            await until(lambda: _arrived(provider, 20))
            await road.lanes.pause(queue.lanes[0])
            await until(lambda: _quiet(provider))
            held = await road.campaigns.show("c")
            assert (held.state, held.counts.unsent > 0) == ("running", True)
            await road.campaigns.cancel("c")

    within(story())


def test_a_sender_that_breaks_halts_its_campaign_and_nobody_elses(
    dsn: str, provider: Provider, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    letter = Renderer.render

    def breaking(self: Renderer, row: Row) -> RenderedMessage:
        if row.recipient.startswith("+1666"):
            raise ZeroDivisionError("somewhere deep")
        return letter(self, row)

    monkeypatch.setattr(Renderer, "render", breaking)

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, numbers(3, "+1666"), "broken")
            await draft(road, tmp_path, numbers(3), "c")
            await road.campaigns.start("broken")
            halted = await reaches(road, "halted", "broken")
            assert "somewhere deep" in halted.reason
            await road.campaigns.start("c")
            assert (await reaches(road, "done")).counts.sent == 3

    within(story())
