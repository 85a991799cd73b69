"""Credentials, estimates, previews, schedules, exports, and what is refused."""

import asyncio
import csv
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from postroad import Postroad
from postroad.errors import RoadHeld
from postroad.model.campaign import UnknownCampaign, WrongState
from postroad.model.credential import BadCredential, CredentialSpec
from postroad.model.errors import BadInput, BadTime, BadUrl
from postroad.model.keyring import new_key
from postroad.ports.entropy import secret_bytes
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import draft, local, numbers, prepare, reaches, running
from tests.cli.running import data

Within = Callable[[Any], Any]


def test_a_credential_is_tested_sealed_and_never_shown_again(
    dsn: str, provider: Provider, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROAD_KEYS", new_key("one", secret_bytes))

    async def story() -> None:
        async with local(dsn) as road:
            with pytest.raises(BadCredential, match="does not know this account"):
                await road.credentials.put("main", provider.spec(), "wrong, but long enough")
            assert await road.credentials.list() == []
            shown = await road.credentials.put("main", provider.spec(rate="50/s"), TOKEN)
            assert (shown.rate, shown.account) == ("50/s", "AC1")
            assert await road.credentials.check("main") == "Stand-in"
            stored = await road.campaign_service.store.credential("default", "main")
            assert stored is not None
            assert stored.key == "one"
            assert TOKEN.encode() not in stored.sealed
            assert TOKEN not in repr(await road.credentials.list())
            await road.credentials.delete("main")
            with pytest.raises(BadCredential, match="no credential 'main'"):
                await road.credentials.check("main")

    within(story())


def test_a_secret_that_is_too_short_is_refused_whether_or_not_it_is_tested(
    dsn: str, provider: Provider, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:
            for check in (True, False):
                with pytest.raises(BadInput, match="at least 16"):
                    await road.credentials.put("main", provider.spec(), "short", check=check)
                with pytest.raises(BadInput, match="24 to 64"):
                    await road.credentials.put(
                        "hooks", CredentialSpec(""), "whsec_c2hvcnQ=", kind="webhook", check=check
                    )
                with pytest.raises(BadInput, match="needs secret"):
                    await road.credentials.put(
                        "hooks", CredentialSpec(""), kind="webhook", check=check
                    )
            assert await road.credentials.list() == []

    within(story())


def test_credentials_are_sealed_anew_when_the_keys_are_rotated(
    dsn: str, provider: Provider, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = new_key("old", secret_bytes), new_key("new", secret_bytes)

    async def put() -> None:
        async with local(dsn) as road:
            await road.credentials.put("main", provider.spec(), TOKEN)

    async def rotate() -> None:
        async with local(dsn) as road:
            assert await road.credentials.rotate_keys(batch=1) == 1
            assert await road.credentials.rotate_keys() == 0

    async def check() -> None:
        async with local(dsn) as road:
            assert await road.credentials.check("main") == "Stand-in"

    for keys, story in ((old, put), (f"{new},{old}", rotate), (new, check)):
        monkeypatch.setenv("POSTROAD_KEYS", keys)
        within(story())


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"rate": "0/s"}, "at least one start"),
        ({"rate": "fast"}, "write it as 50/s"),
        ({"sender": ""}, "a credential for sms needs sender"),
        ({"segments_max": 0}, "1 to 10 segments"),
        ({"expires_at_ms": 1}, "has expired already"),
    ],
)
def test_a_bad_credential_is_refused_by_name(
    changes: dict[str, Any], reason: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(f"sqlite:///{tmp_path}/road.db") as road:
            with pytest.raises(BadInput, match=reason):
                await road.credentials.put("main", provider.spec(**changes), TOKEN)
            assert await road.credentials.list() == []

    within(story())


def test_a_provider_at_a_forbidden_address_is_refused(
    provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with Postroad(f"sqlite:///{tmp_path}/road.db") as road:
            with pytest.raises(BadUrl):
                await road.credentials.put("main", provider.spec(), TOKEN)
            with pytest.raises(BadUrl, match="may not call"):
                spec = provider.spec(server="https://127.0.0.1")
                await road.credentials.put("main", spec, TOKEN)

    within(story())


def test_an_expired_credential_starts_nothing(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, numbers(3))
            soon_ms = road.store.clock.now_ms() + 1_000
            await road.credentials.put("main", provider.spec(expires_at_ms=soon_ms), TOKEN)
            await asyncio.sleep(1.1)
            with pytest.raises(BadCredential, match="has expired"):
                await road.campaigns.start("c")
            assert (await road.campaigns.show("c")).state == "draft"

    within(story())


def test_a_dry_run_counts_costs_and_tells_how_long(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    path = tmp_path / "people.csv"
    rows = [f"{number},{'x' * (20 if n else 200)}" for n, number in enumerate(numbers(101))]
    path.write_text("\n".join(["recipient,name", *rows]))

    async def story() -> None:
        async with local(dsn) as road:
            await road.credentials.put("main", provider.spec(rate="10/s", price=0.05), TOKEN)
            await road.campaigns.create("c", credential="main", template="Hi {{ name }}")
            await road.campaigns.import_file("c", path)
            told = await road.campaigns.dry_run("c")
            assert (told.recipients, told.invalid, told.segments) == (100, 1, 100)
            assert told.invalid_rows[0].reason == "2 segments, but the credential allows 1"
            assert told.cost == 5.0
            assert 10 <= told.seconds <= 12
            assert told.encodings == {"GSM-7": 100}
            assert not provider.arrivals()

    within(story())


def test_a_preview_shows_and_a_test_send_sends_and_neither_counts(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:
            await prepare(road, provider, tmp_path, numbers(3))
            letter = await road.campaigns.preview("c", 2)
            assert letter.text == "Hello Name 1"
            answer = await road.campaigns.test_send("c", "+65 9123 4567", 2)
            assert answer.provider_id.startswith("SM")
            assert list(provider.taken()) == ["+6591234567"]
            assert (await road.campaigns.exact("c")).unsent == 3
            with pytest.raises(BadInput, match="no recipient 4"):
                await road.campaigns.preview("c", 4)

    within(story())


def test_a_held_road_sends_no_test_either(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def drafted() -> None:
        async with local(dsn) as road:
            await prepare(road, provider, tmp_path, numbers(1))

    async def tried() -> None:
        async with local(dsn) as road:
            with pytest.raises(RoadHeld, match=r"held by hand.*store release"):
                await road.campaigns.test_send("c", "+65 9123 4567")
            assert (await road.campaigns.preview("c")).text == "Hello Name 0"

    within(drafted())
    assert data("store", "restored", "--hold", "--dsn", dsn)["held_at_ms"]
    within(tried())
    assert not provider.arrivals()


def test_a_scheduled_campaign_starts_at_its_time_in_its_zone(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:  # nobody runs it: it stays scheduled, however slow this is
            await prepare(road, provider, tmp_path, numbers(3))
            for at, error in (
                (datetime.now(UTC) - timedelta(seconds=1), "is past"),
                (datetime(2999, 1, 1), "no time zone"),  # noqa: DTZ001
            ):
                with pytest.raises(BadTime, match=error):
                    await road.campaigns.schedule("c", at)
            at = datetime.now(ZoneInfo("Asia/Singapore")) + timedelta(seconds=4)
            planned = await road.campaigns.schedule("c", at)
            assert (planned.state, planned.start_at_ms) == ("scheduled", int(at.timestamp() * 1000))
        async with running(local(dsn)) as road:
            done = await reaches(road, "done")
            assert done.started_at_ms >= planned.start_at_ms
            assert done.counts.sent == 3

    within(story())


def test_a_start_that_was_missed_by_hours_is_not_made_without_being_asked(
    provider: Provider, tmp_path: Path, within: Within
) -> None:
    dsn = f"sqlite:///{tmp_path}/road.db"

    async def story() -> None:
        async with local(dsn) as road:
            await prepare(road, provider, tmp_path, numbers(3))
            await road.campaigns.schedule("c", datetime.now(UTC) + timedelta(hours=1))
            connection = road.connection()
            connection.execute("update campaign set start_at = start_at - 3 * 3600000")
            connection.close()
        async with running(local(dsn)) as road:
            stopped = await reaches(road, "stopped")
            assert "missed" in stopped.reason
        assert not provider.arrivals()

    within(story())


def test_results_are_exported_and_add_up(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    people = numbers(30) + numbers(2, "+1511") + numbers(1, "+1515")

    async def story() -> None:
        async with running(local(dsn)) as road:
            await prepare(road, provider, tmp_path, people)
            await road.campaigns.start("c")
            await reaches(road, "done")
            text = "".join([piece async for piece in road.campaigns.export("c")])
            found = list(csv.DictReader(io.StringIO(text)))
            assert [one["recipient"] for one in found] == people
            assert found[30]["code"] == "21211"
            lines = "".join([p async for p in road.campaigns.export("c", "ndjson", state="failed")])
            assert [json.loads(line)["recipient"] for line in lines.splitlines()] == people[30:32]
            states = [one["state"] for one in found]
            counts = await road.campaigns.exact("c")
            assert counts.total == len(found)
            for state in ("sent", "failed", "uncertain", "unsent"):
                assert states.count(state) == getattr(counts, state)

    within(story())


def test_names_that_nobody_knows_and_double_ones_are_refused(
    dsn: str, provider: Provider, tmp_path: Path, within: Within
) -> None:
    async def story() -> None:
        async with local(dsn) as road:
            with pytest.raises(UnknownCampaign, match="no campaign 'x'"):
                await road.campaigns.start("x")
            with pytest.raises(BadCredential):
                await road.campaigns.create("c", credential="main", template="Hi")
            await prepare(road, provider, tmp_path, numbers(1))
            with pytest.raises(WrongState, match="already"):
                await draft(road, tmp_path, numbers(1), "c")
            assert [one.name for one in await road.campaigns.list()] == ["c"]

    within(story())
