"""A campaign straight to the servers of its recipients obeys the lane of each site."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.campaigns import lane_block, sender, sending_lanes
from postroad.campaigns.job_run import JobRun
from postroad.campaigns.sending_lane import SendingLane
from postroad.config import Settings
from postroad.model import campaign
from postroad.model.campaign import Row
from postroad.model.credential import CredentialSpec
from postroad.model.mail_settings import MailSettings
from postroad.rules import rule_book
from postroad.transports import registered
from postroad.transports.smtp.channel import MailParts
from postroad.verbs.parts import Parts
from tests.campaigns.conftest import dsn  # noqa: F401 - a fixture
from tests.campaigns.stories import reaches, running, until, used_up, write_csv
from tests.mail.mail_server import MailServer
from tests.mail.name_server import Zone, name_server
from tests.mail.test_road import MAIL

BIG, SMALL, GONE = "127.0.0.2", "127.0.0.3", "127.0.0.4"
ZONE: Zone = {
    ("a.example", "MX"): ["10 mx1.big.example."],
    ("b.example", "MX"): ["10 mx2.big.example."],
    ("c.example", "MX"): ["10 mx.small.example."],
    ("d.example", "MX"): ["10 mx.gone.example."],
    ("mx1.big.example", "A"): [BIG],
    ("mx2.big.example", "A"): [BIG],
    ("mx.small.example", "A"): [SMALL],
    ("mx.gone.example", "A"): [GONE],
}
BIG_QUEUE = "smtp@big.example:main"


class Sites:
    """A road that sends straight to two servers, and what they took."""

    def __init__(self, road: Postroad, big: MailServer, small: MailServer, folder: Path) -> None:
        self.road, self.big, self.small, self._folder = road, big, small, folder

    async def prepare(self, people: list[str], **spec: Any) -> None:
        made = CredentialSpec("mx?sessions=1", sender="shop@example.com", **spec)
        await self.road.credentials.put("main", made, "", kind="smtp", check=False)
        await self.road.campaigns.create("c", credential="main", template="Hi", subject="Hi")
        await self.road.campaigns.import_file("c", write_csv(self._folder / "p.csv", people))

    def took(self) -> tuple[int, int]:
        return len(self.big.mails), len(self.small.mails)

    def takes(self, *counts: int) -> Callable[[], Awaitable[bool]]:
        async def there() -> bool:
            return self.took() == counts

        return there


@pytest.fixture
def sites(
    dsn: str,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[[], Any]:
    """Servers of other domains have port 25, which only root may have."""
    monkeypatch.setattr(campaign, "AGAIN_MS", (5, 5, 5, 5))
    monkeypatch.setattr(campaign, "AGAIN_STEP_MS", 1)

    @asynccontextmanager
    async def opened() -> AsyncIterator[Sites]:
        with MailServer(host=BIG) as big, MailServer(host=SMALL, port=big.port) as small:
            monkeypatch.setattr(registered, "MailParts", partial(MailParts, port=big.port))
            async with name_server(ZONE) as (_, resolver):
                settings = Settings(mail=MailSettings(allow=("127.0.0.0/8",)))
                road = Postroad(dsn, settings=settings, parts=Parts(names=resolver))
                async with running(road):
                    yield Sites(road, big, small, tmp_path)

    return opened


def people(count: int, domain: str) -> list[str]:
    return [f"p{n}@{domain}" for n in range(count)]


async def test_a_rule_holds_the_lane_of_the_provider_that_answered_and_no_other(
    sites: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_book, "FRESH_S", 0.0)  # one that is deleted does not hold again
    async with sites() as at:
        road: Postroad = at.road
        everybody = ["r451-4.7.1@a.example", *people(5, "b.example"), *people(5, "c.example")]
        await at.prepare(everybody)
        await road.rules.put(
            "slow", lanes="smtp:big.example", do="hold_lane", lasts=3_600, status="451"
        )
        await road.campaigns.start("c")
        await until(at.takes(0, 5))

        async def held() -> bool:
            return bool((await road.explain_queue(BIG_QUEUE)).blocks)

        await until(held)
        single = await road.send("mailto:zoe@b.example", MAIL, credential="main")
        assert (await road.explain(single.id)).because.startswith("lane held")
        assert at.took() == (0, 5)
        await road.rules.delete("slow")
        (lane,) = (await road.explain_queue(BIG_QUEUE)).lanes
        await road.lanes.unblock(lane.id)
        counts = (await reaches(road, "done")).counts
        assert (counts.sent, counts.failed, counts.temporary) == (10, 1, 1)
        await until(at.takes(6, 5))
        assert not (await road.explain_queue(BIG_QUEUE)).because
    assert Counter(mail.recipient for mail in at.big.mails)["zoe@b.example"] == 1


async def test_a_limit_of_one_provider_leaves_the_others_alone(sites: Callable[[], Any]) -> None:
    async with sites() as at:
        await at.prepare(
            [*people(6, "a.example"), *people(6, "b.example"), *people(6, "c.example")]
        )
        await at.road.limits.put("big", lanes="smtp:big.example", rate="3/h")
        await at.road.campaigns.start("c")

        async def small_ones() -> bool:
            return len(at.small.mails) == 6

        await until(small_ones)
        await until(used_up(at.road, BIG_QUEUE))
        assert len(at.big.mails) <= 3
        await at.road.limits.delete("big")
        assert (await reaches(at.road, "done")).counts.sent == 18
        assert at.took() == (12, 6)


async def test_the_limit_of_the_credential_holds_over_all_sites(sites: Callable[[], Any]) -> None:
    async with sites() as at:
        await at.prepare([*people(6, "a.example"), *people(6, "c.example")], rate="4/h")
        await at.road.campaigns.start("c")
        await until(used_up(at.road, "smtp:main"))
        await at.road.campaigns.stop("c")
        assert sum(at.took()) <= 4


async def test_a_paused_lane_holds_its_site_alone(sites: Callable[[], Any]) -> None:
    async with sites() as at:
        await at.prepare([*people(5, "a.example"), *people(5, "c.example")])
        await at.road.send("mailto:first@a.example", MAIL, credential="main")
        await until(at.takes(1, 0))
        (lane,) = (await at.road.explain_queue(BIG_QUEUE)).lanes
        await at.road.lanes.pause(lane.id)
        await at.road.campaigns.start("c")

        async def five() -> bool:
            return bool((await at.road.campaigns.show("c")).counts.sent == 5)

        await until(five)
        assert at.took() == (1, 5)
        await at.road.lanes.resume(lane.id)
        assert (await reaches(at.road, "done")).counts.sent == 10


async def test_a_site_that_is_away_holds_up_nobody_and_the_campaign_ends(
    sites: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_block, "AWAY_LONG", 1)  # and not after half a minute
    async with sites() as at:
        await at.prepare([*people(12, "d.example"), *people(5, "a.example")])
        await at.road.campaigns.start("c")
        await until(at.takes(5, 0))
        counts = (await reaches(at.road, "done")).counts
        assert (counts.sent, counts.failed, counts.temporary) == (5, 12, 12)


async def test_those_begun_only_to_be_put_off_are_not_called_when_the_block_ends_meanwhile(
    sites: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They had no slots, and were sent several at once while the circuit was open."""
    monkeypatch.setattr(lane_block, "AWAY_LONG", 1)
    real, sent, add = JobRun.intend, SendingLane._sent, SendingLane.add
    lanes: set[SendingLane] = set()
    put_off, later, called = set[int](), list[int](), list[int]()

    async def intend(self: JobRun, ns: list[int]) -> Any:
        noted = await real(self, ns)
        if put_off:
            later.extend(ns)
        elif any(lane.left_s and lane.block.away_long for lane in lanes):
            put_off.update(ns)
            for lane in lanes:
                lane.block.until_ms = 0  # while the intents were stored
        return noted

    async def noting(self: SendingLane, message: Any, tries: int) -> Any:
        if message.row.n in put_off and not later:
            called.append(message.row.n)
        return await sent(self, message, tries)

    def adding(self: SendingLane, row: Row) -> None:
        lanes.add(self)
        add(self, row)

    monkeypatch.setattr(JobRun, "intend", intend)
    monkeypatch.setattr(SendingLane, "_sent", noting)
    monkeypatch.setattr(SendingLane, "add", adding)

    async def begun_again() -> bool:
        return bool(later)

    async with sites() as at:
        await at.prepare(people(12, "d.example"))
        await at.road.campaigns.start("c")
        await until(begun_again)
        await at.road.campaigns.cancel("c")
    assert put_off
    assert called == []


