"""`make pictures`: docs/img/*.png, of the pages of a road that runs, full and empty, dark and light, wide and narrow.

`pngquant` makes them a third as large; it is installed when it is missing, as Chromium is."""

import asyncio
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import cos, pi
from pathlib import Path
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import apsw  # noqa: E402
from playwright.sync_api import Browser, Page, expect  # noqa: E402

from bench.pages_road import Scale, filling, make_figures, make_queues  # noqa: E402
from postroad import Postroad  # noqa: E402
from postroad.dashboard.pages import PAGES  # noqa: E402
from postroad.model.rollup import LATE_BUCKETS, Rollup, Step  # noqa: E402
from tests.campaigns.provider import ACCOUNT, TOKEN, Provider  # noqa: E402
from tests.dashboard.planting import REACH, WHSEC  # noqa: E402
from tests.dashboard.site import Site  # noqa: E402
from tests.servers import apt_install, free_port  # noqa: E402
from tests.servers.chromium import chromium  # noqa: E402

IMAGES = ROOT / "docs" / "img"
WIDE, NARROW = {"width": 1280, "height": 800}, {"width": 360, "height": 740}
LIVE_S = 45
HUB_TOKEN = "of-a-picture-of-mailboxes"  # noqa: S105 - of nobody
END = """(until) => {
  const cards = [...document.querySelectorAll("main .card")];
  const titles = (each) => [...each.querySelectorAll("h2")].map((title) => title.textContent);
  const last = cards.findIndex((each) => titles(each).includes(until));
  if (last >= 0) for (const each of cards.slice(last + 1)) each.hidden = true;
  return Math.ceil(Math.max(...cards.map((each) => each.getBoundingClientRect().bottom)) + scrollY) + 28;
}"""
"""How far the cards go; those after the one with this heading are not shown."""
EVENTS = ["invoice.paid", "order.shipped"]
TASKS = """
import asyncio, random
from postroad import Postroad, Reject, RetryLater

road = Postroad()

@road.handler("resize-image", retries=5, concurrency=2)
async def resize(message):
    await asyncio.sleep(random.random() / 50)

@road.handler("send-receipt", retries=3, concurrency=1)
async def receipt(message):
    if message.body["order"] % 9 == 0:
        raise ConnectionError("the relay said 451, try again later")

@road.handler("sync-crm", concurrency=1)
async def crm(message):
    if message.body["order"] % 4 == 0:
        raise Reject("customer is unknown to the CRM")
    if message.body["order"] % 7 == 0:
        raise Reject("the order has no customer")

@road.handler("charge-card", at_most_once=True, timeout=0.2, concurrency=1)
async def charge(message):
    if message.body["order"] % 3 == 0:
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
    for kind in EVENTS:
        said = f"An {kind.replace('.', ' was ')}"
        site.ask("POST", "/v1/event-types", {"name": kind, "description": said})
    for path, name in (("books", "Books Ltd"), ("toys", "Toys & Sons"), ("broken", "Old Shop")):
        made = {"url": f"{base}/{path}", "types": EVENTS, "description": name}
        site.ask("POST", "/v1/endpoints", made)
    queues = ["resize-image"] * 8 + ["send-receipt"] * 4 + ["sync-crm"] * 6 + ["charge-card"] * 4
    queues += [f"{base}/orders"] * 4 + [f"{base}/limited", f"http://127.0.0.1:{away}/hook"]
    dice = random.Random(7)  # noqa: S311 - what a shop sends
    for queue in queues[-2:] * 4:  # one is over its quota, one is away
        site.send(queue, {"order": 1_000})
    until_s, order = time.monotonic() + LIVE_S, 1_000
    while time.monotonic() < until_s:
        for _ in range(dice.randint(1, 3)):
            order += 1
            site.send(
                dice.choice(queues),
                {"order": order, "amount": order * 7 % 900, "currency": "EUR"},
            )
        if order % 2:
            event = {"type": dice.choice(EVENTS), "body": {"order": order}}
            site.ask("POST", "/v1/events", event)
        time.sleep(1)
    site.ask("POST", "/v1/queues:pause", {"queue": f"{base}/orders"})
    for more in range(7):
        site.send(f"{base}/orders", {"order": order + more})


def more(site: Site, provider: Provider, hub: int) -> None:
    """Make what the other pages show: timetables, limits, mailboxes, tokens, suppressions."""
    for name, cron, queue in (
        ("nightly-report", "15 3 * * *", "resize-image"),
        ("invoices", "0 9 1 * *", "send-receipt"),
        ("sync-customers", "*/15 * * * *", "sync-crm"),
    ):
        data = {"name": name, "queue": queue, "cron": cron, "body": {"order": 1}}
        site.ask("POST", "/v1/timetables", {**data, "zone": "Europe/Berlin"})
    site.ask("POST", "/v1/timetables/invoices/pause")
    for name, lanes, more in (
        ("crm", "handler:sync-crm*", {"rate": "20/s"}),
        (
            "mail by day",
            "smtp:*",
            {"rate": "50/s", "hours": "08:00-20:00", "zone": "Europe/Berlin"},
        ),
    ):
        site.ask("POST", "/v1/limits", {"name": name, "lanes": lanes, **more})
    for many in (0, 3, 1):
        box = site.ask("POST", "/v1/mailboxes", {})["box"]
        for n in range(many):
            site.send(f"hub://127.0.0.1:{hub}/{box}", {"order": n})
    for name, role in (("shop", "operate"), ("grafana", "read")):
        site.ask("POST", "/v1/tokens", {"name": name, "role": role})
    for recipient, reason, note in (
        ("ann@example.com", "unsubscribed", "by the link of a mail"),
        ("bob@example.com", "hard_bounce", "550 5.1.1 no such user"),
        ("+16000000042", "by_hand", "asked us on the telephone"),
        ("carol@example.com", "complaint", "reported as spam"),
        ("dan@example.com", "soft_bounce", "452 4.2.2 mailbox full"),
    ):
        data = {"recipient": recipient, "reason": reason, "note": note}
        site.ask("POST", "/v1/suppressions", data)
    campaigns(site, provider)


def campaigns(site: Site, provider: Provider) -> None:
    """One that runs, of which the provider leaves some uncertain; one that is a draft."""
    account = {"name": "texts", "secret": TOKEN, "provider": provider.server, "rate": "5/s"}
    site.ask("POST", "/v1/credentials", {**account, "account": ACCOUNT, "sender": "+15550000"})
    hooks = {"name": "partners", "kind": "webhook", "secret": WHSEC, "rate": "50/s"}
    site.ask("POST", "/v1/credentials", hooks)
    where = ("--dsn", "sqlite:///road/road.db")
    for name, many in (("spring-sale", 1_200), ("price-change", 300)):
        people = [_person(n) for n in range(many)]
        draft = {"name": name, "credential": "texts", "template": "Hi {{ name }}, 20 % off"}
        site.ask("POST", "/v1/campaigns", draft)
        (site.folder / "people.csv").write_text("\n".join(("recipient,name", *people)))
        site.say("campaign", "import", name, "people.csv", *where)
    site.ask("POST", "/v1/campaigns/spring-sale/start")


def _person(n: int) -> str:
    """A line of a file: the provider says nothing clear about some numbers, and refuses others."""
    kind = "5" if n % 45 == 20 else "1" if n % 60 == 30 else ""
    number = f"+151{kind}{n:07}" if kind else f"+16{n:09}"
    return f"{number},{('Ann', 'Bob', 'Carol', 'Dan')[n % 4]}"


def take(page: Page, name: str, until: str = "") -> None:
    """Save the whole page, or as far as the card with a heading goes, once it is live and still."""
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    size, end = page.viewport_size or {"width": 1280, "height": 800}, 0
    for _ in range(3):  # the menu is as high as the window; a live page may grow
        end = max(size["height"], page.evaluate(END, until))
        page.set_viewport_size({"width": size["width"], "height": end})
        page.wait_for_timeout(500)
    _ = page.evaluate(END, until)
    page.screenshot(path=IMAGES / f"{name}.png")
    page.set_viewport_size(size)
    shrink(name)


def shrink(name: str) -> None:
    """Leave a picture 256 colours."""
    if not shutil.which("pngquant"):
        apt_install("pngquant")
    words = ("pngquant", "--force", "--ext", ".png", "--strip", "256", f"{IMAGES / name}.png")
    subprocess.run(words, check=True)


def open_page(browser: Browser, site: Site, scheme: str, size: dict[str, int]) -> Page:
    context = browser.new_context(color_scheme=scheme, viewport=size, reduced_motion="reduce")  # type: ignore[arg-type]
    page = context.new_page()
    site.login(page)
    return page


def shoot(browser: Browser, site: Site, port: int) -> None:
    """Every page, wide; some dark, and narrow."""
    page = open_page(browser, site, "light", WIDE)
    shown = looked_at(site)
    for each in PAGES:
        if each.group:
            path, until = shown.get(each.name, (each.path, ""))
            page.goto(site.url + path)
            take(page, each.name, until)
    for name, path in single(site, port).items():
        page.goto(site.url + path)
        for folded in page.get_by_text("Request and answer").all()[:1]:
            folded.click()
        take(page, name)
    take(open_page(browser, site, "dark", WIDE), "overview-dark")
    narrow = open_page(browser, site, "dark", NARROW)
    take(narrow, "overview-phone")
    narrow.goto(f"{site.url}/messages?queue=sync-crm&state=dead")
    take(narrow, "messages-phone")
    portal(browser, site)


def looked_at(site: Site) -> dict[str, tuple[str, str]]:
    """Of long pages: where they are looked at, and the last card that is shown."""
    verbs = Counter(line["verb"] for line in site.ask("GET", "/v1/audit?limit=50")["lines"])
    handlers = site.ask("GET", "/v1/lanes?limit=64")["after"]
    return {
        "messages": ("/messages?queue=send-receipt", ""),
        "lanes": (f"/lanes?{urlencode({'after': handlers})}", ""),
        "limits": ("/limits?answer=421 4.7.28 unusual rate", "421 4.7.28 unusual rate"),
        "access": (f"/access?verb={verbs.most_common(1)[0][0]}", ""),
        "system": ("/system", "Findings"),
    }


def single(site: Site, port: int) -> dict[str, str]:
    """The pages of one thing each."""
    endpoints = site.ask("GET", "/v1/endpoints")["endpoints"]
    (broken,) = [each for each in endpoints if "broken" in each["url"]]
    query = f"queue={broken['queue']}&limit=1"
    failed = site.ask("GET", f"/v1/messages?{query}")["messages"][0]["id"]
    return {
        "message": f"/messages/{failed}",
        "endpoint": f"/endpoints/{broken['id']}",
        "queue": f"/queue?{urlencode({'name': f'http://127.0.0.1:{port}/limited'})}",
        "campaign": "/campaign?name=spring-sale&state=uncertain",
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
    shrink("portal")


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


def make_week(folder: Path) -> None:
    """A week's figures of a shop: busy by day, with an evening on which one server was away."""
    (folder / "road").mkdir()
    asyncio.run(_make_week(folder / "road" / "road.db"))


