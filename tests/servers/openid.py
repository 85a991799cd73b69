"""A private OpenID provider: own folder, own keys, gone when the test is."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Self
from urllib.request import urlopen

from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from tests.servers import free_port

ROOT = Path(__file__).parents[2]


class PrivateProvider:
    """`with PrivateProvider(folder, site.url) as provider: provider.issuer`."""

    def __init__(self, folder: Path, client_url: str) -> None:
        self._folder = folder
        self._client_url = client_url
        self._port = free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.issuer = f"{self.url}/o"
        self._server: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, with a new key."""
        key = generate_private_key(65_537, 2_048)
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        given = {"port": self._port, "key": pem, "redirect": f"{self._client_url}/login/return"}
        given["out"] = f"{self._client_url}/login?out=1"
        (self._folder / "provider.json").write_text(json.dumps(given))
        command = [sys.executable, "-m", "tests.servers.openid_site", str(self._folder)]
        with (self._folder / "provider.log").open("ab") as log:
            self._server = subprocess.Popen(command, cwd=ROOT, stderr=log, stdout=log)
        for _ in range(6_000):
            try:
                with urlopen(f"{self.issuer}/.well-known/openid-configuration", timeout=5):
                    return
            except OSError:
                time.sleep(0.01)
            if self._server.poll() is not None:
                break
        raise RuntimeError((self._folder / "provider.log").read_text()[-2_000:])

    def stop(self) -> None:
        if self._server is not None:
            self._server.kill()
            self._server.wait()
