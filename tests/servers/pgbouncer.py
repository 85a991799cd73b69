"""A private PgBouncer in transaction mode, in front of any PostgreSQL."""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit, urlunsplit

from tests.servers import ServerMissing, apt_install, free_port, unprivileged

CONFIG = """
[databases]
* = host={host} port={server_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {folder}/users
pool_mode = transaction
default_pool_size = 20
max_client_conn = 200
"""


def program() -> str:
    """The path of pgbouncer; installs it when there is none."""
    path = "/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin"
    if shutil.which("pgbouncer", path=path) is None:
        apt_install("pgbouncer")
    found = shutil.which("pgbouncer", path=path)
    if found is None:
        raise ServerMissing("pgbouncer is not installed: run `apt-get install pgbouncer` as root")
    return found


class PrivatePgBouncer:
    """`with PrivatePgBouncer(pg.dsn()) as bouncer: connect(bouncer.dsn())`.

    Transaction mode: LISTEN is lost, and before version 1.21 (Debian 12 has 1.18) so are prepared
    statements.
    """

    def __init__(self, server_dsn: str) -> None:
        self._parts = urlsplit(server_dsn)
        self.port = free_port()
        self.folder: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def dsn(self, database: str | None = None) -> str:
        """The server's dsn, by way of PgBouncer; any of its databases."""
        path = self._parts.path if database is None else "/" + database
        login = f"{self._parts.username}:{self._parts.password}"
        return urlunsplit(self._parts._replace(netloc=f"{login}@127.0.0.1:{self.port}", path=path))

    def start(self) -> None:
        """Start; returns when it listens."""
        if self._process is not None:
            raise RuntimeError("already started")
        command = program()
        self.folder = folder = Path(tempfile.mkdtemp(prefix="road-bouncer-"))
        host, server_port = self._parts.hostname, self._parts.port or 5432
        config = CONFIG.format(host=host, server_port=server_port, port=self.port, folder=folder)
        (folder / "ini").write_text(config)
        (folder / "users").write_text(f'"{self._parts.username}" "{self._parts.password}"\n')
        account = unprivileged()
        if account:
            for path in (folder, folder / "ini", folder / "users"):
                shutil.chown(path, account["user"], account["group"])
        with (folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [command, str(folder / "ini")],
                cwd=folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **account,
            )
        self._wait_listening(folder)

    def stop(self) -> None:
        """Stop at once, dropping every client, and remove the folder."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None
        if self.folder is not None:
            shutil.rmtree(self.folder)
            self.folder = None

    def _wait_listening(self, folder: Path, timeout_s: float = 10) -> None:
        assert self._process is not None
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and self._process.poll() is None:
            with (
                contextlib.suppress(OSError),
                socket.create_connection(("127.0.0.1", self.port), 1),
            ):
                return
            time.sleep(0.01)
        log = (folder / "log").read_text()[-1000:]
        self.stop()
        raise RuntimeError("PgBouncer did not start: " + log)