async def _make_week(path: Path) -> None:
    dice, rows = random.Random(3), []  # noqa: S311 - what a shop sends
    async with Postroad(f"sqlite:///{path}") as road:
        now_ms = road.store.clock.now_ms()
        for step, many in ((Step.hour, 168), (Step.ten_seconds, 360)):
            for n in range(many):
                at_ms = step.start_of(now_ms) - n * step.ms
                counts = _counts(dice, step, (now_ms - at_ms) / 3_600_000)
                rows.append(Rollup(step, at_ms, "default", "webhook", "", counts))
        for start in range(0, len(rows), 100):
            await road.store.add_rollups(rows[start : start + 100])


def _counts(dice: random.Random, step: Step, hours: float) -> list[int]:
    """Tries by what they gave, and by lateness, so many hours ago; it is the busiest time of day."""
    busy = (1.2 + cos(hours / 12 * pi)) * step.seconds * dice.uniform(0.6, 0.9)
    away = 98 <= hours < 102
    shares = (1, 0.03, 0.015, 0.02, 0.4 if away else 0.01)
    tries = [int(busy * share + dice.random()) for share in shares] + [0, 0, 0, 0]
    late = [0] * LATE_BUCKETS
    for _ in range(int(busy)):
        late[
            min(LATE_BUCKETS - 1, int(dice.gauss(12 if away and dice.random() < 0.4 else 4, 1.2)))
        ] += 1
    return [*tries, *late]


