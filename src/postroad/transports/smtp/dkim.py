"""DKIM signatures (RFC 6376), relaxed for header and body: RSA-SHA256 and Ed25519-SHA256."""

import re
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from msgspec import Struct

from postroad.model.errors import BadInput

NAME: Final = re.compile(r"[a-z0-9_]([a-z0-9_.-]{0,200}[a-z0-9_])?", re.IGNORECASE)
RSA_BITS_MIN: Final = 1_024
KEYS_MAX: Final = 4
PEM_END: Final = "-----END PRIVATE KEY-----"
TABS: Final = bytes.maketrans(b"\t", b" ")
SIGNED: Final = frozenset(
    b"from to cc subject date message-id reply-to in-reply-to references sender mime-version "
    b"content-type content-transfer-encoding list-id list-unsubscribe list-unsubscribe-post "
    b"feedback-id precedence auto-submitted".split()
)
FOLD_AT: Final = 72
FOLDED: Final = ";\r\n "

Key = RSAPrivateKey | Ed25519PrivateKey


class DkimKey(Struct, frozen=True):
    """A key under which mails are signed: the domain's record is `SELECTOR._domainkey.DOMAIN`."""

    domain: str
    selector: str
    key: Key

    @property
    def algorithm(self) -> str:
        """As the signature names it."""
        return "rsa-sha256" if isinstance(self.key, RSAPrivateKey) else "ed25519-sha256"

    def sign(self, data: bytes) -> bytes:
        """Sign what was canonicalised. Ed25519 signs its digest (RFC 8463)."""
        if isinstance(self.key, RSAPrivateKey):
            return self.key.sign(data, PKCS1v15(), SHA256())
        return self.key.sign(sha256(data).digest())


def signature(keys: Sequence[DkimKey], header: bytes, body: bytes, now_s: int) -> bytes:
    """Return the DKIM-Signature headers of a mail, one for each key."""
    if not keys:
        return b""
    names, signed = _signed_headers(header)
    digest = b64encode(sha256(relaxed_body(body)).digest()).decode()
    made = [_one(key, names, signed, digest, now_s) for key in keys]
    return b"".join(made)


def _one(key: DkimKey, names: str, signed: bytes, digest: str, now_s: int) -> bytes:
    tags = (
        f"v=1; a={key.algorithm}; c=relaxed/relaxed; d={key.domain}; s={key.selector}; "
        f"t={now_s}; h={names}; bh={digest}; b="
    )
    value = b64encode(key.sign(signed + b"dkim-signature:" + tags.encode())).decode()
    rows = "\r\n ".join(value[at : at + FOLD_AT] for at in range(0, len(value), FOLD_AT))
    # A fold counts as one blank, so that what was signed is what is written.
    return f"DKIM-Signature: {tags.replace('; ', FOLDED)}{rows}\r\n".encode()


def _signed_headers(header: bytes) -> tuple[str, bytes]:
    """Return the names for `h=` and the canonical headers. From is named once more than it is
    there, so that nobody can add another."""
    names: list[bytes] = []
    lines: list[bytes] = []
    for field in reversed(_unfolded(header)):  # of several the last is signed first
        name, _, value = field.partition(b":")
        name = name.rstrip(b" ").lower()
        if name in SIGNED:
            names.append(name)
            lines.append(b"%s:%s\r\n" % (name, value.strip(b" ")))
    return b":".join((*names, b"from")).decode(), b"".join(lines)


def _unfolded(header: bytes) -> list[bytes]:
    text = header.translate(TABS).replace(b"\r\n ", b" ")
    return [line for line in _single_blanks(text).split(b"\r\n") if line]


def relaxed_body(body: bytes) -> bytes:
    """Canonicalise a body: single blanks, none at the end of lines, no empty lines at its end."""
    text = _single_blanks(body.translate(TABS)).replace(b" \r\n", b"\r\n")
    text = text.removesuffix(b" ").rstrip(b"\r\n")
    return text + b"\r\n" if text else b""


def _single_blanks(text: bytes) -> bytes:
    while b"  " in text:  # each pass halves the runs
        text = text.replace(b"  ", b" ")
    return text


def read_keys(domain: str, selectors: str, pem: str) -> tuple[DkimKey, ...]:
    """Read the private keys of a domain, one for each selector; BadInput says what is wrong."""
    names = [name.strip() for name in selectors.split(",", KEYS_MAX) if name.strip()]
    if not all(map(NAME.fullmatch, (domain, *names))):
        raise BadInput("dkim_domain or dkim_selector is no name: write example.com and key1")
    parts = [part + PEM_END for part in pem.split(PEM_END) if part.strip()]
    if not names or len(names) != len(parts) or len(names) > KEYS_MAX:
        raise BadInput(
            f"dkim_selector names {len(names)} keys and dkim_key has {len(parts)}: give as many "
            f"PEM keys (PKCS #8) as selectors, at most {KEYS_MAX}"
        )
    return tuple(DkimKey(domain, name, _key(part)) for name, part in zip(names, parts, strict=True))


def _key(pem: str) -> Key:
    try:
        key = load_pem_private_key(pem.strip().encode(), None)
    except (ValueError, TypeError):  # the text may show a part of it
        raise BadInput("dkim_key is no private key: give PEM, as `openssl genpkey` does") from None
    if isinstance(key, Ed25519PrivateKey):
        return key
    if not isinstance(key, RSAPrivateKey) or key.key_size < RSA_BITS_MIN:
        raise BadInput(f"dkim_key: give an RSA key of {RSA_BITS_MIN} bits or more, or Ed25519")
    return key
