"""What servers answer: webhooks, providers, and what they say about waiting."""

from contextlib import suppress

from msgspec.structs import replace

from postroad.model.credential import BadCredential
from postroad.model.entities import Message
from postroad.model.errors import BadInput, BadUrl
from postroad.model.recipients import recipient_of
from postroad.model.webhook import Hook, WebhookRules
from postroad.transports.sms.answers import judge as judge_sms
from postroad.transports.sms.session import ACCOUNTS, FOUND, _decode, text_of
from postroad.transports.webhook.addresses import networks
from postroad.transports.webhook.answers import retry_after_ms
from postroad.transports.webhook.endpoints import Endpoint
from postroad.transports.webhook.guard import _read
from postroad.transports.webhook.reading import BadAnswer, Reader
from postroad.transports.webhook.requests import begin, check_header
from postroad.transports.webhook.signing import Signer, check_public, fault_in
from postroad.transports.webhook.target import read
from tests.foreign_input.shape import BARE, Door, in_pieces

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
RULES = WebhookRules(http=True, ports=())
TARGET = read("https://example.com/", RULES)
ENDPOINT = Endpoint(Hook(), {}, {}, Signer(()), 1_000, 1_000)
PUBLIC = "whpk_" + "A" * 43 + "="
READING = tuple(f"transports/webhook/reading.py:{name}" for name in ("HEAD_END", "Reader"))
ANSWER_FRAMES = (
    BARE,
    (OK + b"a: ", b"\r\n\r\n"),
    (OK + b"a: ", b"\0\r\n\r\n"),
    (OK + b"a: x", b"x\r\ncontent-length: 0\r\n\r\n"),
    (OK, b": b\r\n\r\n"),
    (b"HTTP/1.1 200 ", b"\r\n\r\n"),
    (b"HTTP/1.1 103 x\r\n\r\n" + OK + b"a: ", b"\r\n\r\n"),
    (OK + b"content-length: ", b"\r\n\r\n"),
    (CHUNKED, b""),
    (CHUNKED + b"1;", b"\r\n"),
    (CHUNKED + b"0\r\na: ", b"\r\n\r\n"),
    (OK + b"\r\n", b""),
)
ANSWER_SHAPES = {
    "many headers": lambda n: OK + b"a: b\r\n" * (n // 6) + b"\r\n",
    "one header many times": lambda n: OK + b"connection: a,\r\n" * (n // 16) + b"\r\n",
    "many 1xx": lambda n: b"HTTP/1.1 103 x\r\n\r\n" * (n // 18),
    "one-byte chunks": lambda n: CHUNKED + b"1\r\nx\r\n" * (n // 6),
    "two-byte chunks": lambda n: CHUNKED + b"2;a\r\nxy\r\n" * (n // 9),
    "many trailers": lambda n: CHUNKED + b"0\r\n" + b"a: b\r\n" * (n // 6),
    "a long body": lambda n: OK + b"content-length: %d\r\n\r\n" % n + b"x" * n,
}


def whole(data: bytes) -> None:
    reader = Reader()
    reader.read(data)
    assert reader.headers is not None


def by_bytes(data: bytes) -> None:
    in_pieces(lambda: Reader().read, data)


def timestamped(data: bytes) -> None:
    assert fault_in([PUBLIC], "msg_1", data.decode("latin-1"), "v1,x", b"{}", 0.0)


def signed(data: bytes) -> None:
    assert fault_in([PUBLIC, "whsec_" + "a" * 32], "msg_1", "1", data.decode("latin-1"), b"", 1.0)


def waits(data: bytes) -> None:
    text = data.decode("latin-1")
    assert retry_after_ms({"retry-after": text, "date": text}, 0) >= 0


def sms(data: bytes) -> None:
    for status in (200, 400, 429):
        judge_sms(status, {"retry-after": data[:5_000].decode("latin-1")}, data)


def secret(data: bytes) -> None:
    text = data.decode("latin-1")
    with suppress(BadInput):
        Signer([text])
    check_public(text)


JSON_FRAMES = (
    BARE,
    (b'{"sid":"', b'"}'),
    (b'{"code":', b"}"),
    (b'{"x":', b""),
    (b'{"message":"\\u', b'"}'),
)
MESSAGE = Message(1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, b"")
DEEP = {
    "deep lists": lambda n: b'{"x":' + b"[" * (n // 2) + b"]" * (n // 2) + b"}",
    "deep objects": lambda n: b'{"a":' * (n // 6) + b"1" + b"}" * (n // 6),
    "many names": lambda n: b"{%s}" % b",".join(b'"%d":1' % i for i in range(n // 9)),
}

DOORS = (
    Door(
        "a webhook's answer",
        whole,
        READING,
        frames=ANSWER_FRAMES,
        shapes=ANSWER_SHAPES,
        raises=(BadAnswer,),
    ),
    Door(
        "a webhook's answer, byte by byte",
        by_bytes,
        READING,
        size=16_384,
        frames=ANSWER_FRAMES[1:4] + ANSWER_FRAMES[8:11],
        fills=("blanks", "letters", "line ends", "digits"),
        shapes=ANSWER_SHAPES,
        raises=(BadAnswer,),
    ),
    Door(
        "Retry-After and Date",
        waits,
        tuple(f"transports/webhook/answers.py:{name}" for name in ("SECONDS", "_date_ms")),
        frames=(BARE, (b"0", b""), (b"Tue, 17 Nov 2026 11:", b" GMT"), (b"1.", b"")),
    ),
    Door(
        "a provider's answer",
        sms,
        ("transports/sms/answers.py:TAKEN", "transports/sms/answers.py:REFUSED"),
        frames=JSON_FRAMES,
        shapes=DEEP,
    ),
    Door(
        "a provider's account",
        lambda data: (_decode(ACCOUNTS, data, "it"), _decode(FOUND, data, "it")),
        ("transports/sms/session.py:ACCOUNTS", "transports/sms/session.py:FOUND"),
        frames=JSON_FRAMES,
        shapes=DEEP,
        raises=(BadCredential,),
    ),
    Door(
        "a text message's body",
        text_of,
        ("transports/sms/session.py:BODIES",),
        frames=(*JSON_FRAMES, (b'{"text":"', b'"}')),
        shapes=DEEP,
        raises=(BadInput,),
    ),
    Door(
        "a message's recipient",
        lambda data: recipient_of(replace(MESSAGE, headers=data)),
        ("model/recipients.py:ADDRESSED",),
        size=16_384,
        frames=(*JSON_FRAMES, (b'{"postroad-to":"', b'"}')),
        shapes=DEEP,
        raises=(BadInput,),
    ),
    Door(
        "a webhook's URL",
        lambda data: read(data.decode("latin-1"), RULES),
        tuple(
            f"transports/webhook/target.py:{name}"
            for name in ("PLAIN", "NAME", "NUMBER", "PORT", "_literal")
        ),
        size=1_920,
        frames=(
            BARE,
            (b"https://", b""),
            (b"https://example.com/", b""),
            (b"https://example.com:", b"/"),
            (b"https://[", b"]/"),
            (b"https://a@", b"/"),
            (b"https://a.", b".example/?a"),
        ),
        raises=(BadUrl,),
    ),
    Door(
        "a URL that is far too long",
        lambda data: read(data.decode("latin-1"), RULES),
        (),
        frames=(BARE, (b"https://", b"@")),
        raises=(BadUrl,),
    ),
    Door(
        "an address from a name server",
        lambda data: _read(TARGET, data.decode("latin-1")),
        ("transports/webhook/guard.py:_read",),
        frames=(BARE, (b"::", b""), (b"1.2.3.", b"")),
        raises=(BadUrl,),
    ),
    Door(
        "networks in the settings",
        lambda data: networks([data.decode("latin-1")]),
        ("transports/webhook/addresses.py:networks",),
        frames=(BARE, (b"10.0.0.0/", b"")),
        raises=(ValueError,),
    ),
    Door(
        "a header to send",
        lambda data: check_header(data[:200].decode("latin-1"), data.decode("latin-1")),
        ("transports/webhook/requests.py:TOKEN", "transports/webhook/requests.py:VALUE"),
        size=8_000,
        raises=(BadInput,),
    ),
    Door(
        "a message's own headers",
        lambda data: begin(TARGET, ENDPOINT, data),
        (
            "transports/webhook/requests.py:HEADERS_DECODER",
            "transports/webhook/requests.py:PARTS",
            "transports/webhook/requests.py:_telling",
            "model/private_headers.py:SECRET",
        ),
        size=16_384,
        frames=((b'{"a":"', b'"}'), (b'{"', b'":"b"}'), (b'{"authorization":"', b'"}')),
        fills=("blanks", "letters", "digits", "dashes", "colons", "commas", "equals"),
        shapes={
            "many": lambda n: b"{%s}" % b",".join(b'"a%d":"b"' % i for i in range(n // 10)),
            "nearly secret": lambda n: b'{"%s":"b"}' % (b"aut" * (n // 3)),
        },
        raises=(BadInput,),
    ),
    Door(
        "a timestamp that is signed",
        timestamped,
        ("transports/webhook/signing.py:fault_in",),
    ),
    Door(
        "signatures",
        signed,
        ("transports/webhook/signing.py:_fits",),
        frames=(BARE, (b"v1a,", b"")),
        shapes={"many": lambda n: b"v1a,YWFh " * (n // 9)},
    ),
    Door(
        "a signing secret",
        secret,
        ("transports/webhook/signing.py:_decoded",),
        frames=(BARE, (b"whsec_", b"="), (b"whpk_", b"")),
        raises=(BadInput,),
    ),
)
