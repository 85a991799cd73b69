"""ID tokens: their signature and what they say, checked as OpenID Connect Core 3.1.3.7 asks for."""

import re
from base64 import urlsafe_b64decode
from hmac import compare_digest
from typing import Any, Final

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDSA,
    SECP256R1,
    EllipticCurvePublicKey,
    EllipticCurvePublicNumbers,
)
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey, RSAPublicNumbers
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from msgspec import Struct

from postroad.model.errors import Unauthorized

TOKEN_CHARACTERS_MAX: Final = 32 << 10
KINDS: Final = {"RS256": "RSA", "ES256": "EC"}
"""The algorithms that are taken, and the kind of key of each. `none` is none of them, and neither
is HS256: its key would be our own secret, or the provider's public key taken for one."""
RSA_BITS: Final = (2_048, 8_192)
SKEW_S: Final = 60
"""How far the provider's clock may be from ours."""
TEXT_MAX: Final = 2_000
BASE64: Final = re.compile(r"[A-Za-z0-9_-]*")
Key = RSAPublicKey | EllipticCurvePublicKey


class BadIdToken(Unauthorized):
    """An ID token cannot be believed. The text says why."""


class UnknownKey(BadIdToken):
    """The token is signed with a key that is not known: perhaps the provider has a new one."""


class Jwk(Struct, frozen=True):
    """A key as providers publish it (RFC 7517); what else it has is not read."""

    kty: str = ""
    kid: str = ""
    use: str = "sig"
    alg: str = ""
    crv: str = ""
    n: str = ""
    e: str = ""
    x: str = ""
    y: str = ""


class JwsHeader(Struct, frozen=True):
    """What the head of a token says about its signature."""

    alg: str
    kid: str = ""
    crit: Any = None


class Expected(Struct, frozen=True):
    """What a token must say to be the answer to a login."""

    issuer: str
    client_id: str
    nonce: str


HEADER: Final = msgspec.json.Decoder(JwsHeader)
CLAIMS: Final = msgspec.json.Decoder(dict[str, Any])


def read_id_token(
    text: str, keys: tuple[Jwk, ...], expected: Expected, now_s: float
) -> dict[str, Any]:
    """The claims of a token; BadIdToken if anything is wrong with it."""
    parts = text.split(".") if len(text) <= TOKEN_CHARACTERS_MAX else []
    if len(parts) != 3:
        raise BadIdToken("the provider's answer has no ID token")
    try:
        header = HEADER.decode(_bytes(parts[0]))
        claims = CLAIMS.decode(_bytes(parts[1]))
        signature = _bytes(parts[2])
    except (msgspec.DecodeError, ValueError, RecursionError):
        raise BadIdToken("the ID token cannot be read") from None
    _check_signature(header, f"{parts[0]}.{parts[1]}".encode(), signature, keys)
    _check_claims(claims, expected, now_s)
    return claims


def _check_signature(
    header: JwsHeader, signed: bytes, signature: bytes, keys: tuple[Jwk, ...]
) -> None:
    if header.alg not in KINDS or header.crit is not None:
        raise BadIdToken(f"the ID token is signed by {header.alg[:20]!r}: RS256 and ES256 are read")
    fits = [key for key in keys if _fits(key, header)]
    if not fits:
        raise UnknownKey("the ID token is signed with a key that the provider does not publish")
    if not any(_is_signed(key, signed, signature) for key in fits):
        # A token that does not name its key may be signed with a new one.
        kind = BadIdToken if header.kid else UnknownKey
        raise kind("the signature of the ID token is wrong")


def _fits(key: Jwk, header: JwsHeader) -> bool:
    same = not header.kid or key.kid == header.kid
    return (
        same and key.kty == KINDS[header.alg] and key.use == "sig" and key.alg in ("", header.alg)
    )


def _is_signed(jwk: Jwk, signed: bytes, signature: bytes) -> bool:
    try:
        key = _key(jwk)
        if isinstance(key, RSAPublicKey):
            key.verify(signature, signed, PKCS1v15(), SHA256())
        else:
            if len(signature) != 64:
                return False
            halves = (int.from_bytes(part) for part in (signature[:32], signature[32:]))
            key.verify(encode_dss_signature(*halves), signed, ECDSA(SHA256()))
    except (InvalidSignature, ValueError):
        return False
    return True


def _key(jwk: Jwk) -> Key:
    """The public key; ValueError if it is none, too weak, or so large that it takes long."""
    if jwk.kty == "EC":
        if jwk.crv != "P-256":
            raise ValueError(jwk.crv)
        point = EllipticCurvePublicNumbers(_number(jwk.x), _number(jwk.y), SECP256R1())
        return point.public_key()
    modulus, exponent = _number(jwk.n), _number(jwk.e)
    least, most = RSA_BITS
    if not least <= modulus.bit_length() <= most or exponent.bit_length() > 32:
        raise ValueError("the size of the key")
    return RSAPublicNumbers(exponent, modulus).public_key()


def _check_claims(claims: dict[str, Any], expected: Expected, now_s: float) -> None:
    audience = claims.get("aud")
    listed = audience if isinstance(audience, list) else [audience]
    if claims.get("iss") != expected.issuer:
        raise BadIdToken("the ID token is of another issuer")
    if expected.client_id not in listed:
        raise BadIdToken("the ID token is for another application")
    if claims.get("azp", expected.client_id) != expected.client_id or (
        len(listed) > 1 and "azp" not in claims
    ):
        raise BadIdToken("the ID token was made for another application")
    ends_s, made_s = _seconds(claims, "exp"), _seconds(claims, "iat")
    if ends_s + SKEW_S <= now_s:
        raise BadIdToken("the ID token has expired: is a clock wrong?")
    if max(made_s, _seconds(claims, "nbf", made_s)) > now_s + SKEW_S:
        raise BadIdToken("the ID token is from the future: is a clock wrong?")
    nonce, subject = claims.get("nonce"), claims.get("sub")
    if not isinstance(nonce, str) or not compare_digest(nonce.encode(), expected.nonce.encode()):
        raise BadIdToken("the ID token belongs to another login")
    if not isinstance(subject, str) or not 0 < len(subject) <= TEXT_MAX:
        raise BadIdToken("the ID token names nobody")


def _seconds(claims: dict[str, Any], name: str, default: float | None = None) -> float:
    found = claims.get(name, default)
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise BadIdToken(f"the ID token has no time {name}")
    return found


def _number(text: str) -> int:
    return int.from_bytes(_bytes(text))


def _bytes(text: str) -> bytes:
    """What unpadded base64url says; ValueError if it is none. Python's own reader skips what it
    does not know."""
    if not BASE64.fullmatch(text):
        raise ValueError("this is not base64url")
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
