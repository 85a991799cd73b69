"""A road that is served as a program of its own, and a browser page that forgives nothing."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.cli.running import PROGRAM, running
from tests.servers import free_port
from tests.servers.door import asked

WAIT_MS = 60_000
expect.set_options(timeout=WAIT_MS)
TASKS = """
import asyncio
from postroad import Postroad, Reject, RetryLater

road = Postroad()

@road.handler("good")
async def good(message): ...

@road.handler("bad")
async def bad(message):
    raise Reject(str(message.body))

@road.handler("later")
async def later(message):
    raise RetryLater(3600)

@road.handler("doubtful", at_most_once=True, timeout=0.05)
async def doubtful(message):
    await asyncio.sleep(3600)
"""


class Site:
    """One road with its pages: `site.send("good", {...})`, `site.login(page)`."""

    def __init__(self, folder: Path, port: int, tasks: str = TASKS, *more: str) -> None:
        self.folder = folder
        self.url = f"http://127.0.0.1:{port}"
        where = ("--listen", f"127.0.0.1:{port}", "--dsn", "sqlite:///road/road.db")
        self.words: tuple[str, ...] = (
            "up",
            "--app",
            "tasks:road",
            *where,
            "--set",
            "hub_listen=127.0.0.1:0",
            *more,
        )
        (folder / "tasks.py").write_text(tasks)

    @contextmanager
    def up(self) -> Iterator["subprocess.Popen[str]"]:
        """The server, until the block ends."""
        with running(self.folder, *self.words) as (process, _):
            yield process

    def say(self, *words: str) -> str:
        """What a command prints."""
        done = subprocess.run(
            (*PROGRAM, *words), cwd=self.folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def ask(self, method: str, path: str, data: object = None) -> Any:
        return asked(f"sqlite:///{self.folder}/road/road.db", method, path, data)

    def ask_as(self, tenant: str, method: str, path: str, data: object = None) -> Any:
        """Ask for a tenant."""
        dsn = f"sqlite:///{self.folder}/road/road.db"
        return asked(dsn, method, path, data, {"postroad-tenant": tenant})

    def send(self, queue: str, body: object = 1, **more: object) -> str:
        return str(self.ask("POST", "/v1/messages", {"queue": queue, "body": body, **more})["id"])

    def login(self, page: Page, **role: str) -> None:
        """Log in as a person would: by the link, with one click."""
        data = {"name": "Ada", "role": "admin", **role}
        page.goto(self.url + self.ask("POST", "/v1/logins", data)["path"])
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


class Watched:
    """What a page must not do: errors on the console (a breach of the policy is one), requests to
    elsewhere."""

    def __init__(self, page: Page, own: tuple[str, ...]) -> None:
        self.wrong: list[str] = []
        self.away = False
        """The server is away on purpose: that is told on the console."""
        page.on("console", lambda said: self._hear(said.type, said.text))
        page.on("pageerror", lambda error: self.wrong.append(f"raised: {error}"))
        page.on("request", lambda asked: self._ask(asked.url, own))
        page.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))

    def _hear(self, kind: str, text: str) -> None:
        if kind == "error" and not self.away:
            self.wrong.append(f"console: {text}")

    def _ask(self, url: str, own: tuple[str, ...]) -> None:
        if not url.startswith((*own, "data:")):
            self.wrong.append(f"asked {url}")


@contextmanager
def seen(
    browser: Browser, site: Site, own: tuple[str, ...] = (), **options: Any
) -> Iterator[tuple[Page, Watched]]:
    """A page in a browser context of its own; at the end nothing may have been wrong. `own` are
    addresses beside the site's that it may ask."""
    context: BrowserContext = browser.new_context(**options)
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    watched = Watched(page, (site.url, *own))
    try:
        yield page, watched
        assert watched.wrong == [], watched.wrong
    finally:
        context.close()


@contextmanager
def site(folder: Path) -> Iterator[Site]:
    """A served road, until the block ends."""
    made = Site(folder, free_port())
    with made.up():
        yield made
