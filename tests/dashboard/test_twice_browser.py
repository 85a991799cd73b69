"""Reloads, double clicks, Back, a session that ends, and a clock that is wrong, in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.site import Site, seen, site

URL = "https://93.184.216.34/hook"
WRONG_CLOCK = "const now = Date.now; Date.now = () => now() + 7200000;"


def made(place: Site) -> int:
    return len(place.ask("GET", "/v1/endpoints")["endpoints"])


@pytest.mark.wide
@pytest.mark.parametrize("scripts", [True, False])
def test_a_form_acts_once_and_back_leads_back(
    browser: Browser, tmp_path: Path, *, scripts: bool
) -> None:
    with site(tmp_path) as place, seen(browser, place, java_script_enabled=scripts) as (page, _):
        place.login(page)
        page.goto(f"{place.url}/endpoints")
        page.get_by_label("URL").fill(URL)
        page.get_by_role("button", name="Make endpoint").click(click_count=2)
        expect(page.get_by_role("link", name="Done").or_(page.locator("#notice"))).to_be_visible()
        assert made(place) == 1
        if scripts:  # it is the answer to the first click
            page.reload()
            expect(page.locator("#notice")).to_contain_text("sent already")
            assert made(place) == 1
        number = place.send("bad")
        page.goto(f"{place.url}/dead")
        while not page.get_by_text(number).count():
            page.reload()
        page.get_by_role("button", name="Purge all…").click()
        expect(page.locator(".sentence")).to_contain_text("Delete 1 dead message for good?")
        question = page.url
        page.get_by_role("link", name="Leave it as it is").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Dead set")
        page.go_back()
        expect(page).to_have_url(question)
        expect(page.locator(".sentence")).to_contain_text("Delete 1 dead message for good?")


@pytest.mark.wide
def test_what_was_typed_stays_when_the_session_ends(browser: Browser, tmp_path: Path) -> None:
    with site(tmp_path) as place, seen(browser, place) as (page, watched):
        watched.away = True  # that it is refused is told on the console
        place.login(page)
        page.goto(f"{place.url}/timetables")
        page.get_by_label("Name").fill("a long text")
        (session,) = place.ask("GET", "/v1/sessions")
        place.ask("DELETE", f"/v1/sessions/{session['id']}")
        expect(page.locator("#ended")).to_be_visible()
        expect(page.get_by_label("Name")).to_have_value("a long text")
        page.get_by_label("Name").fill("")
        page.get_by_label("Queue").fill("")
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_have_text("Log in")


@pytest.mark.wide
def test_ages_are_right_where_the_browsers_clock_is_wrong(browser: Browser, tmp_path: Path) -> None:
    with site(tmp_path) as place, seen(browser, place) as (page, _):
        page.add_init_script(WRONG_CLOCK)
        place.login(page)
        place.send("later")
        page.goto(f"{place.url}/messages")
        expect(page.locator("main tbody time").first).not_to_contain_text("h")
