"""nginx with the configuration of deploy/nginx, on free ports, before a road that is served."""

import http.client
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.dashboard.site import Site
from tests.servers import free_port
from tests.servers.certificates import certify
from tests.servers.nginx import program

CONFIG = Path(__file__).parents[2] / "deploy" / "nginx" / "postroad.conf"
AROUND = """
daemon off; master_process off; pid {folder}/pid; error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  {config}
}}
"""
WAIT_S = 60.0
MEMBERS = """
[proxy]
addresses = ["127.0.0.1"]

[[members]]
claim = "user"
value = "ada"
role = "admin"
"""
CERTIFICATES = "/etc/letsencrypt/live/road.example.com"


class Proxied(Struct, frozen=True):
    """A road behind nginx. Its API is at 127.0.0.1, its hub at localhost."""

    site: Site
    hub_port: int
    port: int
    tls_port: int
    tls: ssl.SSLContext

    def line(self, source: str = "127.0.0.1") -> http.client.HTTPSConnection:
        """A client's connection to nginx, from an address of this machine."""
        return http.client.HTTPSConnection(
            "127.0.0.1", self.tls_port, timeout=WAIT_S, source_address=(source, 0), context=self.tls
        )

    def direct(self, source: str) -> http.client.HTTPConnection:
        """A connection past nginx."""
        port = int(self.site.url.rpartition(":")[2])
        return http.client.HTTPConnection(
            "127.0.0.1", port, timeout=WAIT_S, source_address=(source, 0)
        )


def configured(folder: Path, ports: tuple[int, int, int, int], cert: str, key: str) -> str:
    """The configuration as it stands, but for names, ports and certificates."""
    text = CONFIG.read_text()
    api, hub, port, tls_port = ports
    changes = {
        "listen 80;": f"listen 127.0.0.1:{port};",
        "listen 443 ssl;": f"listen 127.0.0.1:{tls_port} ssl;",
        "127.0.0.1:8600": f"127.0.0.1:{api}",
        "127.0.0.1:8601": f"127.0.0.1:{hub}",
        f"{CERTIFICATES}/fullchain.pem": cert,
        f"{CERTIFICATES}/privkey.pem": key,
        "road.example.com": "127.0.0.1",
        "hub.example.com": "localhost",
    }
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return AROUND.format(folder=folder, config=text)


@contextmanager
def proxied(folder: Path) -> Iterator[Proxied]:
    """A road, and nginx before it, until the block ends."""
    api, hub, port, tls_port = (free_port() for _ in range(4))
    site = Site(folder, api, "from postroad import Postroad\nroad = Postroad()\n")
    (folder / "login.toml").write_text(MEMBERS)
    settings = {"trusted_proxies": "127.0.0.1", "hub_listen": f"127.0.0.1:{hub}"}
    settings["login_file"] = f"{folder}/login.toml"
    site.words += tuple(word for pair in settings.items() for word in ("--set", "=".join(pair)))
    cert, key = certify(folder)
    text = configured(folder, (api, hub, port, tls_port), cert, key)
    (folder / "nginx.conf").write_text(text)
    tls = ssl.create_default_context(cafile=cert)
    command = [program(), "-p", str(folder), "-c", "nginx.conf", "-e", "error.log"]
    with site.up(), _running(command, folder):
        found = Proxied(site, hub, port, tls_port, tls)
        _wait_until_it_listens(found, folder)
        yield found


@contextmanager
def _running(command: list[str], folder: Path) -> Iterator[None]:
    server = subprocess.Popen(command, cwd=folder)
    try:
        yield
    finally:
        server.kill()
        server.wait()


def _wait_until_it_listens(found: Proxied, folder: Path) -> None:
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        try:
            if said(found.line(), "GET", "/healthz")[0] == 200:
                return
        except OSError:
            time.sleep(0.02)
    raise AssertionError("nginx did not start: " + (folder / "error.log").read_text()[-1_000:])


def said(
    line: http.client.HTTPConnection, method: str, path: str, data: str = "", **headers: str
) -> tuple[int, dict[str, str], Any]:
    """Status, headers and body of one answer."""
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    try:
        line.request(method, path, data or None, named)
        answer = line.getresponse()
        return answer.status, {n.lower(): t for n, t in answer.getheaders()}, answer.read()
    finally:
        line.close()
