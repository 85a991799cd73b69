"""What strangers write is text on every page, and their sites can change nothing."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, expect

from tests.dashboard.site import TASKS, Site, seen, site
from tests.dashboard.vectors import CLEAN, VECTORS
from tests.servers import free_port

UNGUARDED = """
from postroad.dashboard import guarding
from postroad.api.access import Access

guarding.check_own_form = Access._check_origin = lambda *_: None
guarding.HEADERS["content-security-policy"] = "default-src 'self'"
"""

WHSEC = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
NAMED = tuple(vector for vector in VECTORS[::8] if vector.isprintable())
"""Those that things are named with: some names are short, and others are refused."""


def plant(place: Site) -> None:
    """Write every vector wherever strangers can: bodies, errors, headers, names, descriptions."""
    for vector in VECTORS:
        plain = vector.encode("ascii", "replace").decode().replace("\t", " ")
        place.send("bad", vector, headers={"x-note": plain})
    for n, vector in enumerate(NAMED):
        place.ask("POST", "/v1/tokens", {"name": vector[:150], "role": "read"})
        place.ask("POST", "/v1/event-types", {"name": f"kind.{n}", "description": vector})
        place.ask(
            "POST", "/v1/endpoints", {"url": f"https://198.51.100.1/{n}", "description": vector}
        )
        place.ask("POST", "/v1/logins", {"name": vector[:150]})
        place.ask("POST", "/v1/limits", {"name": vector[:90], "lanes": "smtp:*", "rate": "1/s"})
        timed = {"name": vector[:90], "queue": "later", "body": vector, "every_s": 86_400}
        place.ask("POST", "/v1/timetables", timed)
        hooks = {"name": vector[:90], "kind": "webhook", "secret": WHSEC}
        place.ask(
            "POST", "/v1/credentials", {**hooks, "account": vector[:150], "sender": vector[:150]}
        )


def pages_of(place: Site, path: str) -> Iterator[str]:
    """A list's pages, one after the other."""
    after = ""
    for _ in range(20):
        yield f"/{path}?after={after}" if after else f"/{path}"
        after = place.ask("GET", f"/v1/{path}?limit=50" + (f"&after={after}" if after else ""))[
            "after"
        ]
        if not after:
            return


@pytest.mark.wide
def test_no_text_runs_as_code_on_any_page(browser: Browser, tmp_path: Path) -> None:
    assert len(set(VECTORS)) >= 200
    reach = ("--set", "webhooks.allow=198.51.100.0/24")  # endpoints that nothing is sent to
    place = Site(tmp_path, free_port(), TASKS, *reach)
    with place.up():
        plant(place)
        number = place.ask("GET", "/v1/messages?limit=1")["messages"][0]["id"]
        with seen(browser, place) as (page, _):
            place.login(page, name=VECTORS[3])
            paths = ["/", "/queues", "/lanes", "/endpoints", "/access", "/limits", "/system"]
            paths += ["/timetables", f"/timetable?{urlencode({'name': NAMED[0][:90]})}"]
            named = urlencode({"name": NAMED[0][:90]})
            paths += ["/credentials", f"/credential?{named}"]
            paths += [*pages_of(place, "messages"), *pages_of(place, "dead"), f"/messages/{number}"]
            for path in paths:
                page.goto(place.url + path)
                assert page.evaluate(CLEAN) == [], path
            for vector in VECTORS[::3]:  # what an address says is shown in the form
                page.goto(f"{place.url}/messages?{urlencode({'text': vector[:190]})}")
                expect(page.get_by_label("Last error contains")).to_have_value(vector[:190])
                assert page.evaluate(CLEAN) == [], vector


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