async def test_more_recipients_of_a_site_than_are_read_ahead_arrive_once(
    sites: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender, "PAGE", 10)
    monkeypatch.setattr(sender, "SLICE", 10)
    monkeypatch.setattr(sending_lanes, "LANE_AHEAD", 4)
    monkeypatch.setattr(sending_lanes, "LOW", 2)
    monkeypatch.setattr(sending_lanes, "LANES_KEPT", 1)
    mixed = [name for n in range(60) for name in (f"p{n}@a.example", f"p{n}@b.example")]
    async with sites() as at:
        await at.prepare([*mixed, *people(30, "c.example")])
        await at.road.campaigns.start("c")
        assert (await reaches(at.road, "done")).counts.sent == 150
        taken = Counter(mail.recipient for mail in (*at.big.mails, *at.small.mails))
    assert set(taken.values()) == {1}
    assert len(taken) == 150


async def test_a_test_send_goes_on_the_lane_of_its_recipient(sites: Callable[[], Any]) -> None:
    async with sites() as at:
        await at.prepare(people(1, "a.example"))
        answer = await at.road.campaigns.test_send("c", "ann@c.example")
        assert answer.state == "sent"
        assert at.took() == (0, 1)
        assert (await at.road.explain_queue("smtp@small.example:main")).lanes


async def test_a_campaign_uses_as_many_sessions_as_its_credentials_relay_allows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The settings say eight; a server that answers when twelve talk to it needs all of twelve."""
    with MailServer() as server:
        together, most = asyncio.Event(), 0
        talking = 0
        take = server.book.handle_DATA

        async def gathers(*given: Any) -> str:
            nonlocal talking, most
            talking += 1
            most = max(most, talking)
            if talking == 12:
                together.set()
            await together.wait()
            talking -= 1
            return await take(*given)

        monkeypatch.setattr(server.book, "handle_DATA", gathers)
        settings = Settings(mail=MailSettings(allow=("127.0.0.0/8",)))
        async with running(Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings)) as road:
            spec = CredentialSpec(f"{server.url}?sessions=12", sender="shop@example.com")
            await road.credentials.put("main", spec, "", kind="smtp", check=False)
            await road.campaigns.create("c", credential="main", template="Hi", subject="Hi")
            file = write_csv(tmp_path / "p.csv", people(24, "example.com"))
            await road.campaigns.import_file("c", file)
            await road.campaigns.start("c")
            assert (await reaches(road, "done")).counts.sent == 24
    assert most == 12
