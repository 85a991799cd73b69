"""Doors for what comes back about mail, and for recipients that people name."""

from pathlib import Path
from tempfile import NamedTemporaryFile

from postroad.campaigns.reading import BadFile
from postroad.campaigns.suppression_files import SuppressionReader, _time_ms
from postroad.model.errors import BadInput
from postroad.model.suppression import normal_recipient
from tests.doors.shape import BARE, Door


def recipient(data: bytes) -> None:
    """A mail address or a number, of anybody."""
    normal_recipient(data.decode("latin-1"))


def suppressions(data: bytes) -> None:
    """A file of entries, as NDJSON."""
    with NamedTemporaryFile() as file:
        file.write(data)
        file.flush()
        for _ in SuppressionReader(Path(file.name), "ndjson", "a", 1).batches():
            pass


DOORS = (
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
