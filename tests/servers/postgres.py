"""A private PostgreSQL: own folder, port and account, real durability, gone when the test is."""

import asyncio
import atexit
import base64
import contextlib
import functools
import hashlib
import hmac
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit, urlunsplit

import psycopg

from postroad.stores.postgres.connections import read_address
from postroad.stores.postgres.migration import migrate
from tests.servers import ServerMissing, apt_install, free_port, unprivileged

ELSEWHERE = "POSTROAD_TEST_POSTGRES"
STOP_SIGNALS = {"fast": signal.SIGINT, "immediate": signal.SIGQUIT}
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "on",
    "shared_preload_libraries": "pg_stat_statements",
    "pg_stat_statements.max": "50000",  # of all databases of a test process together
    "max_connections": "100",
    "password_encryption": "scram-sha-256",
    "log_line_prefix": "%m [%p] ",
}
# road is no superuser: a store that needs one would fail for its users, so it must fail here.
PREPARE = """
CREATE ROLE road LOGIN CREATEDB PASSWORD '{password}' IN ROLE pg_monitor, pg_signal_backend;
CREATE EXTENSION pg_stat_statements;
GRANT EXECUTE ON FUNCTION pg_stat_statements_reset TO road;
"""


class NotPrivate(RuntimeError):
    """`POSTROAD_TEST_POSTGRES` names somebody else's server, which is not ours to start or stop."""


@functools.cache
def bin_folder() -> Path:
    """The folder of the newest installed PostgreSQL's programs; installs one when there is none."""
    for attempt in ("as found", "after apt"):
        found = [p for p in Path("/usr/lib/postgresql").glob("*/bin") if (p / "postgres").exists()]
        if found:
            return max(found, key=lambda p: int(p.parent.name))
        if attempt == "as found":
            apt_install("postgresql")
    raise ServerMissing(
        "no postgres in /usr/lib/postgresql/*/bin: run `apt-get install postgresql` as root"
    )


def verifier(password: str) -> str:
    """What PostgreSQL stores of a password, with one round of hashing instead of 4,096: those took
    10 ms of CPU for each of thousands of connections."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, 1)
    client = hmac.digest(salted, b"Client Key", "sha256")
    keys = [hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256")]
    salt_text, stored, server = (base64.b64encode(part).decode() for part in (salt, *keys))
    return f"SCRAM-SHA-256$1:{salt_text}${stored}:{server}"


@functools.cache
def psql() -> str:
    """The program itself: what Debian has on the path is a script that looks for it, 25 ms each."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/psql"), key=lambda p: int(p.parts[-3]))
    return str(found[-1]) if found else shutil.which("psql") or str(bin_folder() / "psql")


