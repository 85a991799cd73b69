"""`make docs`: the site is built, asks nobody else for anything, and its search works from the files."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import Request

from tests.servers.chromium import chromium

pytestmark = pytest.mark.wide

ROOT = Path(__file__).parents[2]
LOADED = re.compile(r'<(?:script|img|iframe|source|link)\b[^>]+(?:src|href)="(\w+:[^"]+)"')


def built(folder: Path) -> Path:
    """A link that leads nowhere, or a page without its place, fails it."""
    make = shutil.which("make")
    assert make is not None
    command = (make, "--no-print-directory", "-C", str(ROOT), "docs", f"SITE={folder}")
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def loaded_from_elsewhere(site: Path) -> list[str]:
    return [url for page in site.rglob("*.html") for url in LOADED.findall(page.read_text())]


def asked_by_searches(site: Path, found: dict[str, str]) -> list[str]:
    """The addresses that a browser asks while a reader searches; `found`: which page each words find."""
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    with chromium() as browser:
        page = browser.new_page()
        page.on("request", note)
        for words, page_title in found.items():
            page.goto((site / "index.html").as_uri())
            page.locator("input[name=q]").first.fill(words)
            page.locator("input[name=q]").first.press("Enter")
            page.locator("ul.search a", has_text=page_title).first.wait_for(timeout=120_000)
    return asked


@pytest.mark.timeout(900)
def test_the_site_is_built_and_searched_without_any_server(tmp_path: Path) -> None:
    """One test, since a build takes 20 s of a core, and three minutes beside much other work."""
    site = built(tmp_path / "site")
    assert (site / "guide" / "webhooks.html").exists()
    assert "_images/drawing-" in (site / "guide" / "rabbitmq.html").read_text()
    assert loaded_from_elsewhere(site) == []
    asked = asked_by_searches(site, {"circuit": "Glossary", "at most once": "Jobs"})
    assert asked
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def test_a_font_from_elsewhere_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<a href="https://a.example"><link rel="x" href="https://b.example/f">'
    )
    assert loaded_from_elsewhere(tmp_path) == ["https://b.example/f"]
