"""What strangers write is text on every page, and their sites can change nothing."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard.planting import NAME_MAX, REACH, Planting
from tests.dashboard.site import TASKS, Site, seen, site
from tests.dashboard.vectors import CLEAN, VECTORS
from tests.servers import free_port

UNGUARDED = """
from postroad.dashboard import guarding
from postroad.api.access import Access

guarding.check_own_form = Access._check_origin = lambda *_: None
guarding.HEADERS["content-security-policy"] = "default-src 'self'"
"""

UNESCAPED = """
from postroad.dashboard import rendering

rendering.environment().autoescape = False
"""
NAMES = tuple(dict.fromkeys(vector for vector in VECTORS[::4] if vector.isprintable()))
"""One of each kind: many things are named with them."""
ASKED = NAMES[::9]
"""Some of which forms ask, and jobs tell."""


def check_pages(page: Page, place: Site, planted: Planting, whole: str) -> None:
    """Look at every page: what was planted is shown, and nothing of it has become a part."""
    for path in planted.pages(place):
        page.goto(place.url + path)
        assert page.evaluate(CLEAN) == [], path
    page.goto(f"{place.url}/messages/{whole}")
    assert page.evaluate(CLEAN) == []
    body = "".join(page.get_by_label("Body", exact=True).inner_text().split())
    for vector in VECTORS:
        assert "".join(json.dumps(vector, ensure_ascii=False).split()) in body, vector


def check_questions(page: Page, place: Site, queue: str, said: str) -> None:
    """Questions, and the jobs that come of them, name what they are about."""
    page.goto(f"{place.url}/messages?{urlencode({'queue': queue})}")
    page.get_by_role("button", name="Cancel all of the queue…").click()
    expect(page.locator(".sentence")).to_contain_text(queue)
    assert page.evaluate(CLEAN) == [], queue
    page.get_by_role("button", name="Cancel 1 message").click()
    expect(page.get_by_role("rowheader", name=f"Cancel all of {queue}")).to_be_visible()
    assert page.evaluate(CLEAN) == [], queue
    page.goto(f"{place.url}/dead?{urlencode({'error': said[:NAME_MAX]})}")
    page.get_by_role("button", name="Purge all…").click()
    expect(page.get_by_text("All that match: error")).to_contain_text(said[:NAME_MAX])
    assert page.evaluate(CLEAN) == [], queue


@pytest.mark.wide
@pytest.mark.timeout(900)
def test_no_text_runs_as_code_on_any_page(browser: Browser, tmp_path: Path) -> None:
    assert len(set(VECTORS)) >= 200
    planted = Planting(VECTORS, NAMES)
    place = Site(tmp_path, free_port(), planted.program(), *REACH)
    with place.up():
        whole = planted.plant(place)
        with seen(browser, place) as (page, _):
            place.login(page, name=VECTORS[3])
            check_pages(page, place, planted, whole)
            for vector in ASKED:
                check_questions(page, place, f"q-{vector[:NAME_MAX]}", vector)
            for vector in VECTORS[::3]:  # what an address says is shown in the form
                page.goto(f"{place.url}/messages?{urlencode({'text': vector[:190]})}")
                expect(page.get_by_label("Last error contains")).to_have_value(vector[:190])
                assert page.evaluate(CLEAN) == [], vector


@pytest.mark.wide
def test_without_escaping_a_planted_text_is_found_on_every_page(
    browser: Browser, tmp_path: Path
) -> None:
    vector = "<img src=x onerror=alert(1)>"
    planted = Planting((vector,), (vector,))
    place = Site(tmp_path, free_port(), planted.program(UNESCAPED), *REACH)
    with place.up():
        whole = planted.plant(place)
        with seen(browser, place) as (page, watched):
            watched.away = True  # what the policy refuses is told on the console
            place.login(page)
            found = {}
            for path in (*planted.pages(place), f"/messages/{whole}"):
                page.goto(place.url + path)
                found[path] = page.evaluate(CLEAN)
            missed = {path for path, wrong in found.items() if not wrong}
            # One has ids of ours alone; the lanes of other handlers are before those of ours.
            assert missed == {"/mailboxes", "/lanes"}
            watched.wrong.clear()


@contextmanager
def elsewhere(html: str) -> Iterator[str]:
    """Another site with one page."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(html.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


def test_another_sites_form_and_frame_get_nowhere(browser: Browser, tmp_path: Path) -> None:
    with site(tmp_path) as place:
        place.send("later")
        form = f"<form method=post action={place.url}/queues/pause><input name=queue value=later>"
        with seen(browser, place) as (page, watched):
            place.login(page)
            watched.away = True  # the other site's page is not ours to watch
            with elsewhere(f"{form}<button>Win</button></form>") as url:
                page.goto(url)
                page.get_by_role("button", name="Win").click()
                expect(page.get_by_role("heading", name="Forbidden")).to_be_visible()
            with elsewhere(f"<iframe src={place.url}/queues></iframe>") as url:
                page.goto(url)
                frame = page.frames[1]
                assert "Queues" not in frame.content()
            watched.wrong.clear()
        assert not place.ask("GET", "/v1/queues:explain?queue=later")["paused"]


@pytest.mark.wide
def test_without_the_guards_another_sites_form_and_frame_get_somewhere(
    browser: Browser, tmp_path: Path
) -> None:
    place = Site(tmp_path, free_port(), TASKS + UNGUARDED)
    with place.up():
        place.send("later")
        form = f"<form method=post action={place.url}/queues/pause><input name=queue value=later>"
        with seen(browser, place) as (page, watched):
            place.login(page)
            with elsewhere(f"<iframe src={place.url}/queues></iframe>") as url:
                page.goto(url)
                inside = page.frame_locator("iframe").get_by_role("heading", name="Queues")
                expect(inside).to_be_visible()
            with elsewhere(f"{form}<button>Win</button></form>") as url:
                page.goto(url)
                page.get_by_role("button", name="Win").click()
                expect(page.get_by_role("heading", level=1)).to_be_visible()
            watched.wrong.clear()
        assert place.ask("GET", "/v1/queues:explain?queue=later")["paused"]