class PrivatePostgres:
    """One server of our own. `with PrivatePostgres() as pg: dsn = pg.create_database()`."""

    def __init__(self, **settings: str) -> None:
        self._settings = SETTINGS | settings
        self.elsewhere = os.environ.get(ELSEWHERE)
        self.port = 0 if self.elsewhere else free_port()
        self.folder: Path | None = None
        self._password = secrets.token_hex(8)
        self._server: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None
        self._session: psycopg.Connection | None = None
        self._created: list[str] = []

    def __enter__(self) -> Self:
        if not self.elsewhere:
            self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The postmaster's process id."""
        if self._server is None:
            raise NotPrivate(f"{ELSEWHERE} is set" if self.elsewhere else "not started")
        return self._server.pid

    @functools.cached_property
    def version(self) -> int:
        """As PostgreSQL numbers itself: 150018 is 15.18."""
        return int(self.sql("SHOW server_version_num"))

    def dsn(self, database: str = "postgres") -> str:
        """Where user `road` reaches `database` over TCP."""
        base = self.elsewhere or self._dsn_of("road")
        return urlunsplit(urlsplit(base)._replace(path="/" + database))

    def start(self) -> None:
        """Start, the first time making the cluster; returns when it accepts connections."""
        self._refuse_elsewhere()
        if self._server is not None:
            raise RuntimeError("already started")
        first = self.folder is None
        folder = self.folder or self._init_cluster()
        options = [f"-c{name}={value}" for name, value in self._settings.items()]
        command = [
            str(bin_folder() / "postgres"),
            "-D",
            str(folder / "data"),
            "-k",
            str(folder),
            f"-p{self.port}",
        ]
        with (folder / "log").open("ab") as log:
            # A session of its own: Ctrl-C in a test run is for the tests, not for their server.
            self._server = subprocess.Popen(
                [*command, *options],
                cwd=folder,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **unprivileged(),
            )
        self._guard = self._stop_when_we_die(self._server.pid)
        self._wait_ready(folder)
        if first:
            self._psql(
                self._dsn_of("postgres", "template1"),
                PREPARE.format(password=verifier(self._password)),
            )

    def stop(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop and keep the data: "fast" ends sessions and checkpoints, "immediate" is a crash."""
        self._refuse_elsewhere()
        if self._server is None:
            return
        self._hang_up()
        self._server.send_signal(STOP_SIGNALS[mode])
        self._server.wait(60)
        self._server = None
        if self._guard is not None:
            self._guard.kill()
            self._guard.communicate()

    def restart(self, mode: Literal["fast", "immediate"] = "fast") -> None:
        """Stop and start on the same port with the same data."""
        self.stop(mode)
        self.start()

    def close(self) -> None:
        """Stop and remove the folder; on somebody else's server, drop the databases we made."""
        if self.elsewhere:
            self._hang_up()
            while self._created:
                self.sql(f'DROP DATABASE IF EXISTS "{self._created.pop()}" WITH (FORCE)')
            return
        self.stop("immediate")
        if self.folder is not None:
            # Of hundreds of databases there are tens of thousands of files: 3 s, not 12.
            subprocess.run(["rm", "-rf", self.folder], check=True)
            self.folder = None
        atexit.unregister(self.close)

    def create_database(self, template: str = "template1") -> str:
        """A fresh, empty database; returns its dsn."""
        name = f"road_{secrets.token_hex(6)}"
        # By a connection that is kept: a psql for each took 18 ms of CPU.
        if self._session is None or self._session.closed:
            self._session = psycopg.connect(self.dsn(), autocommit=True)
        self._session.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" {self._strategy}')
        self._created.append(name)
        return self.dsn(name)

    def create_road(self) -> str:
        """A database with the schema of a road in which nothing is yet; returns its dsn. A copy of
        one that was made once takes 0.1 s, an empty one and all steps of the schema 0.35 s."""
        return self.create_database(self._template)

    @functools.cached_property
    def _strategy(self) -> str:
        """In memory, to copy files takes 27 ms of CPU for each database, and pages 46; on a disk
        0.4 s, for the checkpoints, and not 0.1 s."""
        in_memory = self.folder is not None and self.folder.is_relative_to("/dev/shm")
        return "STRATEGY = FILE_COPY" if in_memory and self.version >= 150000 else ""

    def _hang_up(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None

    @functools.cached_property
    def _template(self) -> str:
        dsn = self.create_database()
        with ThreadPoolExecutor(1) as thread:  # a test that asks may have a loop in this one
            thread.submit(asyncio.run, migrate(read_address(dsn))).result()
        return dsn.rpartition("/")[2]

    def sql(self, statement: str, database: str = "postgres") -> str:
        """Run a statement with psql, no driver under test in the way; returns its bare output."""
        return self._psql(self.dsn(database), statement)

    def _init_cluster(self) -> Path:
        programs = bin_folder()
        folder = Path(tempfile.mkdtemp(prefix="road-pg-"))
        (folder / "password").write_text(self._password)
        account = unprivileged()
        if account:
            for path in (folder, folder / "password"):
                shutil.chown(path, account["user"], account["group"])
        self.folder = folder
        atexit.register(self.close)
        initdb = f"-D {folder}/data -U postgres -A scram-sha-256 --pwfile={folder}/password"
        initdb += " -E UTF8 --locale=C --no-sync --no-instructions"
        command = [str(programs / "initdb"), *initdb.split()]
        subprocess.run(command, cwd=folder, check=True, capture_output=True, **account)
        return folder

    def _stop_when_we_die(self, pid: int) -> subprocess.Popen[bytes]:
        # The pipe closes however we end, kill -9 too. PR_SET_PDEATHSIG will not do: it fires when
        # the *thread* that started the server ends, and fault tests restart from worker threads.
        script = f"read _; kill -QUIT {pid}"
        return subprocess.Popen(
            ["/bin/sh", "-c", script], stdin=subprocess.PIPE, start_new_session=True
        )

    def _wait_ready(self, folder: Path, timeout_s: float = 30) -> None:
        assert self._server is not None
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline and self._server.poll() is None:
            with contextlib.suppress(FileNotFoundError):
                lines = (folder / "data" / "postmaster.pid").read_text().split("\n")
                # The pid too: after a crash the file of the last server is still there.
                if (
                    lines[0] == str(self._server.pid)
                    and len(lines) > 7
                    and lines[7].strip() == "ready"
                ):
                    return
            time.sleep(0.01)
        self.stop("immediate")
        raise RuntimeError("PostgreSQL did not start: " + (folder / "log").read_text()[-1000:])

    def _dsn_of(self, user: str, database: str = "postgres") -> str:
        return f"postgresql://{user}:{self._password}@127.0.0.1:{self.port}/{database}"

    def _psql(self, dsn: str, statement: str) -> str:
        command = [psql(), "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", dsn, "-c", statement]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{done.stderr.strip()} in {statement!r}")
        return done.stdout.strip()

    def _refuse_elsewhere(self) -> None:
        if self.elsewhere:
            raise NotPrivate(f"{ELSEWHERE} names a server that is not ours to start or stop")
