"""The example for nginx, run: TLS, the API, pages with live updates, the portal and the hub."""

import asyncio
import json
import re
from collections.abc import Iterator
from socket import AF_INET
from urllib.parse import urlencode

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError

from postroad import HubClient
from tests.deploy.proxied import Proxied, proxied, said

CLAIMED = "203.0.113.9"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    with proxied(tmp_path_factory.mktemp("proxied")) as found:
        yield found


def token(place: Proxied) -> str:
    made = place.site.ask("POST", "/v1/tokens", {"name": "tests", "tenant": "*"})
    return f"Bearer {made['secret']}"


def test_the_api_is_served_over_tls_and_metrics_are_not(place: Proxied) -> None:
    asked = json.dumps({"name": "made behind a proxy"})
    kind = {"authorization": token(place), "content_type": "application/json"}
    status, headers, _ = said(place.line(), "POST", "/v1/tokens", asked, **kind)
    assert (status, headers["content-type"]) == (201, "application/json")
    for path in ("/metrics", "/metrics/", "//metrics", "/%6detrics/"):
        assert said(place.line(), "GET", path)[0] == 403, path
    assert said(place.direct("127.0.0.1"), "GET", "/metrics/")[0] == 200


@pytest.mark.parametrize(
    ("path", "size", "status"),
    [
        ("/v1/campaigns/none%2Fat%20all/import", 2 << 30, 404),
        ("/v1/suppressions:import", (2 << 30) + 1, 413),
        ("/suppressions/import", 2 << 30, 303),
        ("/campaigns/import", 2 << 30, 303),
    ],
)
def test_files_of_recipients_come_through_as_large_as_the_pages_say(
    place: Proxied, path: str, size: int, status: int
) -> None:
    """It is Postroad that answers, before the file comes; nginx refused what had over 32 MB."""
    line = place.line()
    line.putrequest("POST", path)
    line.putheader("content-length", str(size))
    line.putheader("authorization", token(place))
    line.endheaders()
    answer = line.getresponse()
    assert (answer.status, b"nginx" in answer.read()) == (status, False)
    line.close()


def test_nobody_says_by_a_header_of_his_own_who_he_is(place: Proxied) -> None:
    """The login file believes this proxy, which asks nobody who they are."""
    named = {"x_forwarded_user": "ada"}
    assert b"refresh" not in said(place.line(), "GET", "/login", **named)[2]
    assert b"refresh" in said(place.direct("127.0.0.1"), "GET", "/login", **named)[2]


def test_the_clients_address_is_believed_from_the_named_proxy_alone(place: Proxied) -> None:
    given = {"authorization": token(place), "x_forwarded_for": CLAIMED}
    kind = {**given, "content_type": "application/json"}
    for line, name in (
        (place.line("127.0.0.2"), "by nginx"),
        (place.direct("127.0.0.3"), "past it"),
        (place.direct("127.0.0.1"), "as nginx"),
    ):
        assert said(line, "POST", "/v1/tokens", json.dumps({"name": name}), **kind)[0] == 201
    lines = place.site.ask("GET", "/v1/audit?limit=100")["lines"]
    seen = {each["what"].get("name"): each["address"] for each in lines}
    assert {seen["by nginx"], seen["past it"]} == {"127.0.0.2", "127.0.0.3"}
    assert seen["as nginx"] == CLAIMED  # whoever has the proxy's address is believed


def test_pages_are_live_and_their_cookie_is_for_tls_alone(place: Proxied) -> None:
    path = place.site.ask("POST", "/v1/logins", {"name": "Ada", "role": "admin"})["path"]
    form = urlencode({"code": re.split(r"[#=]", path)[-1]})
    own = {"origin": f"https://127.0.0.1:{place.tls_port}", "sec_fetch_site": "same-origin"}
    kind = {"content_type": "application/x-www-form-urlencoded"}
    status, headers, _ = said(place.line(), "POST", "/login", form, **own, **kind)
    assert status == 303, headers
    assert "; Secure" in headers["set-cookie"]
    cookie = headers["set-cookie"].partition(";")[0]
    status, _, page = said(place.line(), "GET", "/queues", cookie=cookie)
    assert (status, b"<h1" in page) == (200, True)
    line = place.line()
    line.request("GET", "/live?page=/queues", headers={"cookie": cookie})
    answer = line.getresponse()
    assert answer.getheader("content-type") == "text/event-stream"
    assert answer.readline()  # it comes while the answer goes on
    answer.close()
    line.close()


def test_the_portal_is_served(place: Proxied) -> None:
    path = place.site.ask("POST", "/v1/portal-links", {"tenant": "acme"})["path"]
    status, headers, page = said(place.line(), "GET", path.partition("#")[0])
    assert (status, b"<html" in page) == (200, True)
    assert "frame-ancestors" in headers["content-security-policy"]


def test_mailboxes_are_reached_by_websocket(place: Proxied) -> None:
    box = place.site.ask("POST", "/v1/mailboxes", {})

    async def talk() -> bytes:
        async with HubClient(f"wss://localhost:{place.tls_port}", tls=place.tls) as hub:
            assert await hub.subscribe({box["box"]: box["recipient_token"]}) == []
            assert await hub.send(box["box"], box["sender_token"], "hello") == 1
            async for message in hub:
                assert await message.ack()
                return message.body
        raise AssertionError("nothing came")

    assert asyncio.run(asyncio.wait_for(talk(), 60)) == b"hello"


def test_who_guesses_tokens_at_the_hub_is_kept_out_alone(place: Proxied) -> None:
    """The hub believes the same proxy as the API."""
    guesses = json.dumps({"do": "sub", "boxes": [["a", f"wrong {n}"] for n in range(256)]})

    async def guess(source: str) -> None:
        url, own = f"wss://localhost:{place.tls_port}", (source, 0)
        async with connect(url, ssl=place.tls, local_addr=own, family=AF_INET) as ws:
            for _ in range(4):
                await ws.send(guesses)
            async for _ in ws:
                pass

    def status(source: str) -> int:
        host = {"authorization": "Bearer x", "host": "localhost"}
        return said(place.line(source), "GET", "/v1/mailboxes/a/messages", **host)[0]

    with pytest.raises(ConnectionClosedError):
        asyncio.run(asyncio.wait_for(guess("127.0.0.4"), 60))
    assert (status("127.0.0.4"), status("127.0.0.5")) == (429, 403)
