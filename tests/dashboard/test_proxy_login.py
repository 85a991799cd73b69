"""People whom a proxy names: believed from its own address alone."""

import logging
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from postroad.config import Settings
from postroad.remote.api_request import ApiAnswer
from tests.dashboard.site import TASKS, Site
from tests.dashboard.stand import PageStand
from tests.servers import free_port

FILE = """
[proxy]
addresses = ["127.0.0.1", "10.0.0.0/24"]
user_header = "X-Remote-User"
groups_header = "X-Remote-Groups"

[[members]]
claim = "groups"
value = "admins"
role = "admin"

[[members]]
claim = "user"
value = "ada"
role = "read"
tenant = "shop"
"""
ADA = {"x-remote-user": "ada"}
ADMIN = {**ADA, "x-remote-groups": "staff, admins"}


@pytest.fixture
def stand(tmp_path: Path) -> PageStand:
    file = tmp_path / "login.toml"
    file.write_text(FILE)
    return PageStand(tmp_path, Settings(login_file=str(file)))


async def let_in(stand: PageStand, headers: dict[str, str]) -> ApiAnswer:
    """Open a page as a browser behind the proxy does: led to the login page, and let in."""
    assert (await stand.get("/", headers)).headers["location"] == "/login"
    answer = await stand.get("/login", headers)
    assert 'content="0; url=/"' in answer.content.decode()
    return await stand.get("/", headers)


async def test_whom_the_proxy_names_has_a_session_by_user_or_group(stand: PageStand) -> None:
    assert (await let_in(stand, ADA)).status == 200
    (made,) = await stand.road.sessions.list()
    assert (made.name, made.role, made.tenant) == ("ada", "read", "shop")
    line = (await stand.say("GET", "/v1/audit", headers={"postroad-tenant": "shop"})).json()
    assert (line["lines"][0]["verb"], line["lines"][0]["name"]) == ("session_open", "ada")


async def test_a_session_ends_where_the_proxy_names_somebody_else_or_another_role(
    stand: PageStand,
) -> None:
    assert (await let_in(stand, ADMIN)).status == 200
    (secret,) = stand.cookies.values()
    assert (await let_in(stand, ADA)).status == 200  # she is no admin any more
    assert (await stand.say("GET", "/v1/stats", token=secret)).status == 401
    eve = {"x-remote-user": "eve", "x-remote-groups": "admins"}
    assert (await let_in(stand, eve)).status == 200
    found = [(one.name, one.role) for one in await stand.road.sessions.list()]
    assert found == [("eve", "admin")]
    assert (await stand.get("/", {"x-remote-user": "eve"})).status == 403  # nobody's member now
    assert await stand.road.sessions.list() == []


async def test_who_has_a_session_is_led_on_from_the_login_page_without_another(
    stand: PageStand,
) -> None:
    assert (await let_in(stand, ADA)).status == 200
    assert (await stand.get("/login", ADA)).headers["location"] == "/"
    assert len(await stand.road.sessions.list()) == 1
    assert "refresh" in (await stand.get("/login", ADMIN)).content.decode()


async def test_a_name_with_a_comma_is_told_as_what_it_may_be(stand: PageStand) -> None:
    answer = await stand.get("/login", {"x-remote-user": "Lovelace, Ada"})
    assert "came twice or has a comma" in answer.content.decode()


async def test_from_elsewhere_the_header_is_ignored_and_logged_once(
    stand: PageStand, caplog: pytest.LogCaptureFixture
) -> None:
    stand.client = ("10.0.1.7", 40_000)
    with caplog.at_level(logging.WARNING, "postroad"):
        for _ in range(3):
            assert (await stand.get("/", ADMIN)).headers["location"] == "/login"
            assert b"postroad login" in (await stand.get("/login", ADMIN)).content
    assert await stand.road.sessions.list() == []
    assert caplog.text.count("names a person was ignored") == 1
    assert "10.0.1.7" in caplog.text
    stand.client = ("10.0.0.7", 40_000)
    assert (await let_in(stand, ADMIN)).status == 200


async def test_the_address_of_the_connection_counts_and_not_the_one_that_a_header_names(
    stand: PageStand,
) -> None:
    stand.client, stand.sender = ("127.0.0.1", 40_000), "198.51.100.7"
    assert (await stand.get("/login", ADMIN)).content.count(b"refresh") == 0
    assert await stand.road.sessions.list() == []


@pytest.mark.parametrize(
    "headers",
    [{"x-remote-user": "eve"}, {"x-remote-user": "ada, root"}, {"x-remote-groups": "admins"}],
)
async def test_who_is_nobodys_member_is_refused(stand: PageStand, headers: dict[str, str]) -> None:
    answer = await stand.get("/login", headers)
    assert answer.status == (403 if "x-remote-user" in headers else 200)
    assert await stand.road.sessions.list() == []


async def test_who_logs_out_is_not_let_in_again_at_once(stand: PageStand) -> None:
    assert (await let_in(stand, ADA)).status == 200
    gone = await stand.post("/logout", ADA)
    assert gone.headers["location"] == "/login?out=1"
    shown = (await stand.get("/login?out=1", ADA)).content.decode()
    assert "You are logged out." in shown
    assert "Log in as ada" in shown
    assert await stand.road.sessions.list() == []


def test_a_server_looks_at_the_connection_and_not_at_what_it_is_told(tmp_path: Path) -> None:
    file = tmp_path / "login.toml"
    file.write_text(FILE.replace('"127.0.0.1", "10.0.0.0/24"', '"127.0.0.2"'))
    more = ("--set", f"login_file={file}", "--set", "trusted_proxies=127.0.0.1,127.0.0.2")
    place = Site(tmp_path, free_port(), TASKS, *more)

    def asked(source: str, forwarded: str) -> bool:
        """Whether somebody is let in who comes from one address and claims another."""
        port = int(place.url.rpartition(":")[2])
        link = HTTPConnection("127.0.0.1", port, 60, source_address=(source, 0))
        with closing(link):
            link.request("GET", "/login", headers={**ADMIN, "X-Forwarded-For": forwarded})
            return b"refresh" in link.getresponse().read()

    with place.up():
        assert not asked("127.0.0.1", "127.0.0.2")
        assert asked("127.0.0.2", "198.51.100.7")
        (line,) = place.ask("GET", "/v1/audit")["lines"][:1]
    assert (line["verb"], line["name"], line["address"]) == ("session_open", "ada", "198.51.100.7")