async def _open(path: Path, scale: Scale) -> None:
    async with Postroad(f"sqlite:///{path}") as road:
        _ = await make_queues(road, scale)
        await make_figures(road)


def main() -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    hub = free_port()
    here = f"hubs=ws://:{HUB_TOKEN}@127.0.0.1:{hub}", f"hub_listen=127.0.0.1:{hub}"
    hubs = (word for each in (*here, f"hub_token={HUB_TOKEN}") for word in ("--set", each))
    with tempfile.TemporaryDirectory() as none, tempfile.TemporaryDirectory() as many:
        shop = Path(none) / "shop"
        shop.mkdir()
        make_week(shop)
        crowd(Path(many))
        with chromium() as browser:
            site = Site(Path(none), free_port(), TASKS, *REACH)
            with site.up():
                take(open_page(browser, site, "light", WIDE), "overview-empty")
            site = Site(shop, free_port(), TASKS, *REACH, *hubs)
            with site.up(), Provider(shop) as provider:
                more(site, provider, hub)
                fill(site, server.server_port, free_port())
                shoot(browser, site, server.server_port)
            site = Site(Path(many), free_port(), TASKS, *REACH)
            with site.up():
                take(open_page(browser, site, "light", WIDE), "overview-million")
    server.shutdown()


if __name__ == "__main__":
    main()
