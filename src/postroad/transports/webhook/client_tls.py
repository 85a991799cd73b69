"""TLS with what an endpoint's owner set: a client certificate with its key, and authorities of its
own."""

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime
from tempfile import NamedTemporaryFile
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import dsa, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from postroad.model.access import ClientTls
from postroad.model.errors import BadInput
from postroad.ports.entropy import secret_bytes
from postroad.transports.webhook.resolving import check_descriptors

KEY_BITS_MAX: Final = 8_192
"""Maximum size of an RSA key: each handshake of one of 16,384 bits takes 0.3 s of the loop."""
CERTIFICATES_MAX: Final = 16


def check_tls(tls: ClientTls, now_ms: int) -> None:
    """Raise BadInput if a certificate has no key, or one that does not fit, or has expired."""
    if tls.ca:
        for one in _certificates("ca", tls.ca):
            _check_time("ca", one, now_ms)
    if bool(tls.certificate) != bool(tls.key):
        lacks = "key" if tls.certificate else "certificate"
        raise BadInput(f"tls: {lacks} is missing: a certificate and its key go together")
    if not (tls.certificate or tls.ca):
        raise BadInput("tls is empty: give certificate and key, or ca, or None")
    if tls.certificate:
        certificate, *_ = _certificates("certificate", tls.certificate)
        _check_time("certificate", certificate, now_ms)
        if _public(_private(tls.key)) != _public(certificate):
            raise BadInput("tls: the key does not fit the certificate, which must be the first one")
    _ = tls_context(tls)  # whether OpenSSL takes it


def ends_at_ms(tls: ClientTls) -> int | None:
    """Return when the client certificate expires; None when there is none."""
    if not tls.certificate:
        return None
    certificate, *_ = _certificates("certificate", tls.certificate)
    return int(certificate.not_valid_after_utc.timestamp() * 1000)


def tls_context(tls: ClientTls) -> ssl.SSLContext:
    """Make the context of an endpoint with a certificate or authorities of its own. It takes 20 ms:
    call it in a thread. Raises BadInput when OpenSSL does not take them."""
    try:
        context = ssl.create_default_context(cadata=tls.ca or None)
        if tls.certificate:
            _load(context, tls)
    except ssl.SSLError as error:
        raise BadInput(f"tls cannot be used: {error.reason or error}") from None
    if not context.cert_store_stats()["x509"]:
        check_descriptors()  # without one none is read
    context.set_alpn_protocols(["http/1.1"])
    return context


def _load(context: ssl.SSLContext, tls: ClientTls) -> None:
    """Give the certificate to OpenSSL, which reads files alone: the key in it is encrypted with a
    password that nobody else knows."""
    password = secret_bytes(32).hex().encode()
    hidden = BestAvailableEncryption(password)
    key = _private(tls.key).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden)
    with NamedTemporaryFile(prefix="postroad-", suffix=".pem") as file:
        file.write(tls.certificate.encode() + b"\n" + key)
        file.flush()
        context.load_cert_chain(file.name, password=password)


def _certificates(name: str, pem: str) -> Sequence[x509.Certificate]:
    try:
        found = x509.load_pem_x509_certificates(pem.encode())
    except ValueError:
        found = []
    if not found:
        raise BadInput(f"tls: {name} is no certificate: give PEM, -----BEGIN CERTIFICATE-----…")
    if len(found) > CERTIFICATES_MAX:
        raise BadInput(f"tls: {name} has {len(found)} certificates: at most {CERTIFICATES_MAX}")
    return found


def _check_time(name: str, one: x509.Certificate, now_ms: int) -> None:
    now = datetime.fromtimestamp(now_ms / 1000, UTC)
    if one.not_valid_after_utc <= now:
        raise BadInput(f"tls: {name} expired at {one.not_valid_after_utc:%Y-%m-%d %H:%M} UTC")


def _private(pem: str) -> PrivateKeyTypes:
    try:
        # OpenSSL's own check of an RSA key's primes takes minutes for a large one.
        key = load_pem_private_key(pem.encode(), None, unsafe_skip_rsa_key_validation=True)
    except TypeError:
        raise BadInput("tls: the key has a password: give it without one") from None
    except (ValueError, UnsupportedAlgorithm):
        raise BadInput("tls: the key is none: give PEM, -----BEGIN PRIVATE KEY-----…") from None
    large = isinstance(key, rsa.RSAPrivateKey | dsa.DSAPrivateKey) and key.key_size > KEY_BITS_MAX
    if large:
        raise BadInput(f"tls: the key has more than {KEY_BITS_MAX} bits")
    return key


def _public(holder: PrivateKeyTypes | x509.Certificate) -> bytes:
    return holder.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
