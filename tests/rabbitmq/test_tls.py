"""amqps://: the broker's certificate is checked."""

import ipaddress
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from postroad.model.errors import BrokerLost
from tests.rabbitmq.wires import declare, drained, linked, opened, put
from tests.servers import free_port
from tests.servers.rabbitmq import ELSEWHERE, PrivateRabbit

Within = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture
def certificate() -> Iterator[Path]:
    """A folder with key.pem and cert.pem, which the broker's account can read."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    here = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=9))
        .add_extension(here, critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        folder.chmod(0o755)
        (folder / "cert.pem").write_bytes(made.public_bytes(pem))
        clear = serialization.NoEncryption()
        (folder / "key.pem").write_bytes(key.private_bytes(pem, form, clear))
        yield folder


@pytest.mark.wide
def test_a_broker_is_reached_over_tls_when_its_certificate_is_trusted(
    certificate: Path, within: Within, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ELSEWHERE, raising=False)
    port = free_port()
    config = {
        "listeners.ssl.1": f"127.0.0.1:{port}",
        "ssl_options.cacertfile": f"{certificate}/cert.pem",
        "ssl_options.certfile": f"{certificate}/cert.pem",
        "ssl_options.keyfile": f"{certificate}/key.pem",
        "ssl_options.verify": "verify_none",
    }
    with PrivateRabbit(**config) as rabbit:
        dsn = rabbit.dsn().replace("amqp://", "amqps://").replace(f":{rabbit.port}/", f":{port}/")

        async def story() -> None:
            with pytest.raises(BrokerLost, match="certificate"):
                await opened(dsn)
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))
            async with linked(dsn) as link:
                channel = await link.channel(confirms=True)
                await declare(channel, "q")
                await put(channel, "q", b"x" * 300_000)
                assert [len(each.body) for each in await drained(channel, "q")] == [300_000]

        within(story())
