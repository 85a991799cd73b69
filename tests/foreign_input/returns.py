"""Doors for what comes back about mail, and for recipients that people name."""

import asyncio
from pathlib import Path
from tempfile import NamedTemporaryFile

from postroad.bounces.connection import BounceConnection
from postroad.bounces.dialogue import BounceHost, MailProtocol, Verdict
from postroad.campaigns.reading import BadFile
from postroad.campaigns.suppression_files import SuppressionReader, _time_ms
from postroad.model.errors import BadInput
from postroad.model.keyring import KeyRing
from postroad.model.mail_links import MailLinks
from postroad.model.mail_report import read_reports
from postroad.model.suppression import normal_recipient
from postroad.transports.suppression_gate import _despite
from postroad.verbs.mail_reports import _references
from tests.foreign_input.shape import BARE, Door

STATUS = (
    b"Content-Type: multipart/report; boundary=x\n\n--x\n"
    b"Content-Type: message/delivery-status\n\nReporting-MTA: dns; x\n\n"
)

ENCODED = (
    b"Content-Type: multipart/report; boundary=x\n\n--x\n"
    b"Content-Type: message/delivery-status\nContent-Transfer-Encoding: "
)


def recipient(data: bytes) -> None:
    """A mail address or a number, of anybody."""
    normal_recipient(data.decode("latin-1"))


LINKS = MailLinks(KeyRing([("a", b"1" * 32)], bytes), "https://x", "bounces.example.com")


def links(data: bytes) -> None:
    """What somebody says that we have signed."""
    text = data.decode("latin-1")
    assert LINKS.subscriber(text) is None
    assert LINKS.number(text) is None
    assert not LINKS.is_for(text, text)
    assert LINKS.returned(text) == ""


def suppressions(data: bytes) -> None:
    """A file of entries, as NDJSON."""
    with NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        for _ in SuppressionReader(Path(file.name), "ndjson", "a", 1).batches():
            pass


class Nobody:
    """Stands where the listener does, and stores nothing."""

    def now_s(self) -> float:
        return 0.0

    def joined(self, _connection: BounceConnection) -> str:
        return ""

    def left(self, _connection: BounceConnection) -> None:
        """It is gone."""

    def store(self, connection: BounceConnection, _to: str, _raw: bytes) -> None:
        connection.answered("250 2.0.0 stored")


class Wire(asyncio.Transport):
    """A connection that hears nothing."""

    def __init__(self) -> None:
        super().__init__()
        self._over = False

    def write(self, data: object) -> None:
        """Nobody reads it."""

    def is_closing(self) -> bool:
        return self._over

    def close(self) -> None:
        self._over = True

    def pause_reading(self) -> None:
        """Nothing more comes."""

    def resume_reading(self) -> None:
        """Something may come."""


HOST = BounceHost("x", MailProtocol.smtp, lambda *_: Verdict.ours)


def spoken(data: bytes) -> None:
    """What somebody says to the listener, in pieces as they come from a socket."""
    connection = BounceConnection(HOST, Nobody())
    connection.connection_made(Wire())
    for at in range(0, len(data), 4_096):
        connection.data_received(data[at : at + 4_096])


SAID = b"EHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<x@x>\r\nDATA\r\n"


