"""Real servers for tests: private ones, in temporary folders, on free ports, never as root."""

import contextlib
import fcntl
import os
import random
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

CREATECLUSTER = Path("/etc/postgresql-common/createcluster.conf")
POLICY = Path("/usr/sbin/policy-rc.d")
INSTALLING = Path("/tmp/postroad-apt.lock")  # the same one for all, whatever their TMPDIR


class ServerMissing(RuntimeError):
    """A server program is not installed and could not be; the text says what to install."""


class Account(TypedDict, total=False):
    """The arguments of `subprocess` that make a child run as somebody else."""

    user: str
    group: str
    extra_groups: list[str]


def unprivileged(user: str = "postgres") -> Account:
    """Run as `user` when we are root, as ourselves otherwise: these servers refuse root."""
    return Account(user=user, group=user, extra_groups=[]) if os.geteuid() == 0 else Account()


def _ports() -> Iterator[int]:
    """Ports in blocks, each of which one process has until it ends: others draw as well, and a port
    is nobody's from its draw until its server listens, and again while that is stopped."""
    for first in random.SystemRandom().sample(range(15_000, 32_000, 50), 340):
        block = socket.socket(socket.AF_UNIX)
        try:
            block.bind(f"\0postroad-test-ports-{first}")
        except OSError:
            block.close()
            continue
        block.detach()  # open as long as this process is
        yield from range(first, first + 50)


PORTS = _ports()


def free_port() -> int:
    """A free TCP port below the ephemeral range, never the same twice.

    From inside that range a client that retries while the server is down can be given the server's
    own port as its source, connects to itself, and the restarted server cannot bind.
    """
    for port in PORTS:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port between 15000 and 32000")


@contextlib.contextmanager
def no_service_starts() -> Iterator[None]:
    """While it lasts, no package that is installed starts a server: 101 is Debian's "not allowed".

    A policy that somebody else has put there stands.
    """
    try:
        with POLICY.open("x") as policy:
            policy.write("#!/bin/sh\nexit 101\n")
    except FileExistsError:
        yield
        return
    try:
        POLICY.chmod(0o755)
        yield
    finally:
        POLICY.unlink()


def apt_install(package: str) -> None:
    """Install a Debian package, without letting it start a server of its own. One at a time: apt
    waits for the lock of dpkg, but not for that of its lists."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        raise ServerMissing(f"{package} is not installed: run `apt-get install {package}` as root")
    with INSTALLING.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _is_installed(package):
            with no_service_starts():
                _install(package)


def _is_installed(package: str) -> bool:
    asked = ["dpkg-query", "-W", "-f", "${db:Status-Status}", package]
    return subprocess.run(asked, capture_output=True, check=False).stdout == b"installed"


def _install(package: str) -> None:
    if not CREATECLUSTER.exists():
        CREATECLUSTER.parent.mkdir(exist_ok=True)
        CREATECLUSTER.write_text("create_main_cluster = false\n")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    options = ("DPkg::Lock::Timeout=300", "Dpkg::Options::=--force-confold")
    apt = ["apt-get", "-qq", "-y", *(word for each in options for word in ("-o", each))]
    for verb in (["update"], ["install", "--no-install-recommends", package]):
        done = subprocess.run([*apt, *verb], env=env, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise ServerMissing(f"apt-get {verb[0]} {package} failed: {done.stderr[-500:]}")
