"""Callbacks of mail providers, in the form that their pages document, signed by stand-ins."""

import hashlib
import hmac
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.hashes import SHA1, SHA256
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

MAILGUN_KEY: Final = "key-0123456789abcdef0123456789abcdef"
POSTMARK_KEY: Final = "postmark:correct horse battery"
TOPIC: Final = "arn:aws:sns:us-west-2:123456789012:bounces"
HOST: Final = "https://sns.us-west-2.amazonaws.com"
CERT_URL: Final = f"{HOST}/SimpleNotificationService-f3ecfb7224c7233fe7bb5f59f96de52f.pem"
SUBSCRIBE_URL: Final = f"{HOST}/?Action=ConfirmSubscription&TopicArn={TOPIC}&Token=2336412f37"


class Amazon:
    """Signs as SNS does, and serves its certificate."""

    def __init__(self, days: int = 30) -> None:
        self.key = rsa.generate_private_key(65_537, 2_048)
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
        now = datetime.now(UTC)
        made = x509.CertificateBuilder().subject_name(name).issuer_name(name)
        made = made.public_key(self.key.public_key()).serial_number(1)
        made = made.not_valid_before(now - timedelta(days=60))
        made = made.not_valid_after(now + timedelta(days=days))
        self.certificate = made.sign(self.key, SHA256()).public_bytes(Encoding.PEM)
        self.got: list[str] = []
        self.away: set[str] = set()

    async def get(self, url: str) -> bytes:
        self.got.append(url)
        if url in self.away:
            raise OSError("no route")
        if url == CERT_URL:
            return self.certificate
        if url == SUBSCRIBE_URL:
            return b"<ConfirmSubscriptionResponse/>"
        raise OSError("404")

    def message(self, text: str, version: str = "1", **more: Any) -> bytes:
        """A message as it is posted; what `more` names is changed before it is signed."""
        told = {
            "Type": "Notification",
            "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
            "TopicArn": TOPIC,
            "Subject": "Amazon SES Email Event Notification",
            "Message": text,
            "Timestamp": "2026-11-17T21:42:14.235Z",
            "SignatureVersion": version,
            "Signature": "",
            "SigningCertURL": CERT_URL,
            "UnsubscribeURL": f"{HOST}/?Action=Unsubscribe",
            **more,
        }
        made = SHA1() if version == "1" else SHA256()
        told["Signature"] = b64encode(self.key.sign(_signed(told), PKCS1v15(), made)).decode()
        return msgspec.json.encode(told)

    def confirmation(self, url: str = SUBSCRIBE_URL) -> bytes:
        more = {"Type": "SubscriptionConfirmation", "Token": "2336412f37", "SubscribeURL": url}
        return self.message("You have chosen to subscribe to the topic.", "2", **more)


def _signed(told: dict[str, Any]) -> bytes:
    """What Amazon documents as the text that is signed: names and values, by name, each with its
    line's end."""
    plain = told["Type"] == "Notification"
    more = {"Subject"} if plain else {"SubscribeURL", "Token"}
    names = sorted({"Message", "MessageId", "Timestamp", "TopicArn", "Type"} | more)
    return "".join(f"{name}\n{told[name]}\n" for name in names if name in told).encode()


def ses_event(kind: str, recipient: str, mark: str, **more: Any) -> str:
    """A notification of SES about a mail."""
    bounce = {
        "bounceType": "Permanent",
        "bounceSubType": "General",
        "bouncedRecipients": [
            {
                "emailAddress": recipient,
                "action": "failed",
                "status": "5.1.1",
                "diagnosticCode": "smtp; 550 5.1.1 user unknown",
            }
        ],
        "timestamp": "2026-11-17T21:41:57.000Z",
        "feedbackId": "00000138111222aa-33322211-cccc-cccc-cccc-ddddaaaa068a-000000",
        "reportingMTA": "dsn; mx.example.net",
        **more,
    }
    people = [{"emailAddress": recipient}]
    told = {
        "notificationType": kind,
        "bounce": bounce,
        "complaint": {
            "complainedRecipients": people,
            "complaintFeedbackType": "abuse",
            "feedbackId": "x",
        },
        "delivery": {"recipients": [recipient], "smtpResponse": "250 ok"},
        "mail": {
            "timestamp": "2026-11-17T21:41:50.000Z",
            "source": "shop@example.com",
            "messageId": "00000138111222aa-33322211-cccc-cccc-cccc-ddddaaaa0680-000000",
            "destination": [recipient],
            "headersTruncated": False,
            "headers": [{"name": "Message-ID", "value": f"<{mark}@example.com>"}],
            "commonHeaders": {"from": ["shop@example.com"], "messageId": f"<{mark}@example.com>"},
        },
    }
    return msgspec.json.encode(told).decode()


def mailgun(
    event: dict[str, Any],
    now_s: int,
    token: str = "a8ce0edb2dd8301dee6c2405",
    key: str = MAILGUN_KEY,
) -> bytes:
    """A webhook call of Mailgun."""
    signed = hmac.new(key.encode(), f"{now_s}{token}".encode(), hashlib.sha256).hexdigest()
    told = {"timestamp": str(now_s), "token": token, "signature": signed}
    return msgspec.json.encode({"signature": told, "event-data": event})


def mailgun_event(kind: str, recipient: str, mark: str, **more: Any) -> dict[str, Any]:
    return {
        "event": kind,
        "severity": "permanent",
        "reason": "bounce",
        "id": "G9Bn5sl1TC6nu79C8C0bwg",
        "timestamp": 1521233195.375624,
        "log-level": "error",
        "recipient": recipient,
        "recipient-domain": "example.com",
        "delivery-status": {
            "attempt-no": 1,
            "code": 550,
            "enhanced-code": "5.1.1",
            "message": "5.1.1 The email account that you tried to reach does not exist.",
            "description": "",
        },
        "message": {"headers": {"to": recipient, "message-id": f"{mark}@example.com"}},
        "user-variables": {},
        **more,
    }


def postmark(recipient: str, mark: str, **more: Any) -> bytes:
    """A bounce webhook of Postmark."""
    told = {
        "RecordType": "Bounce",
        "MessageStream": "outbound",
        "ID": 4323372036854775807,
        "Type": "HardBounce",
        "TypeCode": 1,
        "Name": "Hard bounce",
        "MessageID": "883953f4-6105-42a2-a16a-77a8eac79483",
        "Description": "The server was unable to deliver your message",
        "Details": "smtp;550 5.1.1 user unknown",
        "Email": recipient,
        "From": "shop@example.com",
        "BouncedAt": "2026-11-17T16:33:54.9070259Z",
        "Inactive": True,
        "Metadata": {"postroad": mark},
        **more,
    }
    return msgspec.json.encode(told)
