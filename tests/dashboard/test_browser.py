"""The pages in a real browser: from the first start on, live, and when the server is away."""

import os
import pty
import re
import select
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from postroad.dashboard.pages import PAGES
from tests.cli.running import PROGRAM, WAIT_S
from tests.dashboard.looks import check_access
from tests.dashboard.planting import NOBODY, REACH
from tests.dashboard.portal import embedding_site
from tests.dashboard.site import TASKS, Site, seen
from tests.servers import free_port

LISTED = [page for page in PAGES if page.group]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A road that all tests of this file look at: each has queues of its own."""
    made = Site(tmp_path_factory.mktemp("site"), free_port(), TASKS, *REACH)
    with made.up():
        yield made


def first_start(folder: Path, port: int) -> tuple["subprocess.Popen[bytes]", str]:
    """Start the server on a terminal, and read the login link from it."""
    ours, theirs = pty.openpty()
    listen = ("--listen", f"127.0.0.1:{port}", "--set", "hub_listen=127.0.0.1:0")
    reach = ("--set", "webhooks.http=true", "--set", "webhooks.allow=127.0.0.0/8")
    process = subprocess.Popen(
        (*PROGRAM, "up", *listen, *reach, "--set", "webhooks.ports="),
        cwd=folder,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    said = b""
    while b"Ctrl+C" not in said and select.select([ours], [], [], WAIT_S)[0]:
        with suppress(OSError):
            said += os.read(ours, 1 << 16)
    found = re.search(rb"http://\S+/login\?code=[\w-]+", said.replace(b"\r\n", b""))
    assert found, said
    return process, found[0].decode()


def test_from_the_first_start_to_the_first_delivered_webhook(
    browser: Browser, tmp_path: Path
) -> None:
    port = free_port()
    made = Site(tmp_path, port)
    process, link = first_start(tmp_path, port)
    try:
        with embedding_site() as shop, seen(browser, made) as (page, _):
            page.goto(link)
            page.get_by_role("button", name="Log in").click()
            expect(page.get_by_text("Nothing was sent yet")).to_be_visible()
            number = made.send(f"{shop.near}/200")
            page.get_by_role("link", name="Messages").click()
            page.get_by_role("link", name=number).click()
            expect(page.get_by_text(re.compile(f"{number} for .* was delivered"))).to_be_visible()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(WAIT_S)


def test_a_page_is_live_and_a_queue_is_paused_and_resumed(browser: Browser, place: Site) -> None:
    with seen(browser, place) as (page, _):
        place.login(page)
        page.goto(place.url + "/queues")
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        page.evaluate("window.kept = 1")
        place.send("later")
        row = page.get_by_role("row").filter(has_text="later")
        expect(row).to_be_visible()
        row.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("status").filter(has_text="later is paused")).to_be_visible()
        expect(row.get_by_text("paused", exact=True)).to_be_visible()
        assert place.ask("GET", "/v1/queues:explain?queue=later")["paused"]
        row.get_by_role("button", name="Resume").click()
        expect(row.get_by_role("button", name="Pause")).to_be_visible()
        assert page.evaluate("window.kept") == 1  # the page was never loaded again


@pytest.mark.wide
def test_a_queue_is_limited_on_its_page(browser: Browser, place: Site) -> None:
    place.send("later")
    with seen(browser, place) as (page, _):
        place.login(page)
        page.goto(place.url + "/queue?name=later")
        page.get_by_label("Limit, as").fill("5/s")
        page.get_by_role("button", name="Set limit").click()
        expect(page.get_by_role("status").filter(has_text="At most 5/s")).to_be_visible()
        page.get_by_label("Limit, as").fill("")
        page.get_by_role("button", name="Set limit").click()
        expect(page.get_by_role("status").filter(has_text="lifted")).to_be_visible()


@pytest.mark.wide
def test_an_endpoint_is_made_tried_disabled_and_given_a_new_secret(
    browser: Browser, place: Site
) -> None:
    with seen(browser, place) as (page, _):
        place.login(page)
        page.goto(place.url + "/endpoints")
        page.get_by_label("URL").fill(f"{NOBODY}/books")
        page.get_by_label("Whose it is").fill("Books Ltd")
        page.get_by_role("button", name="Make endpoint").click()
        expect(page.locator("#secret")).to_contain_text("whsec_")
        first = page.locator("#secret").inner_text()
        page.get_by_role("link", name="Done").click()
        expect(page.get_by_text(f"{NOBODY}/books", exact=True)).to_be_visible()
        page.get_by_role("button", name="Send test event").click()
        expect(page.get_by_text("is on its way")).to_be_visible()
        page.get_by_role("button", name="Disable").click()
        expect(page.get_by_text("disabled", exact=True)).to_be_visible()
        page.get_by_role("button", name="Enable").click()
        expect(page.get_by_role("button", name="Disable")).to_be_visible()
        page.get_by_text("Rotate secret…").click()
        page.get_by_role("button", name="Give it a new secret").click()
        expect(page.locator("#secret")).to_contain_text("whsec_")
        assert page.locator("#secret").inner_text() != first
        page.get_by_role("link", name="Done").click()
        expect(page.get_by_text("the one before signs until")).to_be_visible()
        expect(page.get_by_text("whsec_")).to_have_count(0)


@pytest.mark.wide
def test_a_lane_is_found_paused_and_resumed(browser: Browser, place: Site) -> None:
    number = place.send("good", delay=3600)  # one that is delivered has no lane any more
    with seen(browser, place) as (page, _):
        place.login(page)
        page.goto(f"{place.url}/messages/{number}")
        lane = page.locator("dt", has_text="Lane").locator("+ dd").get_by_role("link")
        name = lane.inner_text()
        lane.click()
        expect(page.get_by_role("heading", level=1)).to_have_text(f"Lane {name}")
        page.get_by_role("button", name="Pause").click()
        expect(page.get_by_text("paused", exact=True)).to_be_visible()
        assert place.ask("GET", f"/v1/lanes:explain?lane={name}")["paused"]
        page.get_by_role("button", name="Resume").click()
        expect(page.get_by_text("open for messages")).to_be_visible()


@pytest.mark.wide
def test_a_hidden_page_asks_for_nothing(browser: Browser, place: Site) -> None:
    hide = (
        "hidden => { Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });"
        "document.dispatchEvent(new Event('visibilitychange')); }"
    )
    with seen(browser, place) as (page, _):
        place.login(page)
        page.goto(place.url + "/queues")
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        page.evaluate(hide, True)
        expect(page.get_by_text("Paused", exact=True)).to_be_visible()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        place.send("later", "while hidden")
        page.wait_for_timeout(1_500)  # so long a page that is seen is not without a request
        assert asked == []
        page.evaluate(hide, False)
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        expect(page.get_by_role("row").filter(has_text="later")).to_be_visible()


def test_a_message_is_found_explained_and_sent_again(browser: Browser, place: Site) -> None:
    number = place.send("bad", {"order": 7})
    with seen(browser, place) as (page, _):
        place.login(page)
        page.goto(place.url + "/messages")
        page.get_by_label("Queue, or its beginning").fill("bad")
        page.get_by_label("State").select_option("dead")
        page.get_by_label("Accepted since (UTC)").fill("2020-01-01T00:00")
        page.get_by_role("button", name="Search").click()
        page.get_by_role("link", name=number).click()
        expect(page.get_by_text(f"{number} for bad is dead")).to_be_visible()
        expect(page.get_by_label("Body", exact=True)).to_contain_text('"order": 7')
        page.get_by_role("button", name="Send again").click()
        expect(page.get_by_role("heading", level=1)).not_to_have_text(number)
        expect(page.get_by_text("for bad is dead")).to_be_visible()  # it has died again, live


@pytest.mark.wide
def test_chosen_rows_stay_chosen_when_a_message_arrives(browser: Browser, place: Site) -> None:
    first, second = place.send("good", delay=3600), place.send("good", delay=3600)
    with seen(browser, place) as (page, _):
        place.login(page)
        page.goto(place.url + "/messages?queue=good&state=waiting")
        page.get_by_label(f"Choose {first}").check()
        page.get_by_label(f"Choose {second}").check()
        third = place.send("good", delay=3600)
        expect(page.get_by_label(f"Choose {third}")).not_to_be_checked()
        expect(page.get_by_label(f"Choose {first}")).to_be_checked()
        expect(page.get_by_text("2 chosen")).to_be_visible()
        place.ask("DELETE", f"/v1/messages/{second}")
        expect(page.get_by_label(f"Choose {second}")).to_have_count(0)
        expect(page.get_by_text("1 chosen")).to_be_visible()
        expect(page.get_by_label(f"Choose {first}")).to_be_checked()


@pytest.mark.wide
def test_keys_go_to_pages_rows_and_the_search(browser: Browser, place: Site) -> None:
    number = place.send("good")
    with seen(browser, place) as (page, _):
        place.login(page)
        expect(page.get_by_text("Live", exact=True)).to_be_visible()  # its scripts have begun
        page.keyboard.press("g")
        page.keyboard.press("m")
        expect(page.get_by_role("heading", level=1)).to_have_text("Messages")
        expect(page.get_by_role("link", name=number)).to_be_visible()
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        page.keyboard.press("/")
        expect(page.get_by_label("Queue, or its beginning")).to_be_focused()
        page.get_by_role("heading", level=1).click()
        page.keyboard.press("j")
        expect(page.locator("main tbody a.row-link").first).to_be_focused()


@pytest.mark.wide
def test_every_page_of_the_menu_has_a_key_and_the_list_of_keys_tells_it(
    browser: Browser, place: Site
) -> None:
    with seen(browser, place) as (page, _):
        place.login(page)
        for each in LISTED:
            go_to(page, each.key, each.title)
        page.keyboard.press("?")
        keys = page.get_by_role("dialog", name="Keys")
        for each in LISTED:
            expect(keys.get_by_text(each.title, exact=True)).to_be_visible()
        check_access(page)
        page.keyboard.press("Escape")
        expect(keys).to_be_hidden()
        page.get_by_role("button", name="Keys").click()
        expect(keys).to_be_visible()


def tab_to(page: Page, name: str) -> None:
    """Press Tab until a button has the focus, and then Enter."""
    button = page.get_by_role("button", name=name, exact=True)
    expect(button).to_be_visible()
    for _ in range(100):
        if button.evaluate("each => each === document.activeElement"):
            page.keyboard.press("Enter")
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name} cannot be reached by Tab")


def go_to(page: Page, letter: str, heading: str) -> None:
    """Press `g` and a letter, once the page's scripts have begun."""
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press(letter)
    expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    expect(page.get_by_text("Live", exact=True)).to_be_visible()


