"""Every page with something on it is open to everybody: to a screen reader, on a phone, in dark."""

from collections.abc import Iterator
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from postroad.dashboard.pages import PAGES
from tests.dashboard.looks import WRONG, check_access, check_phone
from tests.dashboard.planting import NOBODY, REACH, WHSEC
from tests.dashboard.site import TASKS, Site, seen
from tests.servers import free_port

LONG = f"{NOBODY}/hooks/of/a/customer/whose/address/is/long?" + "shop=7&" * 20
ERROR = "the relay said 451 4.7.1 " + "greylisted-" * 20
LISTED = tuple(page for page in PAGES if page.group)
ALONE = ("/login", "/login?code=of-nobody", "/nothing-is-here", "/queue?name=nobody")
"""The login page as it is and with a link, and what is told where there is nothing."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A road with one of each thing that pages show; some of it is long."""
    made = Site(tmp_path_factory.mktemp("looks"), free_port(), TASKS, *REACH)
    with made.up():
        fill(made)
        yield made


def fill(place: Site) -> None:
    schema = {"type": "object", "properties": {"order": {"type": "integer"}}}
    smtp = {"kind": "smtp", "provider": "mx", "sender": "shop@example.com", "rate": "50/s"}
    hooks = {"kind": "webhook", "secret": WHSEC}
    mail = {"credential": "mail", "subject": "Hi {{ name }}", "html": "<p>Hi {{ name }}</p>"}
    nightly = {"queue": "later", "cron": "15 3 * * *", "zone": "Europe/Berlin"}
    for path, data in (
        ("event-types", {"name": "invoice.paid", "description": "It was paid", "schema": schema}),
        ("endpoints", {"url": LONG, "description": "Books Ltd", "types": ["invoice.paid"]}),
        ("endpoints", {"url": NOBODY, "filter": {"/order": 7}}),
        ("events", {"type": "invoice.paid", "body": {"order": 7}}),
        ("credentials", {"name": "mail", **smtp}),
        ("credentials", {"name": "hooks", **hooks}),
        ("campaigns", {"name": "spring-sale", "template": "Hi {{ name }}", **mail}),
        ("timetables", {"name": "nightly-report", "body": {"for": "ann"}, **nightly}),
        ("mailboxes", {}),
        ("suppressions", {"recipient": "ann@example.com", "note": "She asked us to stop"}),
        ("limits", {"name": "mail", "lanes": "smtp:*", "rate": "50/s", "hours": "09:00-20:00"}),
        ("rules", {"name": "busy", "lanes": "smtp:*", "text": "too many", "do": "keep"}),
        ("tokens", {"name": "shop", "role": "operate"}),
    ):
        place.ask("POST", f"/v1/{path}", data)
    for queue in ("good", "bad", "later", "doubtful", LONG):
        place.send(queue, ERROR, headers={"x-order": "7" * 60})
    place.ask("POST", "/v1/queues:pause", {"queue": "later"})


def addresses(place: Site) -> dict[str, str]:
    """The address of each page by its name: of one thing those that were made."""
    endpoint = place.ask("GET", "/v1/endpoints")["endpoints"][0]
    dead = place.ask("GET", "/v1/dead?queue=bad")["messages"][0]["id"]
    one = {
        "messages_one": f"/messages/{dead}",
        "queues_one": f"/queue?{urlencode({'name': endpoint['queue']})}",
        "lanes_one": f"/lane?id={place.ask('GET', '/v1/lanes')['lanes'][0]['id']}",
        "endpoints_one": f"/endpoints/{endpoint['id']}",
        "campaigns_one": "/campaign?name=spring-sale",
        "credentials_one": "/credential?name=hooks",
        "timetables_one": "/timetable?name=nightly-report",
    }
    found = {page.name: page.path for page in PAGES if page.group} | one
    assert set(found) == {page.name for page in PAGES}, "each page has an address here"
    return found


def give_recipients(page: Page, place: Site) -> None:
    """Of a draft, so that it has a preview."""
    page.goto(f"{place.url}/campaign?name=spring-sale")
    page.get_by_text("Paste instead").click()
    page.get_by_label("CSV, up to a megabyte").fill("recipient,name\nann@example.com,Ann\n")
    page.get_by_role("button", name="Import").click()
    expect(page.frame_locator("iframe.mail").get_by_text("Hi Ann")).to_be_visible()


def check(page: Page, part: str | None = None) -> None:
    check_access(page, part)
    check_phone(page)


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.wide)])
def test_every_page_is_open_to_everybody(browser: Browser, place: Site, scheme: str) -> None:
    with seen(browser, place, color_scheme=scheme, reduced_motion="reduce") as (page, watched):
        place.login(page)
        check(page)
        give_recipients(page, place)
        for path in addresses(place).values():
            page.goto(place.url + path)
            expect(page.locator(".empty")).to_have_count(0)
            check(page, "main")  # the rest is the same on all of them
        page.goto(f"{place.url}/dead")
        page.get_by_role("button", name="Purge all…").click()
        expect(page.get_by_role("link", name="Leave it as it is")).to_be_visible()
        check(page, "main")
        page.goto(f"{place.url}/access")
        page.get_by_label("Name").fill("Bob")
        page.get_by_role("button", name="Make login link").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("A login link for Bob")
        check(page, "main")
        watched.away = True  # what is not there is told on the console, too
        for path in ALONE:
            page.goto(place.url + path)
            check(page)


@pytest.mark.wide
def test_every_page_can_be_read_without_scripts(browser: Browser, place: Site) -> None:
    with seen(browser, place, java_script_enabled=False) as (page, _):
        place.login(page)
        menu = page.get_by_role("navigation", name="Pages")
        for each in LISTED:
            menu.get_by_role("link", name=each.title, exact=True).click()
            expect(page.get_by_role("heading", level=1)).to_have_text(each.title)
            expect(page.locator("section[data-region]")).to_have_count(len(each.regions))
        for path in addresses(place).values():
            page.goto(place.url + path)
            expect(page.locator("section[data-region]:has(*)").first).to_be_visible()
            for time in page.locator("main time").all()[:3]:
                expect(time).to_contain_text("UTC")


def test_the_current_page_of_the_menu_is_seen_on_a_phone(browser: Browser, place: Site) -> None:
    with seen(browser, place, viewport={"width": 360, "height": 740}) as (page, _):
        place.login(page)
        for path in ("/", "/campaigns", "/system"):
            page.goto(place.url + path)
            expect(page.locator("nav [aria-current]")).to_be_in_viewport(ratio=1)


def test_what_is_cut_covered_or_scrolled_unnoticed_is_found(browser: Browser) -> None:
    page = browser.new_page(viewport={"width": 360, "height": 740})
    for html, told in (
        ("<main><p style='white-space: nowrap'>" + "wide " * 40 + "</main>", "the page is"),
        ("<div style='overflow: hidden'><p style='width: 500px'>" + "a " * 200, "cut off by DIV"),
        ("<b>One</b><b style='margin-left: -20px'>Two</b>", "B One is on B Two"),
        ("<main style='overflow: hidden'><button style='margin-left: 340px'>Go", "cut off: BUTTON"),
        ("<select><option>a</select><button style='margin-left: -20px'>b", "control SELECT"),
        ("<div class=table style='overflow: auto'><p style='width: 500px'>a", "nothing tells"),
    ):
        page.set_content(html)
        assert told in " ".join(page.evaluate(WRONG)), html
    page.set_content("<p>One</p><p>Two</p>")
    assert page.evaluate(WRONG) == []
    page.close()
