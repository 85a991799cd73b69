"""A hub that speaks TLS by itself."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
from websockets.asyncio.client import connect

from postroad.model.errors import BadSetting, HubAway
from postroad.model.mailbox import HubLimits
from postroad.ports.tls import server_tls
from tests.hub.certificates import made
from tests.hub.raw import ask
from tests.hub.serving import CREATE, serving, some_boxes


async def test_with_a_certificate_the_hub_speaks_tls_and_nothing_else(tmp_path: Path) -> None:
    certificates = made(tmp_path, "hub.example.com")
    limits = HubLimits(handshake_s=0.5)
    async with serving(tmp_path / "hub.db", limits, tls=certificates.server()) as served:
        async with served.secure_client("hub.example.com", certificates.trusting()) as client:
            (box,) = await some_boxes(client, 1)
            await client.send(box.box, box.sender_token, "x" * 60_000)
            await client.subscribe({box.box: box.recipient_token})
            message = await asyncio.wait_for(anext(client), 60)
            assert (len(message.text), await message.ack()) == (60_000, True)
            with pytest.raises(HubAway):
                await served.client().open()
            with pytest.raises(HubAway, match=r"(?i)certificate"):
                await served.secure_client("other.example", certificates.trusting()).open()
            status = await asyncio.to_thread(_healthz, served.port, certificates.trusting())
            assert status == b"HTTP/1.1 200 "
            old = certificates.trusting()
            with pytest.warns(DeprecationWarning, match="TLSv1_1"):
                old.maximum_version = ssl.TLSVersion.TLSv1_1
            with pytest.raises(ssl.SSLError):
                await asyncio.to_thread(_healthz, served.port, old)
            # A handshake that never goes on is ended, and counted until then.
            idle = socket.create_connection(("127.0.0.1", served.port))
            async with asyncio.timeout(60):
                while served.server.connection_limits.total < 2:
                    await asyncio.sleep(0.01)
                while served.server.connection_limits.total > 1:
                    await asyncio.sleep(0.01)
            idle.close()


def _healthz(port: int, trusted: ssl.SSLContext) -> bytes:
    with (
        socket.create_connection(("127.0.0.1", port), 30) as plain,
        trusted.wrap_socket(plain, server_hostname="hub.example.com") as secure,
    ):
        secure.sendall(b"GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n")
        return secure.recv(13)


async def test_slow_handshakes_are_bounded_in_number(tmp_path: Path) -> None:
    certificates = made(tmp_path, "hub.example.com")
    limits = HubLimits(address_connections_max=3)
    async with serving(tmp_path / "hub.db", limits, tls=certificates.server()) as served:
        idle = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(3)]
        async with asyncio.timeout(60):
            while served.server.connection_limits.total < 3:
                await asyncio.sleep(0.01)
        with pytest.raises((HubAway, OSError)):
            await served.secure_client("hub.example.com", certificates.trusting()).open()
        for each in idle:
            each.close()
        async with asyncio.timeout(60):
            while served.server.connection_limits.total:
                await asyncio.sleep(0.01)
        async with served.secure_client("hub.example.com", certificates.trusting()) as client:
            assert (await client.create(CREATE)).box


def test_what_is_wrong_with_the_files_is_named(tmp_path: Path) -> None:
    certificates, others = made(tmp_path, "a.example"), made(tmp_path / "b", "b.example")
    cert, key = str(certificates.cert), str(certificates.key)
    assert server_tls("", "") is None
    for wrong in ((cert, ""), ("", key), (cert, str(tmp_path / "no.pem")), (key, cert)):
        with pytest.raises(BadSetting, match=r"tls_(cert|key)_file"):
            server_tls(*wrong)
    with pytest.raises(BadSetting, match="not the key of"):
        server_tls(cert, str(others.key))


async def test_another_websocket_library_gets_in_by_wss(tmp_path: Path) -> None:
    certificates = made(tmp_path, "hub.example.com")
    async with serving(tmp_path / "hub.db", tls=certificates.server()) as served:
        options = {"ssl": certificates.trusting(), "server_hostname": "hub.example.com"}
        async with connect(f"wss://127.0.0.1:{served.port}/", **options) as ws:  # type: ignore[arg-type]
            assert (await ask(ws, {"do": "create", "n": 1, "token": CREATE}))["is"] == "created"
