"""An authority of one's own, and certificates that it signs."""

from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates for this machine."""

    def __init__(self, name: str = "tests") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        self.pem = self._signed(self._name, self._key, ca=True, days=2).decode()

    def certificate(self, name: str, days: int = 1) -> tuple[str, str]:
        """A certificate for 127.0.0.1 and localhost, and its key; PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        kept = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        return self._signed(_named(name), key, ca=False, days=days).decode(), kept.decode()

    def _signed(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, *, ca: bool, days: int
    ) -> bytes:
        now = datetime.now(UTC)
        names = [x509.DNSName("localhost"), x509.IPAddress(ip_address("127.0.0.1"))]
        usual = x509.KeyUsage(
            digital_signature=True,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            key_cert_sign=ca,
            crl_sign=ca,
            encipher_only=False,
            decipher_only=False,
        )
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=3))
            .not_valid_after(now + timedelta(days=days))
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(usual, critical=True)
        )
        return builder.sign(self._key, hashes.SHA256()).public_bytes(Encoding.PEM)


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
