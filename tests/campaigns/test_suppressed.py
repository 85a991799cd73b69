"""Nobody on a suppression list is sent to by a campaign: told before, kept back, counted."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from postroad import HaltRule
from postroad.model.errors import BadInput
from postroad.ports.campaigns import Intents
from postroad.stores.sqlite import campaign_jobs
from postroad.stores.suppressions import SuppressionTable
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import (
    draft,
    local,
    numbers,
    prepare,
    reaches,
    running,
    until,
    write_csv,
)

Within = Callable[[Any], Any]
PEOPLE = numbers(40)


def test_who_is_on_a_list_is_told_before_and_never_called(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            add = road.suppressions.add
            await add("sms:" + PEOPLE[3], "unsubscribed")
            await add(PEOPLE[4], "complaint", tenant="*")
            await add(PEOPLE[5], tenant="other")
            await road.credentials.put("main", provider.spec(), TOKEN)
            halt = HaltRule(failures_min=0, percent=1)
            await road.campaigns.create("c", credential="main", template="Hi", halt=halt)
            done = await road.campaigns.import_file("c", write_csv(tmp_path / "c.csv", PEOPLE))
            assert done.suppressed == 2
            lines = [(one.n, one.recipient, one.reason) for one in done.suppressed_lines]
            assert lines == [(5, PEOPLE[3], "unsubscribed"), (6, PEOPLE[4], "complaint")]
            told = await road.campaigns.dry_run("c")
            assert (told.recipients, told.suppressed) == (38, 2)
            assert [one.n for one in told.suppressed_rows] == [4, 5]
            with pytest.raises(BadInput, match="on a suppression list: complaint"):
                await road.campaigns.test_send("c", PEOPLE[4])
            await road.campaigns.start("c")
            counts = (await reaches(road, "done")).counts
            assert (counts.sent, counts.failed, counts.suppressed) == (38, 0, 2), "and no halt"
            assert counts.adds_up
            assert await road.campaigns.exact("c") == counts
            kept = await road.campaigns.recipients("c", state="suppressed")
            assert [(one.recipient, one.sub_type) for one in kept] == [
                (PEOPLE[3], "unsubscribed"),
                (PEOPLE[4], "complaint"),
            ]
            # Taken off the list, she is sent to by a retry; the other is kept back again.
            await road.suppressions.remove(PEOPLE[3])
            await road.campaigns.retry("c")
            counts = (await reaches(road, "done")).counts
            assert (counts.sent, counts.suppressed, counts.adds_up) == (39, 1, True)

    within(story())
    assert set(provider.taken()) == set(PEOPLE) - {PEOPLE[4]}
    assert set(provider.taken().values()) == {1}


def unsubscribe_meanwhile(dsn: str, provider: Provider, folder: Path, within: Within) -> None:
    """All are read ahead at once; the last ones are put on the list while the first are sent, which
    is slow until then: a busy machine does not lose that race."""

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, folder, PEOPLE, rate="2/s")
            await road.campaigns.start("c")

            async def begun() -> bool:
                return (await road.campaigns.show("c")).counts.sent > 0

            await until(begun)
            for number in PEOPLE[-5:]:
                await road.suppressions.add(number, "unsubscribed")
            await road.credentials.put("main", provider.spec(rate="100/s"), TOKEN)
            counts = (await reaches(road, "done")).counts
            assert await road.campaigns.exact("c") == counts

    within(story())


def test_who_unsubscribes_while_it_runs_is_not_sent_to(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    unsubscribe_meanwhile(dsn, provider, tmp_path, within)
    assert set(provider.taken()) == set(PEOPLE[:-5])


def test_without_a_look_at_the_intent_they_are_sent_to(
    provider: Provider, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nobody(*_: Any) -> dict[str, Any]:
        return {}

    monkeypatch.setattr(campaign_jobs, "_suppressed", lambda *_: {})
    # On a busy machine slots are missed: whoever had one is read again, and looked up again then.
    monkeypatch.setattr(SuppressionTable, "suppressed", nobody)
    unsubscribe_meanwhile(f"sqlite:///{tmp_path}/road.db", provider, tmp_path, within)
    assert set(provider.taken()) == set(PEOPLE)


def test_the_list_is_asked_in_the_transaction_of_the_intent(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:
            await prepare(road, provider, tmp_path, PEOPLE[:4])
            await road.campaigns.start("c")
            store = road.campaign_service.store
            job = await store.claim(road.owner, 60_000)
            assert job is not None
            assert await store.enqueue(road.owner, job, 10) == 4
            await road.suppressions.add(PEOPLE[1])
            await road.suppressions.add(PEOPLE[2], "unsubscribed")
            await road.privacy.erasure((await road.privacy.erase(recipient=PEOPLE[9])).id, wait=20)
            noted = await store.intend(road.owner, job, [1, 2, 3])
            assert noted == Intents({1: 1}, {2: "by_hand", 3: "unsubscribed"})
            await road.suppressions.remove(PEOPLE[1])
            assert (await store.intend(road.owner, job, [2, 4])).tries == {2: 1, 4: 1}

    within(story())


def test_an_erased_recipient_of_the_next_file_is_kept_back_by_its_digest(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            await road.suppressions.add(PEOPLE[0], "complaint")
            done = await road.privacy.erase(recipient=PEOPLE[0])
            await road.privacy.erasure(done.id, wait=20)
            await prepare(road, provider, tmp_path, PEOPLE[:2])
            await road.campaigns.start("c")
            counts = (await reaches(road, "done")).counts
            assert (counts.sent, counts.suppressed) == (1, 1)
            await draft(road, tmp_path, PEOPLE[:1], "d")
            assert (await road.campaigns.dry_run("d")).suppressed == 1

    within(story())
    assert set(provider.taken()) == {PEOPLE[1]}
