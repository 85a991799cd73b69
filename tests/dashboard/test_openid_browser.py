"""From "Sign in with …" to the overview and out again, at a real provider in a real browser."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.dashboard.looks import check_access
from tests.dashboard.site import TASKS, Site, seen
from tests.servers import free_port
from tests.servers.openid import PrivateProvider

FILE = """
[openid]
name = "Example"
issuer = "{issuer}"
client_id = "postroad"
client_secret = "of a test"

[[members]]
claim = "groups"
value = "road-operators"
role = "operate"
"""


def enter(page: Page, name: str) -> None:
    """Say who it is on the provider's own page."""
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Enter").click()


@pytest.mark.wide
def test_people_sign_in_by_a_provider_and_out(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "login.toml"
    place = Site(tmp_path, free_port(), TASKS, "--set", f"login_file={file}")
    with PrivateProvider(tmp_path, place.url) as provider:
        file.write_text(FILE.format(issuer=provider.issuer))
        with place.up():
            with seen(browser, place, (provider.url,)) as (page, watched):
                page.goto(place.url)
                check_access(page)
                page.get_by_role("link", name="Sign in with Example").click()
                enter(page, "ada")
                expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
                expect(page.get_by_text("ada@example.com")).to_be_visible()
                expect(page.get_by_text("Live", exact=True)).to_be_visible()
                page.get_by_role("button", name="Log out").click()
                expect(page.get_by_text("You are logged out.")).to_be_visible()
                check_access(page)
                page.get_by_role("link", name="Sign in with Example").click()  # it knows us still
                expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
                page.get_by_role("button", name="Log out").click()
                page.get_by_role("link", name="Log out of Example too").click()
                page.get_by_role("button", name="Logout").click()
                expect(page.get_by_text("You are logged out.")).to_be_visible()
                watched.away = True  # a refusal is told on the console too
                page.get_by_role("link", name="Sign in with Example").click()
                enter(page, "eve")
                refused = "eve@example.com may not use this server"
                expect(page.get_by_role("alert")).to_contain_text(refused)
                assert [one["name"] for one in place.ask("GET", "/v1/sessions")] == []
            names = {line["name"] for line in place.ask("GET", "/v1/audit")["lines"]}
            assert "ada@example.com" in names
