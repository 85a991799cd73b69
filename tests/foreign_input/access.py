"""What endpoints are authorized with: PEM that their owners set, and answers of token servers."""

import asyncio
from contextlib import suppress

from msgspec.structs import replace

from postroad import ClientTls, OAuthClient
from postroad.model.egress import read_proxies, read_proxy
from postroad.model.entities import Message
from postroad.model.errors import BadInput, BadUrl
from postroad.model.setting_checks import SOURCE
from postroad.transports.webhook.client_tls import check_tls
from postroad.transports.webhook.egress import check_name
from postroad.transports.webhook.faults import Fault
from postroad.transports.webhook.shapes import Origin, shaped
from postroad.transports.webhook.tokens import NoToken, _seconds, read_answer
from postroad.transports.webhook.transforms import NAME
from postroad.transports.webhook.tunnel import TunnelRequest
from tests.foreign_input.shape import BARE, Door

CLIENT = OAuthClient("https://example.com/token", "ours", "hush hush")
MESSAGE = Message(7, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1 << 62, b"")
PEM = (b"-----BEGIN CERTIFICATE-----\n", b"\n-----END CERTIFICATE-----\n")
KEY = (b"-----BEGIN PRIVATE KEY-----\n", b"\n-----END PRIVATE KEY-----\n")


def answered(data: bytes) -> None:
    for status in (200, 400):
        try:
            told = read_answer(status, data, CLIENT)
        except NoToken:
            continue
        _seconds(told.expires_in)


def secured(data: bytes) -> None:
    text = data.decode("latin-1")
    for tls in (ClientTls(ca=text), ClientTls(text, text)):
        try:
            check_tls(tls, 0)
        except BadInput:
            continue


def tunnelled(data: bytes) -> None:
    async def heard() -> None:
        asked = TunnelRequest(b"")
        asked.data_received(data)
        asked.connection_lost(None)
        with suppress(Fault):
            await asked.status

    asyncio.run(heard())


def proxied(data: bytes) -> None:
    text = data.decode("latin-1")
    for read in (read_proxy, lambda one: read_proxies([one])):
        with suppress(BadInput):
            read(text)
    with suppress(BadUrl):
        check_name(text)


def formed(data: bytes) -> None:
    text = data.decode("latin-1")
    _ = SOURCE.fullmatch(text), NAME.fullmatch(text)
    for headers in (b"", b'{"content-type":"text/plain"}'):
        for shape in ("cloudevents", "cloudevents-binary"):
            shaped(replace(MESSAGE, body=data, headers=headers), shape, "ours", Origin("evt_1"))


DOORS = (
    Door(
        "a body in another shape",
        formed,
        (
            "model/setting_checks.py:SOURCE",
            "transports/webhook/shapes.py:HEADERS",
            "transports/webhook/transforms.py:NAME",
        ),
        frames=(BARE, (b'{"a":"', b'"}'), (b"[", b"]")),
        shapes={"deep": lambda n: b"[" * (n // 2) + b"]" * (n // 2)},
    ),
    Door(
        "a proxy's answer",
        tunnelled,
        (),
        frames=(BARE, (b"HTTP/1.1 200 ", b"\r\n\r\n"), (b"HTTP/1.0 407 x\r\na: ", b"\r\n\r\n")),
        shapes={"many headers": lambda n: b"HTTP/1.1 200 x\r\n" + b"a: b\r\n" * (n // 6)},
    ),
    Door(
        "an egress proxy",
        proxied,
        ("model/egress.py:PLACE", "model/egress.py:read_proxy"),
        frames=(BARE, (b"http://", b":1"), (b"http://[", b"]:1"), (b"a=http://u:", b"@h:1")),
        size=2_048,
    ),
    Door(
        "a token server's answer",
        answered,
        ("transports/webhook/tokens.py:ANSWER", "transports/webhook/tokens.py:TOKEN"),
        frames=(
            BARE,
            (b'{"access_token": "', b'"}'),
            (b'{"access_token": "a", "expires_in": "', b'"}'),
            (b'{"error": "', b'", "error_description": "hush hush"}'),
        ),
        shapes={
            "deep": lambda n: b'{"a":' * (n // 5),
            "secrets": lambda n: b'{"error": "' + b"hush hush" * (n // 9) + b'"}',
        },
        size=32_768,
    ),
    Door(
        "certificates",
        secured,
        (),
        frames=(BARE, PEM, KEY),
        shapes={
            "many": lambda n: b"".join((*PEM,)) * (n // 55),
            "keys": lambda n: b"".join((*KEY,)) * (n // 55),
        },
        size=16_384,
    ),
)
