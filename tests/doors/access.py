"""What endpoints are authorized with: PEM that their owners set, and answers of token servers."""

from postroad import ClientTls, OAuthClient
from postroad.model.errors import BadInput
from postroad.transports.webhook.client_tls import check_tls
from postroad.transports.webhook.tokens import NoToken, _seconds, read_answer
from tests.doors.shape import BARE, Door

CLIENT = OAuthClient("https://example.com/token", "ours", "hush hush")
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


DOORS = (
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