def test_with_keys_alone_a_message_is_found_sent_again_and_purged(
    browser: Browser, place: Site
) -> None:
    number = place.send("bad", "by keys")
    with seen(browser, place) as (page, _):
        place.login(page)
        go_to(page, "m", "Messages")
        page.keyboard.press("/")
        page.keyboard.type("bad")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("queue=bad"))
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        expect(page.locator("main tbody a.row-link").first).to_have_text(number)
        page.keyboard.press("j")
        expect(page.get_by_role("link", name=number)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_text(f"{number} for bad is dead")).to_be_visible()
        tab_to(page, "Send again")
        expect(page.get_by_role("heading", level=1)).not_to_have_text(number)
        expect(page.get_by_text("for bad is dead")).to_be_visible()
        go_to(page, "d", "Dead set")
        page.keyboard.press("/")
        for _ in ("reason", "error"):
            page.keyboard.press("Tab")
        page.keyboard.type("by keys")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("error=by"))
        expect(page.locator("tr", has_text="by keys").locator("a.row-link")).to_have_count(2)
        tab_to(page, "Purge all…")
        expect(page.get_by_text("Delete 2 dead messages for good?")).to_be_visible()
        tab_to(page, "Delete 2 dead messages")
        expect(page.get_by_text("No dead message matches")).to_be_visible()


