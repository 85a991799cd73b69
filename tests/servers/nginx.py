"""A private nginx: own folder, free ports, one process, gone when the test is."""

import shutil
import subprocess
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self
from urllib.request import urlopen

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.servers import ServerMissing, apt_install, free_port

CONFIG = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  client_max_body_size 1k;
  server {{
    listen 127.0.0.1:{port};
    listen 127.0.0.1:{tls_port} ssl;
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    location = /ready {{ return 200 "ready"; }}
    location = /ok {{ return 200 "ok"; }}
    location = /empty {{ return 204; }}
    location = /moved {{ return 301 /ok; }}
    location = /gone {{ return 410; }}
    location = /teapot {{ return 418 "teapot"; }}
    location = /limited {{ add_header Retry-After 11 always; return 429; }}
    location = /broken {{ return 500; }}
    location = /gateway {{ proxy_pass http://127.0.0.1:{dead_port}; }}
    location = /away {{ return 503; }}
    location = /late {{ return 504; }}
    location = /drop {{ return 444; }}
  }}
}}
"""


class PrivateNginx:
    """`with PrivateNginx() as nginx: nginx.url("/ok")`."""

    def __init__(self) -> None:
        self.port, self.tls_port = free_port(), free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="road-nginx-"))
        self._server: subprocess.Popen[bytes] | None = None

    def url(self, path: str, *, tls: bool = False) -> str:
        scheme, port = ("https", self.tls_port) if tls else ("http", self.port)
        return f"{scheme}://127.0.0.1:{port}{path}"

    @property
    def version(self) -> str:
        told = subprocess.run([program(), "-v"], capture_output=True, text=True, check=True)
        return told.stderr.rpartition("/")[2].strip()

    def __enter__(self) -> Self:
        self._certify()
        config = CONFIG.format(
            folder=self.folder, port=self.port, tls_port=self.tls_port, dead_port=free_port()
        )
        (self.folder / "nginx.conf").write_text(config)
        command = [program(), "-p", str(self.folder), "-c", "nginx.conf", "-e", "error.log"]
        self._server = subprocess.Popen(command, cwd=self.folder)
        self._wait_ready()
        return self

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.kill()
            self._server.wait()
        shutil.rmtree(self.folder)

    def _wait_ready(self) -> None:
        for _ in range(3_000):
            try:
                with urlopen(self.url("/ready"), timeout=5):
                    return
            except OSError:
                time.sleep(0.01)
        raise RuntimeError(
            "nginx did not start: " + (self.folder / "error.log").read_text()[-1000:]
        )

    def _certify(self) -> None:
        """A certificate for hook.example that nobody but itself has signed."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "nobody.example")])
        now = datetime.now(UTC)
        certificate = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(1)
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=9))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("hook.example")]), False)
            .sign(key, hashes.SHA256())
        )
        pem = serialization.Encoding.PEM
        (self.folder / "cert.pem").write_bytes(certificate.public_bytes(pem))
        clear = serialization.NoEncryption()
        form = serialization.PrivateFormat.PKCS8
        (self.folder / "key.pem").write_bytes(key.private_bytes(pem, form, clear))


def program() -> str:
    """Where nginx is; installed when it is missing."""
    for attempt in ("as found", "after apt"):
        found = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
        if found:
            return found
        if attempt == "as found":
            apt_install("nginx-light")
    raise ServerMissing("no nginx: run `apt-get install nginx-light` as root")
