"""`make pictures`: docs/img/*.png, of the pages of a road that runs, full and empty, dark and light, wide and narrow."""

import asyncio
import random
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import apsw  # noqa: E402
from playwright.sync_api import Browser, Page, expect  # noqa: E402

from bench.pages_road import Scale, filling, make_figures, make_queues  # noqa: E402
from postroad import Postroad  # noqa: E402
from postroad.dashboard.pages import PAGES  # noqa: E402
from tests.campaigns.provider import ACCOUNT, TOKEN, Provider  # noqa: E402
from tests.dashboard.site import Site  # noqa: E402
from tests.servers import free_port  # noqa: E402
from tests.servers.chromium import chromium  # noqa: E402

IMAGES = ROOT / "docs" / "img"
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
LIVE_S = 40
REACH = (
    *("--set", "webhooks.http=true", "--set", "webhooks.allow=127.0.0.0/8"),
    *("--set", "webhooks.ports="),
)
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


def more(site: Site, provider: Provider) -> None:
    """Make what the other pages show: timetables, limits, a mailbox, tokens, a draft, an import."""
    for name, cron, queue in (
        ("nightly-report", "15 3 * * *", "resize-image"),
        ("invoices", "0 9 1 * *", "send-receipt"),
    ):
        data = {"name": name, "queue": queue, "cron": cron, "body": {"order": 1}}
        site.ask("POST", "/v1/timetables", {**data, "zone": "Europe/Berlin"})
    limit = {"name": "crm", "lanes": "handler:sync-crm*", "rate": "20/s"}
    site.ask("POST", "/v1/limits", limit)
    site.ask("POST", "/v1/mailboxes", {})
    site.ask("POST", "/v1/tokens", {"name": "shop", "role": "operate"})
    account = {"name": "texts", "secret": TOKEN, "provider": provider.server, "rate": "50/s"}
    site.ask("POST", "/v1/credentials", {**account, "account": ACCOUNT, "sender": "+15550000"})
    people = "recipient,name\n+16000000001,Ann\n+16000000002,Bob\n"
    draft = {"name": "spring-sale", "credential": "texts", "template": "Hi {{ name }}, 20 % off"}
    site.ask("POST", "/v1/campaigns", draft)
    (site.folder / "people.csv").write_text(people)
    where = ("--dsn", "sqlite:///road/road.db")
    site.say("campaign", "import", "spring-sale", "people.csv", *where)


def take(page: Page, name: str, *, whole: bool = False) -> None:
    """Save what is seen, once it is live and still."""
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    for _ in range(3 if whole else 0):  # the menu is as high as the window; a live page may grow
        size, high = page.viewport_size, page.evaluate("document.documentElement.scrollHeight")
        page.set_viewport_size({"width": size["width"] if size else 0, "height": high})
        page.wait_for_timeout(500)
    page.wait_for_timeout(500)
    page.screenshot(path=IMAGES / f"{name}.png")


def open_page(browser: Browser, site: Site, scheme: str, size: dict[str, int]) -> Page:
    context = browser.new_context(color_scheme=scheme, viewport=size, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    site.login(page)
    return page


def shoot(browser: Browser, site: Site, port: int) -> None:
    """Every page, wide; some dark, and narrow."""
    page = open_page(browser, site, "light", WIDE)
    take(page, "overview", whole=True)
    page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    for each in [each for each in PAGES if each.group and each.name != "overview"]:
        page.goto(site.url + each.path)
        take(page, each.name)
    for name, path in single(site, port).items():
        page.goto(site.url + path)
        for folded in page.get_by_text("Request and answer").all()[:1]:
            folded.click()
        take(page, name, whole=name in ("message", "campaign"))
        page.set_viewport_size(WIDE)  # type: ignore[arg-type]
    dark = open_page(browser, site, "dark", WIDE)
    take(dark, "overview-dark")
    narrow = open_page(browser, site, "dark", NARROW)
    take(narrow, "overview-phone", whole=True)
    narrow.set_viewport_size(NARROW)  # type: ignore[arg-type]
    narrow.goto(site.url + "/messages")
    take(narrow, "messages-phone")
    portal(browser, site)


def single(site: Site, port: int) -> dict[str, str]:
    """The pages of one thing each."""
    broken = site.ask("GET", "/v1/endpoints")["endpoints"][-1]
    query = f"queue={broken['queue']}&limit=1"
    failed = site.ask("GET", f"/v1/messages?{query}")["messages"][0]["id"]
    return {
        "message": f"/messages/{failed}",
        "endpoint": f"/endpoints/{broken['id']}",
        "queue": f"/queue?{urlencode({'name': f'http://127.0.0.1:{port}/limited'})}",
        "campaign": "/campaign?name=spring-sale",
        "timetable": "/timetable?name=nightly-report",
    }


def portal(browser: Browser, site: Site) -> None:
    """What a customer sees."""
    made = site.ask("POST", "/v1/portal-links", {"tenant": "default", "title": "Shop webhooks"})
    page = browser.new_context(viewport=WIDE, reduced_motion="reduce").new_page()  # type: ignore[arg-type]
    page.goto(site.url + made["path"])
    page.get_by_role("link", name="/books").click()
    expect(page.get_by_role("button", name="Send a test event")).to_be_visible()
    page.screenshot(path=IMAGES / "portal.png", full_page=True)


def crowd(folder: Path) -> None:
    """Make a road with a million messages on 50,000 lanes, some of it in trouble."""
    (folder / "road").mkdir()
    path, scale = folder / "road" / "road.db", Scale()
    asyncio.run(_open(path, scale))
    raw = apsw.Connection(str(path))
    first = (
        raw.execute("select min(id) from queue").get,
        raw.execute("select min(id) from rung").get,
    )
    now_ms = time.time_ns() // 1_000_000
    raw.execute(f"begin;{filling('sqlite', scale, first, now_ms)}commit;")
    raw.close()


async def _open(path: Path, scale: Scale) -> None:
    async with Postroad(f"sqlite:///{path}") as road:
        _ = await make_queues(road, scale)
        await make_figures(road)


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as shop, tempfile.TemporaryDirectory() as many:
        crowd(Path(many))
        with chromium() as browser:
            site = Site(Path(shop), free_port(), TASKS, *REACH)
            with site.up():
                take(open_page(browser, site, "light", WIDE), "overview-empty")
                with Provider(Path(shop)) as provider:
                    more(site, provider)
                fill(site, server.server_port, free_port())
                shoot(browser, site, server.server_port)
            site = Site(Path(many), free_port(), TASKS, *REACH)
            with site.up():
                page = open_page(browser, site, "light", WIDE)
                take(page, "overview-million", whole=True)
                page.set_viewport_size(WIDE)  # type: ignore[arg-type]
                page.goto(site.url + "/lanes")
                take(page, "lanes-million")
    server.shutdown()


if __name__ == "__main__":
    main()
