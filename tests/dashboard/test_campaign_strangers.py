"""What strangers write into files, cells and mails is text, and what runs in mails runs nowhere."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard.site import Site, seen
from tests.dashboard.test_campaign_browser import told, upload
from tests.dashboard.vectors import CLEAN, VECTORS
from tests.mail.mail_server import MailServer
from tests.servers import free_port

pytestmark = [pytest.mark.wide, pytest.mark.timeout(900)]
OURS = "*:not(iframe.mail)"
"""The frame of a mail is put there by the template."""
CELLS = tuple(" ".join(VECTORS[at : at + 4]) for at in range(0, len(VECTORS), 4))
FILLED = tuple(vector for vector in VECTORS if "{" not in vector)
"""Those that are no template of their own."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A road with a credential for mail."""
    made = Site(tmp_path_factory.mktemp("strangers"), free_port())
    made.words += ("--set", "mail.allow=127.0.0.0/8")
    with MailServer() as server, made.up():
        data = {"name": "mail", "kind": "smtp", "provider": server.url, "sender": "a@example.com"}
        made.ask("POST", "/v1/credentials", data)
        yield made


def draft(place: Site, name: str, **texts: str) -> str:
    """The address of a new draft."""
    given = {"name": name, "credential": "mail", "subject": "{{ name }}", "template": "Hi", **texts}
    place.ask("POST", "/v1/campaigns", given)
    return f"{place.url}/campaign?name={name}"


def quoted(cell: str) -> str:
    """A cell of a CSV file. A blank stands before it, so that no spreadsheet takes it for a
    formula."""
    return '" ' + cell.replace('"', '""') + '"'


def test_cells_and_mails_run_nowhere(browser: Browser, place: Site) -> None:
    """Each vector is in a cell, and with it in the subject, the text and the HTML of a mail."""
    url = draft(place, "cells", template="{{ name }}", html="<p>{{ name }}</p><i>{{ name }}</i>")
    lines = [f"person{n}@example.com,{quoted(cell)}" for n, cell in enumerate(CELLS)]
    assert len(set(VECTORS)) >= 200
    with seen(browser, place) as (page, _):
        place.login(page)
        page.goto(url)
        upload(page, "\n".join(("recipient,name", *lines)).encode(), lambda what: what.click())
        told(page, "recipients imported")
        for n, cell in enumerate(CELLS, 1):
            page.goto(f"{url}&row={n}")
            shown = page.get_by_label("Text", exact=True).inner_text()
            assert shown.split() == cell.split()
            assert page.evaluate(CLEAN, OURS) == [], cell
            harmless_frame(page)


def harmless_frame(page: Page) -> None:
    """The mail is shown with the two elements of its template, and no other."""
    expect(page.frame_locator("iframe.mail").locator("body > p + i")).to_be_visible()
    expect(page.frame_locator("iframe.mail").locator("body *")).to_have_count(2)
    assert not any(frame.evaluate("window.pwned") for frame in page.frames)


def test_the_html_of_a_mail_runs_nothing_and_fetches_nothing(browser: Browser, place: Site) -> None:
    """Whoever writes the HTML is a stranger too: every vector is in it as it stands."""
    people = b"recipient,name\nann@example.com,Ann\n"
    reached: list[str] = []
    with seen(browser, place) as (page, watched):
        watched.away = True  # what the policy refuses is told on the console
        page.route(re.compile("evil"), lambda asked: reached.append(asked.request.url))
        place.login(page)
        for n, some in enumerate((FILLED[::2], FILLED[1::2], *zip(FILLED[::9], strict=True))):
            page.goto(draft(place, f"mail{n}", html=f"<p>Here</p>{''.join(some)}"))
            upload(page, people, lambda what: what.click())
            told(page, "1 recipient imported")
            expect(page.frame_locator("iframe.mail").get_by_text("Here").first).to_be_visible()
            for frame in page.frames:
                assert not frame.evaluate("window.pwned"), some
            assert page.url.startswith(place.url)
        assert reached == []
        wrong = [each for each in watched.wrong if not each.startswith("asked ")]
        assert wrong == []
        watched.wrong.clear()


def test_names_of_files_are_texts(browser: Browser, place: Site) -> None:
    url = draft(place, "names")
    with seen(browser, place) as (page, _):
        place.login(page)
        page.goto(url)
        for vector in VECTORS:
            upload(page, b"none\n", lambda what: what.click(), vector[:120])
            told(page, "no column 'recipient'")
            assert page.evaluate(CLEAN) == [], vector
            page.locator("#notice").evaluate("(node) => node.remove()")
    with seen(browser, place, java_script_enabled=False) as (page, _):
        place.login(page)
        for vector in VECTORS[::8]:
            page.goto(url)
            upload(page, b"none\n", lambda what: what.click(), vector[:120])
            told(page, "no column 'recipient'")
            assert page.locator("main script, main img, main iframe, main [onload]").count() == 0
