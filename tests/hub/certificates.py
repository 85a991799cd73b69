"""Self-made certificates: an authority, and a server's certificate that it signed."""

import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from msgspec import Struct

from postroad.ports.tls import certificate, pinned_tls, server_tls

PEM = serialization.Encoding.PEM


class Certificates(Struct):
    ca: Path
    cert: Path
    key: Path

    def server(self) -> ssl.SSLContext:
        context = server_tls(str(self.cert), str(self.key))
        assert context is not None
        return context

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.ca))

    def own(self) -> ssl.SSLContext:
        return pinned_tls(certificate(str(self.cert)))


def made(folder: Path, host: str) -> Certificates:
    folder.mkdir(exist_ok=True)
    found = Certificates(*(folder / name for name in ("ca.pem", "cert.pem", "key.pem")))
    root_key, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root_name = _name(f"authority of {host}")
    root = _builder(root_name, root_name, root_key, is_ca=True).sign(root_key, hashes.SHA256())
    leaf = _builder(_name(host), root_name, key, is_ca=False)
    names = x509.SubjectAlternativeName([x509.DNSName(host)])
    signed = leaf.add_extension(names, critical=False).sign(root_key, hashes.SHA256())
    found.ca.write_bytes(root.public_bytes(PEM))
    found.cert.write_bytes(signed.public_bytes(PEM) + root.public_bytes(PEM))
    private = serialization.PrivateFormat.PKCS8
    found.key.write_bytes(key.private_bytes(PEM, private, serialization.NoEncryption()))
    return found


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, *, is_ca: bool
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
    )
