"""A certificate authority of our own, and certificates for the names of mail servers."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from postroad.transports.smtp import tls

NOW = datetime.now(UTC)


class Authority:
    """Signs certificates, and is trusted while a test says so."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
        own = self._builder(self._name, self._key.public_key())
        ca = x509.BasicConstraints(ca=True, path_length=None)
        signed = own.add_extension(ca, critical=True).sign(self._key, hashes.SHA256())
        self.file = folder / "authority.pem"
        self.file.write_bytes(signed.public_bytes(Encoding.PEM))

    def context(self, name: str) -> ssl.SSLContext:
        """What a server of that name is secured with."""
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        names = x509.SubjectAlternativeName([x509.DNSName(name)])
        made = self._builder(subject, key.public_key()).add_extension(names, critical=False)
        file = self._folder / f"{name}.pem"
        pem = made.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)
        own = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        file.write_bytes(pem + own)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context

    @contextmanager
    def trusted(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
        """Trust what it signs, as a system does."""
        monkeypatch.setenv("SSL_CERT_FILE", str(self.file))
        tls._trusted.cache_clear()
        try:
            yield
        finally:
            tls._trusted.cache_clear()

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW - timedelta(days=1))
            .not_valid_after(NOW + timedelta(days=1))
        )
