"""Keys to sign mails with, and the records that others check them by."""

from base64 import b64encode

import dkim
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

RSA = generate_private_key(65_537, 2_048)
ED25519 = Ed25519PrivateKey.generate()


def pem(key: RSAPrivateKey | Ed25519PrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def record(key: RSAPrivateKey | Ed25519PrivateKey) -> bytes:
    public = key.public_key()
    if isinstance(key, Ed25519PrivateKey):
        raw = public.public_bytes(Encoding.Raw, PublicFormat.Raw)
        return b"v=DKIM1; k=ed25519; p=" + b64encode(raw)
    der = public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return b"v=DKIM1; k=rsa; p=" + b64encode(der)


RECORDS = {
    b"r._domainkey.example.com.": record(RSA),
    b"e._domainkey.example.com.": record(ED25519),
}


def verified(mail: bytes) -> list[bool]:
    """What dkimpy makes of each signature of a mail, the first one first."""
    reader = dkim.DKIM(mail)
    count = sum(1 for name, _ in reader.headers if name.lower() == b"dkim-signature")
    return [_holds(reader, at) for at in range(count)]


def _holds(reader: dkim.DKIM, at: int) -> bool:
    try:
        return bool(reader.verify(idx=at, dnsfunc=lambda name, timeout=5: RECORDS[name]))  # noqa: ARG005
    except dkim.ValidationError:  # of the body
        return False
