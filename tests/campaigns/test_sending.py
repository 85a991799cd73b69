"""From a file to the provider, and what is known afterwards."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.campaigns.provider import Provider
from tests.campaigns.stories import local, numbers, prepare, reaches, running

Within = Callable[[Any], Any]


def test_every_recipient_gets_it_once_and_the_counts_add_up(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    people = numbers(300) + numbers(3, "+1511")

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, people)
            await road.campaigns.start("c")
            done = await reaches(road, "done")
            exact = await road.campaigns.exact("c")
            assert exact == done.counts
            assert exact.adds_up
            assert (exact.total, exact.sent, exact.failed) == (303, 300, 3)
            failed = await road.campaigns.recipients("c", state="failed")
            assert {(one.code, one.sub_type) for one in failed} == {("21211", "bad_number")}
            sent = await road.campaigns.recipients("c", state="sent", limit=1)
            assert sent[0].provider_id.startswith("SM")
            assert 0 < sent[0].sent_at_ms <= sent[0].answered_at_ms
        async with local(dsn) as after:  # the run has written its figures
            points = (await after.rollups.list(by="family")).points
            assert {point.name for point in points} == {"campaign:c"}
            kinds = [Counter(point.tries) for point in points]
            assert sum(kinds, Counter()) == {"delivered": 300, "rejected": 3}

    within(story())
    assert provider.taken() == Counter(numbers(300))
