"""Standard Webhooks signatures over the exact bytes: v1 (HMAC-SHA256) and v1a (ed25519)."""

import hmac
from base64 import b64decode, b64encode
from binascii import b2a_base64
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from postroad.model.errors import BadInput
from postroad.model.texts import checked

SYMMETRIC: Final = "whsec_"
PRIVATE: Final = "whsk_"
PUBLIC: Final = "whpk_"
SECRET_BYTES: Final = range(24, 65)
SEED_BYTES: Final = (32, 64)
"""An ed25519 seed, or a seed with its public key behind it."""
LIVE_MAX: Final = 10
PADS: Final = (0x36, 0x5C)
TOLERANCE_S: Final = 300
TIMESTAMP_DIGITS_MAX: Final = 12

Sign = Callable[[bytes], str]


class Signer:
    """Signs with all live keys of a queue, so that receivers can change from one to the next."""

    def __init__(self, secrets: Sequence[str]) -> None:
        if isinstance(secrets, str):
            raise BadInput("secrets: give a list of them, also for one")
        if len(secrets) > LIVE_MAX:
            raise BadInput(f"{len(secrets)} secrets: at most {LIVE_MAX} can be live")
        self._signs = [_sign_with(checked("secret", secret)) for secret in secrets]

    def __bool__(self) -> bool:
        return bool(self._signs)

    def sign(self, number: str, timestamp: int, body: bytes) -> str:
        """Return the signature header."""
        signed = b"%s.%d.%s" % (number.encode(), timestamp, body)
        return " ".join([sign(signed) for sign in self._signs])


def public_key(secret: str) -> str:
    """Return the key with which receivers verify v1a signatures."""
    raw = _private(secret).public_key().public_bytes_raw()
    return PUBLIC + b64encode(raw).decode()


def check_public(key: str) -> None:
    """Raise BadInput when it is not a public key."""
    if len(_decoded(key.removeprefix(PUBLIC))) != 32:
        raise BadInput(f"a public key has 32 bytes in base64 behind {PUBLIC}")


def _sign_with(secret: str) -> Sign:
    if secret.startswith(PRIVATE):
        private = _private(secret)

        def sign(signed: bytes) -> str:
            return "v1a," + b64encode(private.sign(signed)).decode()

        return sign
    key = _decoded(secret.removeprefix(SYMMETRIC))
    if len(key) not in SECRET_BYTES:
        raise BadInput(
            f"a signing secret has {len(key)} bytes: give 24 to 64 in base64 behind {SYMMETRIC}, "
            f"or an ed25519 key behind {PRIVATE}"
        )
    inner, outer = (sha256(bytes(byte ^ pad for byte in key.ljust(64, b"\0"))) for pad in PADS)

    def sign_v1(signed: bytes) -> str:
        # HMAC from two prepared hashes: 0.9 µs instead of 2.4 for hmac.digest.
        first, second = inner.copy(), outer.copy()
        first.update(signed)
        second.update(first.digest())
        return "v1," + b2a_base64(second.digest(), newline=False).decode()

    return sign_v1


def _private(secret: str) -> Ed25519PrivateKey:
    key = _decoded(secret.removeprefix(PRIVATE))
    if len(key) not in SEED_BYTES:
        raise BadInput(f"an ed25519 key has {len(key)} bytes: give 32 in base64 behind {PRIVATE}")
    return Ed25519PrivateKey.from_private_bytes(key[:32])


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:  # also of letters that base64 does not have
        raise BadInput(
            "a signing secret is not base64: give whsec_ and 24 to 64 bytes in base64"
        ) from None


def fault_in(
    secrets: Sequence[str], number: str, timestamp: str, signature: str, body: bytes, now_s: float
) -> str:
    """Say what is wrong with a signed request, for receivers; "" when one of the secrets, or public
    keys (`whpk_…`), matches."""
    if not (number and timestamp and signature):
        return "not signed"
    told = timestamp.isdecimal() and len(timestamp) <= TIMESTAMP_DIGITS_MAX
    if not told or abs(int(timestamp) - now_s) > TOLERANCE_S:
        return "signed too long ago, or not yet"
    signed = b"%s.%s.%s" % (number.encode(), timestamp.encode(), body)
    given = signature.split(" ", LIVE_MAX)[:LIVE_MAX]
    for secret in secrets:
        if secret.startswith(PUBLIC):
            fits = any(_fits(secret, item, signed) for item in given)
        else:
            expected = _sign_with(secret)(signed)
            fits = any(hmac.compare_digest(item.encode(), expected.encode()) for item in given)
        if fits:
            return ""
    return "the signature fits no secret"


def _fits(public: str, item: str, signed: bytes) -> bool:
    version, _, encoded = item.partition(",")
    key = Ed25519PublicKey.from_public_bytes(_decoded(public.removeprefix(PUBLIC)))
    try:
        key.verify(b64decode(encoded, validate=True), signed)
    except (InvalidSignature, ValueError):
        return False
    return version == "v1a"
