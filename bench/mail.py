"""mail: 5 KB over 8 connections to a raw sink. Prepared ones against a bare aiosmtplib loop; built and
signed ones against Django's, signed by dkimpy."""

from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from bench.shape import Rates, Run, Say

NAME = "mail"
SLICE_S = 4.0
SESSIONS = 8


def lineup(_folder: Path, say: Say) -> list[Run]:
    """Ours on a file, durable; others keep nothing. Django at three settings."""
    say("RSA of 2,048 bits, relaxed/relaxed")
    key = generate_private_key(65_537, 2_048)
    clear = NoEncryption()
    pkcs8 = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, clear).decode()
    pkcs1 = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, clear).decode()
    own = {"sessions": SESSIONS}
    django = [
        Run(
            "peers",
            f"{threads} threads",
            "bench.mail_peers:django",
            {"sessions": threads, "key": pkcs1},
        )
        for threads in (1, 4, SESSIONS)
    ]
    return [
        Run("ours", "prepared", "bench.mail_roads:plain", {**own}),
        Run("limit", f"{SESSIONS} connections", "bench.mail_peers:bare", {**own}),
        django[0],
        Run("ours", "built and signed", "bench.mail_roads:signed", {**own, "key": pkcs8}),
        *django[1:],
    ]


def reached(rates: Rates) -> dict[str, float]:
    """What each bar got."""
    return {
        "share-of-bare-aiosmtplib": rates.rate("mail") / rates.rate("bare-aiosmtplib", "limit"),
        "times-django-dkimpy": rates.rate("mail-signed") / rates.rate("django-dkimpy", "peers"),
    }
