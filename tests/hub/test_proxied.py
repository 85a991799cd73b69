"""A hub behind a proxy: clients are counted by the address that a named proxy tells, and by no
other's word. And who may use it from a page."""

import asyncio
import re
import ssl
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from postroad.model.mailbox import HubLimits
from postroad.model.networks import Proxies
from tests.hub.raw import ask, dial
from tests.hub.serving import Served, serving
from tests.servers.certificates import certify

HERE = ("127.0.0.1",)
ANN, BOB = {"X-Forwarded-For": "192.0.2.1"}, {"X-Forwarded-For": "192.0.2.2"}
PAGE = "https://shop.example.com"


async def status(served: Served, headers: dict[str, str], **options: object) -> int:
    """Connect, and stay."""
    try:
        await dial(served, additional_headers=headers, **options)
    except InvalidStatus as error:
        return error.response.status_code
    return 101


@pytest.mark.parametrize(("proxies", "third"), [(HERE, (429, 101)), ((), (429, 429))])
async def test_each_client_behind_a_named_proxy_has_connections_of_its_own(
    tmp_path: Path, proxies: tuple[str, ...], third: tuple[int, int]
) -> None:
    """Without the name all of them have the proxy's, whatever it says."""
    limits = HubLimits(address_connections_max=2)
    async with serving(tmp_path / "hub.db", limits, proxies=proxies) as served:
        assert [await status(served, ANN) for _ in range(2)] == [101, 101]
        assert (await status(served, ANN), await status(served, BOB)) == third
        counted = served.server.connection_limits
        assert set(counted.by_network) == ({"192.0.2.1", "192.0.2.2"} if proxies else set(HERE))
    while counted.total:
        await asyncio.sleep(0.01)
    assert counted.by_network == {}


async def test_behind_tls_too(tmp_path: Path) -> None:
    cert, key = certify(tmp_path)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(cert, key)
    limits = HubLimits(address_connections_max=1)
    async with serving(tmp_path / "hub.db", limits, tls=tls, proxies=HERE) as served:
        secure = {"ssl": ssl.create_default_context(cafile=cert)}
        found = [await status(served, who, **secure) for who in (ANN, ANN, BOB)]
    assert found == [101, 429, 101]


async def test_who_guesses_through_a_proxy_is_kept_out_alone(tmp_path: Path) -> None:
    limits = HubLimits(wrong_tokens_max=10)
    guesses = {"do": "sub", "boxes": [["a", f"wrong {n}"] for n in range(11)]}
    async with serving(tmp_path / "hub.db", limits, proxies=HERE) as served:
        async with dial(served, additional_headers=ANN) as ws:
            with pytest.raises(ConnectionClosed):
                while True:
                    await ask(ws, guesses)
        assert await status(served, ANN) == 429
        assert await status(served, BOB) == 101
        # One connection of the proxy serves both of them by plain HTTP.
        assert await statuses(served, "192.0.2.2", "192.0.2.1", "192.0.2.2") == [403, 429]
        assert await statuses(served, *["192.0.2.3"] * 11) == [403] * 10 + [429]
        assert await statuses(served, "192.0.2.2") == [403]


async def statuses(served: Served, *clients: str) -> list[int]:
    """The answers to wrong tokens by plain HTTP on one connection, until it is closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    head = "GET /v1/mailboxes/a/messages HTTP/1.1\r\nhost: hub\r\nauthorization: Bearer x\r\n"
    for at, client in enumerate(clients, 1):
        last = "connection: close\r\n" if at == len(clients) else ""
        given = f"X-Forwarded-For: 203.0.113.7, {client}\r\n{last}"
        writer.write(f"{head}{given}\r\n".encode())
    said = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", said)]


@pytest.mark.parametrize(
    ("forwarded", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("203.0.113.9, 192.0.2.1, 10.1.2.3", "192.0.2.1"),  # what a client claims stands first
        ("192.0.2.1:5000", "192.0.2.1"),
        ("[2001:db8::1]:5000", "2001:db8::1"),
        ("", "10.0.0.7"),
        ("10.1.1.1", "10.0.0.7"),
        ("192.0.2.1, unknown", "10.0.0.7"),
    ],
)
def test_a_client_is_the_last_address_that_is_no_proxy(forwarded: str, client: str) -> None:
    assert Proxies(("10.0.0.0/8",)).client("10.0.0.7", forwarded) == client


@pytest.mark.parametrize(("origin", "may"), [(PAGE, True), ("https://evil.example", False)])
async def test_pages_of_named_origins_alone_may_read_answers(
    tmp_path: Path, origin: str, *, may: bool
) -> None:
    async with serving(tmp_path / "hub.db", origins=(PAGE,)) as served:
        asked = "access-control-request-method: POST\r\naccess-control-request-headers: authorization\r\n"
        preflight = await heads(served, "OPTIONS", f"origin: {origin}\r\n{asked}")
        refused = await heads(served, "GET", f"origin: {origin}\r\n")  # an error is readable too
    allowed = f"access-control-allow-origin: {PAGE}"
    assert (allowed in preflight, allowed in refused) == (may, may)
    assert ("access-control-allow-methods: delete, get, options, post" in preflight) is may
    assert "access-control-allow-credentials" not in preflight + refused
    assert "vary: origin" in refused


async def heads(served: Served, method: str, headers: str) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    head = f"{method} /v1/mailboxes/a/messages HTTP/1.1\r\nhost: h\r\nconnection: close\r\n"
    writer.write(f"{head}{headers}\r\n".encode())
    said = await asyncio.wait_for(reader.read(), 60)
    writer.close()
    return said.partition(b"\r\n\r\n")[0].decode().lower()
