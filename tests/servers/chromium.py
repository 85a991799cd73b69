"""Chromium of the system, without a window: for tests of pages."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, sync_playwright

from tests.servers import ServerMissing, apt_install

ARGUMENTS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-dev-shm-usage",
]


def program() -> str:
    """Where Chromium is; installed when it is missing."""
    for attempt in ("as found", "after apt"):
        if found := shutil.which("chromium"):
            return found
        if attempt == "as found":
            apt_install("chromium")
    raise ServerMissing("no chromium: run `apt-get install chromium` as root")


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser with an empty profile, gone when the test is."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(), args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()
