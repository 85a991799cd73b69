"""`make pictures`: docs/img/*.png, of the pages of a road that runs, full and empty, dark and light, wide and narrow."""

import random
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Browser, Page, expect  # noqa: E402

from tests.dashboard.site import Site  # noqa: E402
from tests.servers import free_port  # noqa: E402
from tests.servers.chromium import chromium  # noqa: E402

IMAGES = ROOT / "docs" / "img"
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
LIVE_S = 45
TASKS = """
import asyncio, random
from postroad import Postroad, Reject, RetryLater

road = Postroad()

@road.handler("resize-image", retries=5)
async def resize(message):
    await asyncio.sleep(random.random() / 50)

@road.handler("send-receipt", retries=3)
async def receipt(message):
    if message.body["order"] % 9 == 0:
        raise ConnectionError("the relay said 451, try again later")

@road.handler("sync-crm")
async def crm(message):
    if message.body["order"] % 4 == 0:
        raise Reject("customer is unknown to the CRM")

@road.handler("charge-card", at_most_once=True, timeout=0.2)
async def charge(message):
    if message.body["order"] % 8 == 0:
        await asyncio.sleep(10)
"""


class Receiver(BaseHTTPRequestHandler):
    """Customers' servers: good, over quota, broken."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        status = {"/limited": 429, "/broken": 500}.get(self.path, 200)
        self.send_response(status)
        if status == 429:
            self.send_header("retry-after", "120")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


def fill(site: Site, port: int, away: int) -> None:
    """Send what a shop sends, and make an endpoint or two."""
    base = f"http://127.0.0.1:{port}"
    site.ask(
        "POST", "/v1/event-types", {"name": "invoice.paid", "description": "An invoice was paid"}
    )
    for url, name in ((f"{base}/books", "Books Ltd"), (f"{base}/broken", "Old Shop")):
        site.ask(
            "POST", "/v1/endpoints", {"url": url, "types": ["invoice.paid"], "description": name}
        )
    queues = ["resize-image"] * 8 + ["send-receipt"] * 4 + ["sync-crm"] * 2 + ["charge-card"] * 2
    queues += [f"{base}/orders"] * 4 + [f"{base}/limited", f"http://127.0.0.1:{away}/hook"]
    dice = random.Random(7)  # noqa: S311 - what a shop sends
    until_s, order = time.monotonic() + LIVE_S, 1_000
    while time.monotonic() < until_s:
        for _ in range(dice.randint(2, 12)):
            order += 1
            site.send(
                dice.choice(queues),
                {"order": order, "amount": order * 7 % 900, "currency": "EUR"},
            )
        site.ask("POST", "/v1/events", {"type": "invoice.paid", "body": {"order": order}})
        time.sleep(0.3)
    site.ask("POST", "/v1/queues:pause", {"queue": f"{base}/orders"})
    for more in range(7):
        site.send(f"{base}/orders", {"order": order + more})


def take(page: Page, name: str) -> None:
    """Save what is seen, once it is live and still."""
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / f"{name}.png")


def open_page(browser: Browser, site: Site, scheme: str, size: dict[str, int]) -> Page:
    context = browser.new_context(color_scheme=scheme, viewport=size, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    site.login(page)
    return page


def shoot(browser: Browser, site: Site) -> None:
    page = open_page(browser, site, "light", WIDE)
    take(page, "overview")
    for name in ("messages", "dead", "endpoints"):
        page.goto(f"{site.url}/{name}")
        take(page, name)
    dead = site.ask("GET", "/v1/messages?state=waiting&queue=send-receipt&limit=1")["messages"]
    page.goto(f"{site.url}/messages/{dead[0]['id']}")
    take(page, "message")
    take(open_page(browser, site, "dark", WIDE), "overview-dark")
    take(open_page(browser, site, "dark", NARROW), "overview-phone")


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    away = free_port()
    reach = (
        "--set",
        "webhooks.http=true",
        "--set",
        "webhooks.allow=127.0.0.0/8",
        "--set",
        "webhooks.ports=",
    )
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        site = Site(Path(name), free_port(), TASKS, *reach)
        with site.up():
            take(open_page(browser, site, "light", WIDE), "overview-empty")
            fill(site, server.server_port, away)
            shoot(browser, site)
    server.shutdown()


if __name__ == "__main__":
    main()