def test_what_is_dead_is_purged_after_a_question_and_as_a_job(
    browser: Browser, place: Site
) -> None:
    place.send("bad", "purge me")
    with seen(browser, place) as (page, _):
        place.login(page)
        page.goto(place.url + "/dead?error=purge%20me")
        expect(page.get_by_role("table", name="").get_by_text("purge me").first).to_be_visible()
        page.get_by_role("button", name="Purge all…").click()
        expect(page.get_by_text("Delete 1 dead message for good?")).to_be_visible()
        page.get_by_role("link", name="Leave it as it is").click()
        page.get_by_role("button", name="Purge all…").click()
        page.get_by_role("button", name="Delete 1 dead message").click()
        expect(page.get_by_text("No dead message matches")).to_be_visible()
        expect(page.get_by_role("cell", name="done").first).to_be_visible()
    assert place.ask("GET", "/v1/dead?error=purge%20me")["messages"] == []


def test_all_that_match_are_sent_again_after_a_count(browser: Browser, place: Site) -> None:
    for _ in range(3):
        place.send("bad", "again and again")
    with seen(browser, place) as (page, _):
        place.login(page)
        page.goto(place.url + "/messages?queue=bad&state=dead&text=again%20and%20again")
        expect(page.locator("tr", has_text="again and again")).to_have_count(3)
        page.get_by_role("button", name="Send all that match again…").click()
        page.get_by_role("button", name="Send 3 messages again").click()
        expect(page.get_by_text("3 of 3")).to_be_visible()
        expect(page.locator("tr", has_text="again and again")).to_have_count(6)


@pytest.mark.wide
def test_pages_can_be_read_and_used_without_scripts(browser: Browser, place: Site) -> None:
    place.send("good")
    with seen(browser, place, java_script_enabled=False) as (page, _):
        place.login(page)
        page.get_by_role("link", name="Queues").click()
        row = page.get_by_role("row").filter(has_text="good")
        while not row.count():  # a page may show what was there some seconds ago
            page.reload()
        row.get_by_role("button", name="Pause").click()
        expect(page.get_by_role("status")).to_contain_text("good is paused")
        row.get_by_role("button", name="Resume").click()
        expect(page.get_by_role("status")).to_contain_text("good goes on")


def test_the_page_says_that_the_server_is_away_and_comes_back(
    browser: Browser, tmp_path: Path
) -> None:
    made = Site(tmp_path, free_port())
    with seen(browser, made) as (page, watched):
        with made.up() as process:
            made.login(page)
            page.goto(made.url + "/queues")
            expect(page.get_by_text("Live", exact=True)).to_be_visible()
            watched.away = True
            os.kill(process.pid, signal.SIGKILL)
            process.wait(WAIT_S)
            expect(page.get_by_text("The server does not answer")).to_be_visible()
        with made.up():
            expect(page.get_by_text("Live", exact=True)).to_be_visible()
            expect(page.get_by_text("The server does not answer")).to_be_hidden()
            made.send("later")
            expect(page.get_by_role("row").filter(has_text="later")).to_be_visible()
