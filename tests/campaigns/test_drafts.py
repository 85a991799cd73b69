"""Slips are mended: drafts are edited, campaigns cloned and deleted, on either database."""

import csv
import io
import json
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from postroad import CredentialSpec, HaltRule, Postroad
from postroad.model.campaign import (
    BadTemplate,
    CallResult,
    Counts,
    RowState,
    UnknownCampaign,
    WrongState,
)
from postroad.model.errors import BadInput, StoreUnavailable
from postroad.verbs import campaign_drafts
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import local, numbers, prepare, reaches, running, write_csv

Within = Callable[[Coroutine[Any, Any, Any]], Any]


def test_a_draft_is_edited_and_its_template_fits_its_recipients(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:
            verbs = road.campaigns
            await prepare(road, provider, tmp_path, numbers(2))
            await road.credentials.put("hooks", CredentialSpec(""), "s" * 32, kind="webhook")
            before = await verbs.details("c")
            with pytest.raises(BadTemplate, match="template line 2: there is no column 'nam'"):
                await verbs.edit("c", template="Hello\n{{ nam }}")
            with pytest.raises(WrongState, match="are those of column 'recipient'"):
                await verbs.edit("c", recipient="name")
            with pytest.raises(WrongState, match="are for sms"):
                await verbs.edit("c", credential="hooks")
            for jobs in (0, 65):
                with pytest.raises(BadInput, match=f"jobs={jobs}: give 1 to 64"):
                    await verbs.edit("c", jobs=jobs)
            assert await verbs.details("c") == before
            await verbs.edit("c", template="Dear {{ name }}", jobs=3, halt=HaltRule(1, 2.0))
            assert (await verbs.preview("c")).text == "Dear Name 0"
            now = await verbs.details("c")
            assert (now.jobs, now.halt, now.credential) == (3, HaltRule(1, 2.0), "main")
            assert now.columns == ("recipient", "name")
            # Scheduled, it can still be mended; running, not.
            await verbs.schedule("c", datetime.now(UTC) + timedelta(hours=1))
            assert (await verbs.edit("c", template="Hi {{ name }}")).state == "scheduled"
            await verbs.start("c")
            with pytest.raises(WrongState, match=r"is running: only a draft .* clone it"):
                await verbs.edit("c", template="Ho {{ name }}")
            with pytest.raises(UnknownCampaign):
                await verbs.edit("c", template="Ho", tenant="other")

    within(story())


def test_a_draft_is_not_edited_while_an_import_of_it_is_under_way(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:
            await prepare(road, provider, tmp_path, numbers(2))
            await interrupted(road, "c", "d")
            with pytest.raises(WrongState, match="an import stands at line 0"):
                await road.campaigns.edit("d", template="Ho {{ name }}")

    within(story())


async def interrupted(road: Postroad, name: str, to: str) -> None:
    """A clone that breaks off after its first step, as when its process is killed."""
    store = road.campaign_service.store

    async def away(*_: object) -> list[int]:
        raise StoreUnavailable("away")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "load", away)
        with pytest.raises(StoreUnavailable):
            await road.campaigns.clone(name, to, recipients=True)


def test_a_clone_that_broke_off_does_not_start(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:
            await prepare(road, provider, tmp_path, numbers(2))
            await interrupted(road, "c", "d")
            with pytest.raises(WrongState, match="finish or discard it first"):
                await road.campaigns.start("d")
            await road.campaigns.delete("d")
            await road.campaigns.clone("c", "d", recipients=True)
            assert (await road.campaigns.start("d")).counts.unsent == 2

    within(story())


def test_a_campaign_is_cloned_with_or_without_its_recipients(
    dsn: str, provider: Provider, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was sent by one is unsent in the other, in the same order, over several slices."""
    monkeypatch.setattr(campaign_drafts, "SLICE", 3)

    async def story() -> None:
        people = numbers(8)
        async with running(local(dsn)) as road:
            verbs = road.campaigns
            await prepare(road, provider, tmp_path, people, jobs=2)
            await verbs.start("c")
            await reaches(road, "done")
            alone = await verbs.clone("c", "alone")
            assert (alone.state, alone.counts.total) == ("draft", 0)
            both = await verbs.clone("c", "both", recipients=True)
            assert (both.state, both.counts.total, both.counts.unsent) == ("draft", 8, 8)
            found = await verbs.recipients("both")
            assert [(one.recipient, one.state) for one in found] == [(p, "unsent") for p in people]
            assert await verbs.details("both") == await verbs.details("c")
            assert await verbs.exact("both") == both.counts
            with pytest.raises(WrongState, match="already"):
                await verbs.clone("c", "both")
            with pytest.raises(UnknownCampaign):
                await verbs.clone("c", "x", tenant="other")
            # Its recipients are known: the same file adds nobody.
            path = write_csv(tmp_path / "again.csv", [*people, "+16009999999"])
            assert (await verbs.import_file("both", path)).rows == 1

    within(story())


def test_a_campaign_is_deleted_with_its_recipients(
    dsn: str, provider: Provider, tmp_path: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not while it runs or could go on; and its name is free again."""
    monkeypatch.setattr(campaign_drafts, "SLICE", 3)

    async def story() -> None:
        async with running(local(dsn)) as road:
            verbs = road.campaigns
            await prepare(road, provider, tmp_path, numbers(7))
            await verbs.clone("c", "kept", recipients=True)
            await verbs.start("c")
            await reaches(road, "done")
            await verbs.delete("c")
            with pytest.raises(UnknownCampaign):
                await verbs.show("c")
            assert (await verbs.exact("kept")).total == 7
            await verbs.schedule("kept", datetime.now(UTC) + timedelta(hours=1))
            for state in ("scheduled", "stopped"):
                with pytest.raises(WrongState, match=f"is {state}: .*cancel it first"):
                    await verbs.delete("kept")
                await (verbs.stop if state == "scheduled" else verbs.cancel)("kept")
            await verbs.delete("kept")
            assert await verbs.list() == []
            assert await road.credentials.list()
            await road.credentials.delete("main")  # no campaign names it any more
            store = road.campaign_service.store
            assert await store.delete_some(1, 1) is None

    within(story())


def test_a_delete_that_broke_off_starts_nothing_and_goes_on(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:
            await prepare(road, provider, tmp_path, numbers(5))
            campaign = (await road.campaigns.show("c")).id
            assert await road.campaign_service.store.delete_some(campaign, 2) is False
            assert (await road.campaigns.show("c")).reason == "being deleted"
            for verb in (road.campaigns.start, road.campaigns.resume, road.campaigns.retry):
                with pytest.raises(WrongState, match="is cancelled"):
                    await verb("c")
            await road.campaigns.delete("c")
            assert await road.campaigns.list() == []

    within(story())


def test_a_retry_and_a_settled_recipient_have_no_error_any_more(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, ["+15110000000", "+15150000000"])
            await road.campaigns.start("c")
            await reaches(road, "done")
            failed, uncertain = await road.campaigns.recipients("c")
            assert failed.error
            assert uncertain.error
            assert await road.campaigns.settle("c", "sent") == 1
            assert not (await road.campaigns.recipients("c"))[1].error
        async with local(dsn) as road:
            await road.campaigns.retry("c")
            assert not (await road.campaigns.recipients("c"))[0].error

    within(story())


def test_a_late_result_of_a_deleted_campaign_breaks_nothing(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:
            await prepare(road, provider, tmp_path, numbers(1))
            store, campaign = road.campaign_service.store, (await road.campaigns.show("c")).id
            await road.campaigns.delete("c")
            late = CallResult(1, 1, RowState.sent)
            assert await store.record(campaign, [late]) == Counts()
            assert not await store.callback(campaign, 1, "SM1", "sent", "")

    within(story())


def test_an_export_has_iso_times_errors_and_the_files_own_columns(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    """A column of the file that is named as one of ours is told apart."""
    path = tmp_path / "people.csv"
    path.write_text("recipient,name,state\n+16000000001,Ann,Ohio\n+1511 0000000,Bob,Utah\n")

    async def story() -> None:
        async with running(local(dsn)) as road:
            await road.credentials.put("main", provider.spec(), TOKEN)
            await road.campaigns.create("c", credential="main", template="Hi {{ name }}")
            await road.campaigns.import_file("c", path)
            await road.campaigns.start("c")
            await reaches(road, "done")
            text = "".join([piece async for piece in road.campaigns.export("c")])
            good, bad = csv.DictReader(io.StringIO(text))
            assert (good["name"], good["csv_state"], good["state"]) == ("Ann", "Ohio", "sent")
            for name in ("sent_at", "answered_at"):
                moment = datetime.fromisoformat(good[name])
                assert abs(datetime.now(UTC) - moment) < timedelta(minutes=5)
            assert (bad["recipient"], bad["state"], bad["status_at"]) == (
                "+15110000000",
                "failed",
                "",
            )
            assert bad["error"] == "The number is not valid"
            lines = "".join([piece async for piece in road.campaigns.export("c", "ndjson")])
            told = [json.loads(line) for line in lines.splitlines()]
            assert told[1]["columns"] == {
                "recipient": "+1511 0000000",
                "name": "Bob",
                "state": "Utah",
            }
            assert told[1]["error"] == bad["error"]

    within(story())
