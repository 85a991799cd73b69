"""Doors for what mail providers report, and whoever says that they are one."""

import asyncio

import msgspec

from postroad.model.credential import Credential, CredentialSpec, OpenCredential
from postroad.model.errors import BadInput
from postroad.model.mail_report import read_soft_bounces
from postroad.ports.channel import ProviderCall
from postroad.ports.clock import SystemClock
from postroad.transports.mail_providers.mailgun import CALL, mailgun_reports
from postroad.transports.mail_providers.postmark import knows_secret, postmark_reports
from postroad.transports.mail_providers.reading import ProviderReports, check_provider
from postroad.transports.mail_providers.ses import ses_reports
from postroad.transports.mail_providers.sns import is_certificate
from tests.foreign_input.shape import BARE, Door

ROOM = "transports/mail_providers"
TOPIC = "arn:aws:sns:us-west-2:123456789012:x"
JSON = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
DEEP = {"deep": lambda n: b"[" * n}
SNS = (
    b'{"Type":"Notification","MessageId":"x","TopicArn":"%b","Message":"x","Timestamp":"x",'
    b'"SignatureVersion":"1","SigningCertURL":"https://sns.us-west-2.amazonaws.com/x","Signature":"'
) % TOPIC.encode()

MAILGUN = (
    b'{"signature":{"timestamp":"1","token":"x","signature":"x"},"event-data":'
    b'{"event":"failed","severity":"permanent","delivery-status":{"message":"5.'
)


async def _nothing(_url: str) -> bytes:
    raise OSError("nothing is fetched")


async def _never(_token: str, _digest: str) -> bool:
    return False


def called(data: bytes) -> None:
    """A call that is said to be of each provider."""
    reports = ProviderReports(_nothing, SystemClock())
    for name in ("mailgun", "postmark", "ses"):
        spec = CredentialSpec(options={"callbacks": name})
        known = Credential(1, "a", "b", "smtp", spec, "", b"")
        opened = OpenCredential(known, {"callback_key": TOPIC})
        found = asyncio.run(reports.read(ProviderCall("", {}, data), opened, _never))
        assert found is None


def secret(data: bytes) -> None:
    text = data.decode("latin-1")
    assert not knows_secret(text, {"authorization": f"Basic {text}"}, "x" * 20)
    assert not knows_secret(text, {}, "x" * 20)


def provider(data: bytes) -> None:
    text = data.decode("latin-1")
    check_provider({"callbacks": "ses"}, {"callback_key": text})


DOORS = (
    Door(
        "a provider's callback",
        called,
        (f"{ROOM}/sns.py:MESSAGE", f"{ROOM}/sns.py:SnsTrust"),
        frames=(BARE, (b'{"signature": "', b'"}'), (SNS, b'"}')),
        shapes=DEEP,
    ),
    Door(
        "an event of Mailgun",
        lambda data: mailgun_reports(CALL.decode(data).event),
        (f"{ROOM}/mailgun.py:CALL", f"{ROOM}/mailgun.py:ENHANCED"),
        frames=(
            BARE,
            (MAILGUN, b'"}}}'),
        ),
        shapes=DEEP,
        raises=JSON,
    ),
    Door(
        "an event of Postmark",
        postmark_reports,
        (f"{ROOM}/postmark.py:CALL",),
        frames=(BARE, (b'{"RecordType":"Bounce","Type":"HardBounce","Details":"', b'"}')),
        shapes=DEEP,
        raises=JSON,
    ),
    Door(
        "an event of SES",
        lambda data: ses_reports(data.decode("latin-1")),
        (f"{ROOM}/ses.py:EVENT",),
        frames=(
            BARE,
            (b'{"notificationType":"Bounce","bounce":{"bouncedRecipients":[{"status":"', b'"}]}}'),
        ),
        shapes={
            **DEEP,
            "many recipients": lambda n: (
                b'{"notificationType":"Bounce","bounce":{"bouncedRecipients":['
                + b"{}," * (n // 3)
                + b"{}]}}"
            ),
        },
        raises=JSON,
    ),
    Door(
        "a secret of Postmark",
        secret,
        (f"{ROOM}/postmark.py:knows_secret",),
    ),
    Door(
        "an address of SNS",
        lambda data: is_certificate(data.decode("latin-1")),
        (f"{ROOM}/sns.py:from_amazon", f"{ROOM}/sns.py:HOST", f"{ROOM}/sns.py:CERTIFICATE"),
        frames=(BARE, (b"https://sns.", b".amazonaws.com/"), (b"https://sns.us-", b"")),
    ),
    Door(
        "a topic of SNS",
        provider,
        (f"{ROOM}/sns.py:ARN",),
        frames=(BARE, (b"arn:aws", b"")),
        raises=(BadInput,),
    ),
    Door(
        "a threshold of soft bounces",
        lambda data: read_soft_bounces(data.decode("latin-1")),
        ("model/mail_report.py:THRESHOLD",),
        frames=(BARE, (b"5/", b"d/3")),
        raises=(BadInput,),
    ),
)