DOORS = (
    Door(
        "a client of the bounce listener",
        spoken,
        ("bounces/dialogue.py:PATH", "bounces/dialogue.py:_size"),
        frames=(
            BARE,
            (b"EHLO x\r\nMAIL FROM:<", b">\r\n"),
            (b"EHLO x\r\nMAIL FROM:<> SIZE=", b"\r\n"),
            (SAID, b"\r\n.\r\n"),
        ),
        shapes={
            "many commands": lambda n: b"NOOP\r\n" * (n // 6),
            "many options": lambda n: b"EHLO x\r\nMAIL FROM:<>" + b" A=B" * (n // 4) + b"\r\n",
            "many mails": lambda n: SAID + b"x\r\n.\r\n" * (n // 6),
            "many dots": lambda n: SAID + b".x\r\n" * (n // 4),
            "almost ends": lambda n: SAID + b"\r\n." * (n // 3),
            "commands in mails": lambda n: (SAID[8:] + b"\r\n.\r\n") * (n // 60),
        },
    ),
    Door(
        "a recipient",
        recipient,
        (
            "model/mail_address.py:ATOMS",
            "model/mail_address.py:LABEL",
            "model/mail_address.py:PLAIN",
            "model/mail_address.py:_check_local",
            "model/mail_address.py:_domain",
            "model/mail_address.py:_ascii",
            "model/phone_number.py:PHONE",
            "model/suppression.py:DIGEST",
        ),
        frames=(BARE, (b"a@", b".com"), (b"a.", b"@example.com"), (b"+", b"x"), (b"sha256:", b"")),
        shapes={
            "many dots": lambda n: b"a." * (n // 2) + b"@example.com",
            "many labels": lambda n: b"a@" + b"b." * (n // 2) + b"com",
            "many labels beyond ASCII": lambda n: b"a@" + b"\xfc." * (n // 2) + b"com",
        },
        raises=(BadInput,),
    ),
    Door(
        "a reference and an unsubscribe link",
        links,
        ("model/mail_links.py:SUBSCRIBER",),
        frames=(BARE, (b"b-", b"@bounces.example.com")),
    ),
    Door(
        "a bounce or a complaint",
        lambda data: [
            list(_references((*one.recipients, *one.marks))) for one in read_reports(data)
        ],
        (
            "model/mail_report.py:_parts",
            "model/mail_report.py:_fields",
            "model/mail_report.py:read_reports",
            "model/mail_report.py:CODE",
            "model/mail_report.py:SAID",
            "verbs/mail_reports.py:REFERENCE",
        ),
        frames=(
            BARE,
            (b"Content-Type: multipart/report; boundary=", b"\n\n"),
            (b"Content-Type: multipart/report; boundary=x\n\n--x\n", b"\n--x--"),
            (STATUS, b"\n\n--x--"),
            (STATUS + b"Action: failed\nDiagnostic-Code: smtp; ", b"\n\n--x--"),
            (ENCODED + b"base64\n\n", b"\n--x--"),
            (ENCODED + b"quoted-printable\n\n", b"\n--x--"),
            (b"To: b-", b"@x\n" + STATUS + b"Action: failed\n\n--x--"),
        ),
        shapes={
            "many headers": lambda n: b"a: b\n" * (n // 5),
            "one header many times folded": lambda n: b"a: b\n" + b" c\n" * (n // 3),
            "many parts": lambda n: (
                b"Content-Type: multipart/report; boundary=x\n\n" + b"--x\n\n" * (n // 5)
            ),
            "many recipients": lambda n: STATUS + b"Action: failed\n\n" * (n // 16),
        },
    ),
    Door(
        "what a message is sent despite",
        _despite,
        ("transports/suppression_gate.py:DESPITE",),
        frames=(BARE, (b'{"despite": ["', b'"]}')),
        shapes={"deep": lambda n: b"[" * n},
    ),
    Door(
        "a suppression list",
        suppressions,
        ("campaigns/suppression_files.py:LINES",),
        frames=(BARE, (b'{"recipient": "', b'"}\n')),
        shapes={
            "many lines": lambda n: b'{"recipient":"a@b.c"}\n' * (n // 22),
            "many bad lines": lambda n: b"{\n" * (n // 2),
            "deep": lambda n: b"[" * n,
        },
        raises=(BadFile,),
    ),
    Door(
        "a time in a suppression list",
        lambda data: _time_ms(data.decode("latin-1")),
        ("campaigns/suppression_files.py:_time_ms",),
        frames=(BARE, (b"2026-01-31T12:00:00", b"Z")),
        raises=(BadInput,),
    ),
)
