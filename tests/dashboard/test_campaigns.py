"""Campaigns on their pages, through the forms, with a provider that is called."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from postroad.model.campaign import HaltRule
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import LOCAL, numbers, prepare, reaches
from tests.dashboard.stand import PageStand
from tests.dashboard.test_actions import act

UNCERTAIN, REFUSED = "+1515", "+1511"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    with Provider(tmp_path_factory.mktemp("provider")) as found:
        yield found


@pytest.fixture
def stand(tmp_path: Path, provider: Provider) -> PageStand:
    provider.begin(tmp_path)
    return PageStand(tmp_path, LOCAL)


@asynccontextmanager
async def sending(stand: PageStand) -> AsyncIterator[None]:
    """The road of the stand sends, until the block ends."""
    stand.road.hears_signals = False
    task = asyncio.create_task(stand.road.run())
    try:
        yield
    finally:
        stand.road.stop()
        await task


async def test_a_campaign_is_started_stopped_and_resumed(
    stand: PageStand, provider: Provider, tmp_path: Path
) -> None:
    await stand.login()
    await prepare(stand.road, provider, tmp_path, numbers(20), rate="70/s")
    assert b"draft" in (await stand.get("/campaigns")).content
    assert "has started" in await act(stand, "/campaigns/start", name="c")
    assert b"limit: 70/s" in (await stand.get("/campaign?name=c")).content
    assert "is stopped" in await act(stand, "/campaigns/stop", name="c")
    assert b"Resume" in (await stand.get("/campaigns")).content
    assert "goes on" in await act(stand, "/campaigns/resume", name="c")
    assert (await stand.road.campaigns.show("c")).state == "running"
    assert "cancelled" in await act(stand, "/campaigns/cancel", name="c")
    assert "deleted" in await act(stand, "/campaigns/delete", name="c")
    assert b"No campaigns yet" in (await stand.get("/campaigns")).content


async def is_no_number(stand: PageStand, path: str, **fields: str) -> None:
    """A form is refused for one of its numbers."""
    answer = (await stand.post(path, {"postroad-fetch": "1"}, **fields)).json()
    assert answer["bad"]
    assert "is no whole number" in answer["notice"]


async def test_uncertain_recipients_are_shown_and_settled_and_results_exported(
    stand: PageStand, provider: Provider, tmp_path: Path
) -> None:
    await stand.login()
    people = [*numbers(3), *numbers(1, REFUSED), *numbers(2, UNCERTAIN)]
    await prepare(stand.road, provider, tmp_path, people)
    await act(stand, "/campaigns/start", name="c")
    async with sending(stand):
        await reaches(stand.road, "done")
        page = (await stand.get("/campaign?name=c&state=uncertain")).content
        assert b"2 uncertain recipients" in page
        assert b"or the server ended before it knew" in page
        assert page.count(b"It was not") == 2
        for wrong in ("five", "9" * 5_000):  # not all of them instead
            await is_no_number(stand, "/campaigns/settle", name="c", state="sent", row=wrong)
        said = await act(stand, "/campaigns/settle", name="c", state="sent", row="5")
        assert "1 recipient settled as sent" in said
        assert "1 recipient settled" in await act(stand, "/campaigns/lookup", name="c")
        assert b"+15110000000" in (await stand.get("/campaign?name=c&state=failed")).content
        file = await stand.get("/campaigns/export?name=c")
        assert file.headers["content-disposition"] == 'attachment; filename="c.csv"'
        assert file.content.decode().count("+1") == len(people)
        again = await stand.get("/campaigns/export?name=c&format=ndjson&state=failed")
        assert again.content.count(b"\n") == 1


async def test_a_file_is_given_to_a_session_alone_and_of_its_own_tenant(
    stand: PageStand, provider: Provider, tmp_path: Path
) -> None:
    await prepare(stand.road, provider, tmp_path, numbers(2))
    path = "/campaigns/export?name=c"
    assert (await stand.get(path)).headers["location"] == "/login"
    await stand.login(role="tenant", tenant="other")
    assert (await stand.get(path, {"postroad-tenant": "default"})).status >= 400
    mine = {"authorization": f"Bearer {stand.token}"}
    assert (await stand.get(path, mine)).status == 404  # the session counts, and no other token
    await stand.login(role="read")
    assert (await stand.get(path)).status == 200
    assert b"Stop" not in (await stand.get("/campaigns")).content


async def test_a_draft_is_made_given_recipients_previewed_tried_and_estimated(
    stand: PageStand, provider: Provider
) -> None:
    await stand.login()
    await stand.road.credentials.put("main", provider.spec(price=0.05), TOKEN)
    given = {"name": "new", "credential": "main", "template": "Hi {{ name }}"}
    assert "is a draft" in await act(stand, "/campaigns/create", **given)
    csv = "recipient,name\n+16000000001,<b>Ann</b>\n+16000000002,Bob\n"
    assert "2 recipients" in await act(stand, "/campaigns/paste", name="new", csv=csv)
    assert b"Hi &lt;b&gt;Ann&lt;/b&gt;" in (await stand.get("/campaign?name=new")).content
    assert b"Hi Bob" in (await stand.get("/campaign?name=new&row=2")).content
    assert "price 0.1" in await act(stand, "/campaigns/estimate", name="new")
    await stand.road.credentials.put("main", provider.spec(price=0), TOKEN)
    assert "no price set" in await act(stand, "/campaigns/estimate", name="new")
    said = await act(stand, "/campaigns/test", name="new", to="+6591234567", row="2")
    assert "was sent" in said
    await is_no_number(stand, "/campaigns/test", name="new", to="+6591234567", row="9" * 5_000)
    frame = await stand.get("/campaigns/html?name=new&row=1")
    assert frame.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert "script-src" not in frame.headers["content-security-policy"]


async def test_the_text_of_a_draft_is_shown_and_changed_until_it_starts(
    stand: PageStand, provider: Provider
) -> None:
    await stand.login()
    await stand.road.credentials.put("main", provider.spec(price=0.05), TOKEN)
    given = {"name": "new", "credential": "main"}
    assert b"postroad credential put" not in (await stand.get("/campaigns")).content
    await act(stand, "/campaigns/create", template="Hi {{ name }} of {{ town }}", **given)
    csv = "recipient,name\n+16000000001,Ann\n"
    refused = await stand.post("/campaigns/paste", {"postroad-fetch": "1"}, name="new", csv=csv)
    assert "there is no column 'town'" in refused.json()["notice"]
    shown = (await stand.get("/campaign?name=new")).content
    assert b"Hi {{ name }} of {{ town }}</textarea>" in shown
    text = {"template": "Hi {{ name }}\r\nBye", "subject": "", "html": ""}
    assert "Changed" in await act(stand, "/campaigns/edit", **given, **text)
    assert (await stand.road.campaigns.details("new")).template == "Hi {{ name }}\nBye"
    assert "nothing was changed" in await act(stand, "/campaigns/edit", **given, **text)
    await act(stand, "/campaigns/paste", name="new", csv=csv)
    assert b"Hi Ann\nBye" in (await stand.get("/campaign?name=new")).content
    await act(stand, "/campaigns/start", name="new")
    shown = (await stand.get("/campaign?name=new")).content
    assert b"What it sends" in shown
    assert b"/campaigns/edit" not in shown
    late = await stand.post(
        "/campaigns/edit", {"postroad-fetch": "1"}, **given, **text | {"html": "x"}
    )
    assert late.json()["bad"]


async def test_the_start_of_a_draft_is_planned(stand: PageStand, provider: Provider) -> None:
    await stand.login()
    await stand.road.credentials.put("main", provider.spec(price=0.05), TOKEN)
    await act(stand, "/campaigns/create", name="new", credential="main", template="Hi")
    await act(stand, "/campaigns/paste", name="new", csv="recipient\n+16000000001\n")
    script = {"postroad-fetch": "1"}
    past = await stand.post("/campaigns/schedule", script, name="new", at="2001-01-01T10:00")
    assert past.json()["bad"]
    said = await act(stand, "/campaigns/schedule", name="new", at="2999-01-01T10:00")
    assert "starts by itself at 2999-01-01 10:00:00 UTC" in said
    assert (await stand.road.campaigns.show("new")).state == "scheduled"
    page = (await stand.get("/campaign?name=new")).content
    assert b"2999-01-01 10:00:00 UTC, <time" in page, "also where scripts tell how long it is"
    assert b"/campaigns/edit" in page


async def test_a_resume_of_what_halted_says_that_it_may_halt_again(
    stand: PageStand, provider: Provider, tmp_path: Path
) -> None:
    await stand.login()
    people = numbers(20, REFUSED)
    rule = HaltRule(failures_min=2, percent=10)
    await prepare(stand.road, provider, tmp_path, people, rate="50/s", halt=rule)
    async with sending(stand):
        await act(stand, "/campaigns/start", name="c")
        halted = await reaches(stand.road, "halted")
    assert "resume with override" in halted.reason
    page = (await stand.get("/campaign?name=c")).content
    assert b">Resume with override: halt no more<" in page
    said = await act(stand, "/campaigns/resume", name="c")
    assert f"It halts again if this still holds: {halted.reason}" in said
    async with sending(stand):
        _ = await reaches(stand.road, "halted")
    said = await act(stand, "/campaigns/resume", name="c", override="yes")
    assert "halts again" not in said
