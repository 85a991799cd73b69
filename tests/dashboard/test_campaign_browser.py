"""A campaign in a real browser, from the upload of its file to the export of its results."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FilePayload, Locator, Page, Route, expect

from tests.campaigns.provider import ACCOUNT, TOKEN, Provider
from tests.dashboard.looks import check_access
from tests.dashboard.planting import REACH
from tests.dashboard.site import Site, seen
from tests.servers import free_port

PEOPLE = "recipient,name\n+16000000001,Ann\n+16000000002,<b>Bob</b>\n+15150000001,Eve\n"
"""The provider says nothing clear about the last one."""
TABS_MAX = 120
Press = Callable[[Locator], None]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A road that all tests of this file look at: each has a campaign and a provider of its own."""
    made = Site(tmp_path_factory.mktemp("campaigns"), free_port())
    made.words += REACH
    with made.up():
        yield made


@pytest.fixture
def provider(tmp_path: Path, place: Site) -> Iterator[Provider]:
    """The credential has the name of its log's folder, and a rate at which no campaign ends."""
    with Provider(tmp_path) as found:
        pace(place, found, "1/h")
        yield found


def pace(place: Site, provider: Provider, rate: str) -> None:
    data = {"name": provider.log.parent.name, "secret": TOKEN, "provider": provider.server}
    more = {"account": ACCOUNT, "sender": "+15550000", "rate": rate}
    place.ask("POST", "/v1/credentials", {**data, **more})


def click(what: Locator) -> None:
    what.click()


def by_key(what: Locator) -> None:
    """Go there with the Tab key alone, and press it."""
    page = what.page
    expect(what).to_be_visible()
    for _ in range(TABS_MAX):
        if what.evaluate("(node) => node === document.activeElement"):
            page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"no number of tabs leads to {what}")


def draft(page: Page, place: Site, name: str, credential: str, press: Press) -> None:
    page.goto(place.url + "/campaigns")
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Credential").select_option(credential)
    page.get_by_label("Text, with columns").fill("Hi {{ name }}")
    press(page.get_by_role("button", name="Make draft"))
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def upload(page: Page, data: bytes, press: Press, file: str = "people.csv") -> None:
    given = FilePayload(name=file, mimeType="text/csv", buffer=data)
    page.get_by_label("CSV file").set_input_files(given)
    press(page.get_by_role("button", name="Upload", exact=True))


def told(page: Page, text: str) -> None:
    expect(page.locator("#notice")).to_contain_text(text)


def walk(
    page: Page, place: Site, provider: Provider, press: Press, look: Callable[[], None]
) -> None:
    """From nothing to the export; `look` is called on each new sight."""
    name = provider.log.parent.name
    draft(page, place, name, name, press)
    upload(page, b"recipient,name\nnobody,Ann\n", press)
    told(page, "people.csv, line 2: column 'recipient': 'nobody' is no telephone number")
    look()
    upload(page, PEOPLE.encode(), press)
    told(page, "3 recipients imported.")
    expect(page.get_by_text("Hi Ann")).to_be_visible()
    look()
    press(page.get_by_role("button", name="Estimate"))
    told(page, "Estimate: 3 recipients")
    press(page.get_by_text("Start…"))
    press(page.get_by_role("button", name="Send to 3 recipients now"))
    told(page, "has started")
    expect(page.get_by_text("limit: 1/h")).to_be_visible()
    press(page.get_by_role("button", name="Stop"))
    told(page, "is stopped")
    look()
    pace(place, provider, "50/s")
    press(page.get_by_role("button", name="Resume"))
    expect(page.get_by_text("1 uncertain recipient", exact=True)).to_be_visible()
    expect(page.get_by_text("done", exact=True)).to_be_visible()
    look()
    press(page.get_by_role("button", name="It was sent"))
    told(page, "1 recipient settled as sent")
    with page.expect_download() as got:
        press(page.get_by_role("link", name="Export CSV"))
    lines = Path(got.value.path()).read_text().splitlines()
    assert len(lines) == 4
    assert all("sent" in line for line in lines[1:])


def test_a_campaign_from_upload_to_export(
    browser: Browser, place: Site, provider: Provider
) -> None:
    with seen(browser, place) as (page, _):
        place.login(page)
        walk(page, place, provider, click, lambda: None)


@pytest.mark.wide
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_campaign_by_keys_alone_on_a_phone(
    browser: Browser, place: Site, provider: Provider, scheme: str
) -> None:
    def look() -> None:
        check_access(page)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= 360

    phone = {"width": 360, "height": 740}
    options: dict[str, Any] = {
        "color_scheme": scheme,
        "reduced_motion": "reduce",
        "viewport": phone,
    }
    with seen(browser, place, **options) as (page, _):
        place.login(page)
        walk(page, place, provider, by_key, look)


@pytest.mark.wide
def test_an_upload_that_breaks_off_is_sent_again_with_one_press(
    browser: Browser, place: Site, provider: Provider
) -> None:
    ends: list[Callable[[Route], None]] = [
        lambda _held: None,
        lambda broken: broken.abort("connectionreset"),
        lambda _held: None,
        lambda passed: passed.continue_(),
    ]

    def steer(asked: Route) -> None:
        """One route for the whole test: taking it away would let what is held go on."""
        ends.pop(0)(asked)

    name = provider.log.parent.name
    with seen(browser, place) as (page, watched):
        place.login(page)
        draft(page, place, name, name, click)
        page.route("**/campaigns/import", steer)
        upload(page, PEOPLE.encode(), click)
        expect(page.get_by_role("progressbar", name="Upload")).to_be_visible()
        page.get_by_role("button", name="Stop the upload").click()
        told(page, "was stopped, and nothing of it was stored")
        watched.away = True  # a request that fails is told on the console
        page.get_by_role("button", name="Upload", exact=True).click()
        told(page, "The upload broke off")
        watched.away = False
        page.get_by_role("button", name="Upload", exact=True).click()
        expect(page.get_by_role("progressbar", name="Upload")).to_be_visible()
        expect(page.locator("#notice")).to_have_count(0)  # what it said is of another upload
        page.get_by_role("button", name="Stop the upload").click()
        page.get_by_role("button", name="Upload", exact=True).click()
        told(page, "3 recipients imported.")
        expect(page.get_by_role("progressbar", name="Upload")).to_have_count(0)
