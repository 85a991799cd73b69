"""Checks on this machine: the port, certificates, the login file, SQLite, the disk."""

import errno
import http.client
import shutil
import socket
import ssl
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Final

import apsw

from postroad.api.finding import Finding
from postroad.api.login_file import read_login_file
from postroad.api.port_owner import port_owner
from postroad.config import Settings, address
from postroad.model.errors import BadSetting
from postroad.model.wording import moment
from postroad.ports.tls import certificate, server_tls

SQLITE_FLOOR: Final = (3, 51, 3)
DISK_FLOOR_BYTES: Final = 1 << 30
ENDS_SOON_MS: Final = 30 * 86_400_000
ANSWER_S: Final = 2.0
OTHERS: Final = 0o077


def check_listen(settings: Settings) -> Finding:
    """Check who can reach the API."""
    host, _ = address(settings.listen)
    if host in ("127.0.0.1", "::1", "localhost"):
        return Finding("listen", "ok", f"{settings.listen}, this machine only")
    mend = "put TLS before it, and give each program a token of its own"
    return Finding("listen", "warn", f"{settings.listen} is open to other machines", mend)


def check_port(settings: Settings) -> Finding:
    """Check whether the API's port is free, or whose it is."""
    host, port = address(settings.listen)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with closing(socket.socket(family, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except (OSError, UnicodeError) as error:
            if getattr(error, "errno", None) == errno.EADDRINUSE:
                return _taken(host, port, tls=bool(settings.tls_cert_file))
            mend = "name another with --listen HOST:PORT"
            return Finding("port", "warn", f"{settings.listen}: {error}", mend)
    return Finding("port", "ok", f"{port} is free")


def _taken(host: str, port: int, *, tls: bool) -> Finding:
    owner = port_owner(port) or "a process that this user may not see"
    if _is_postroad(host, port, tls=tls):
        return Finding("port", "ok", f"{port} is in use by {owner}, a Postroad server")
    mend = f"stop {owner}, or name another port with --listen HOST:PORT"
    return Finding("port", "warn", f"{port} is in use by {owner}, which is no Postroad", mend)


def _is_postroad(host: str, port: int, *, tls: bool) -> bool:
    there = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - not bound to
    trusting = ssl._create_unverified_context()  # noqa: S323, SLF001 - nothing is sent to it
    link = (
        http.client.HTTPSConnection(there, port, timeout=ANSWER_S, context=trusting)
        if tls
        else http.client.HTTPConnection(there, port, timeout=ANSWER_S)
    )
    with closing(link):
        try:
            link.request("GET", "/v1/stats")  # without a token it is refused in words of ours
            return b"urn:postroad:" in link.getresponse().read(1_000)
        except (OSError, http.client.HTTPException):
            return False


def check_certificate(settings: Settings, now_ms: int) -> list[Finding]:
    """Check that the certificate and its key can be used, and for how long."""
    if not settings.tls_cert_file and not settings.tls_key_file:
        return []
    from cryptography import x509  # takes a moment to load

    try:
        _ = server_tls(settings.tls_cert_file, settings.tls_key_file)  # whether they fit
        found = x509.load_pem_x509_certificate(certificate(settings.tls_cert_file).encode())
    except (BadSetting, ValueError) as error:
        return [Finding("certificate", "fail", str(error), "give a certificate and its key in PEM")]
    ends_ms = int(found.not_valid_after_utc.astimezone(UTC).timestamp() * 1000)
    if ends_ms > now_ms + ENDS_SOON_MS:
        return [Finding("certificate", "ok", f"ends at {moment(ends_ms)}")]
    mend = f"renew {settings.tls_cert_file}, and restart the servers"
    if ends_ms <= now_ms:
        return [Finding("certificate", "fail", f"ended at {moment(ends_ms)}", mend)]
    return [Finding("certificate", "warn", f"ends soon, at {moment(ends_ms)}", mend)]


def check_login_file(settings: Settings) -> list[Finding]:
    """Check that the file with the provider's secret can be used, and read by its owner alone."""
    if not settings.login_file:
        return []
    try:
        found = read_login_file(settings.login_file)
    except BadSetting as error:
        return [Finding("login file", "fail", str(error), "see the guide of the pages")]
    secret = found.openid is not None and bool(found.openid.client_secret)
    if secret and Path(settings.login_file).stat().st_mode & OTHERS:
        mend = f"chmod 600 {settings.login_file}"
        return [Finding("login file", "warn", "others may read its client_secret", mend)]
    return [Finding("login file", "ok", f"{len(found.members)} rules")]


def check_sqlite() -> Finding:
    """Check that SQLite is new enough."""
    version = apsw.sqlite_lib_version()
    good = tuple(int(part) for part in version.split(".")) >= SQLITE_FLOOR
    floor = ".".join(map(str, SQLITE_FLOOR))
    mend = "" if good else f"install apsw {floor} or newer: older ones can lose a WAL"
    return Finding("SQLite", "ok" if good else "fail", version, mend)


def check_disk(path: Path) -> Finding:
    """Check for free space."""
    folder = path.parent if path.parent.exists() else Path()
    free = shutil.disk_usage(folder).free
    text = f"{free / (1 << 30):.1f} GiB free"
    if free < DISK_FLOOR_BYTES:
        return Finding("disk", "fail", text, "free some, or move the road to a larger disk")
    return Finding("disk", "ok", text)
