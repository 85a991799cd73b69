"""A private Postfix: own folders and port, no name servers, every mail into one Maildir; gone when
the test is."""

import re
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

from tests.servers import ServerMissing, apt_install, free_port

MAIN = """
compatibility_level = 3.6
queue_directory = {folder}/queue
data_directory = {folder}/data
command_directory = /usr/sbin
daemon_directory = {daemons}
mail_owner = postfix
setgid_group = postdrop
myhostname = postfix.example
mydestination =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
smtpd_peername_lookup = no
disable_dns_lookups = yes
smtp_dns_support_level = disabled
mynetworks = 127.0.0.0/8
virtual_mailbox_domains = example.com
virtual_mailbox_base = {folder}
virtual_mailbox_maps = static:maildir/
virtual_transport = virtual
virtual_uid_maps = static:{uid}
virtual_gid_maps = static:{gid}
virtual_minimum_uid = 1
smtpd_client_connection_count_limit = 0
smtpd_client_connection_rate_limit = 0
smtpd_sasl_auth_enable = no
in_flow_delay = 0
message_size_limit = 10240000
maillog_file = {folder}/log
maillog_file_prefixes = {folder}
alias_maps =
alias_database =
{more}
"""
MASTER = """
127.0.0.1:{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
virtual unix - n n - - virtual
error unix - - n - - error
smtp unix - - n - - smtp
lmtp unix - - n - - lmtp
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
tlsmgr unix - - n 1000? 1 tlsmgr
postlog unix-dgram n - n - 1 postlogd
"""
TAKEN = re.compile(r" ([0-9A-F]+): message-id=<([^>]*)>")
DELIVERED = re.compile(r" ([0-9A-F]+): to=<([^>]*)>,.* status=sent ")


class PrivatePostfix:
    """`with PrivatePostfix() as postfix: postfix.url`."""

    def __init__(self, more: str = "") -> None:
        """`more` are further lines of its configuration."""
        self._more = more
        self.port = free_port()
        self.folder = Path(tempfile.mkdtemp(prefix="road-postfix-"))

    @property
    def url(self) -> str:
        return f"smtp://127.0.0.1:{self.port}"

    @property
    def version(self) -> str:
        said = self._run("postconf", "-h", "mail_version")
        return said.stdout.strip()

    def __enter__(self) -> Self:
        owner = _owner()
        folders = [self.folder / name for name in ("queue", "data", "maildir", "etc")]
        for folder in folders:
            folder.mkdir()
        self.folder.chmod(0o755)
        for folder in folders[1:3]:
            shutil.chown(folder, "postfix", "postfix")
        values = {"folder": self.folder, "port": self.port, "daemons": _daemons()}
        uid, gid = owner
        (self.folder / "etc" / "main.cf").write_text(
            MAIN.format(**values, uid=uid, gid=gid, more=self._more)
        )
        (self.folder / "etc" / "master.cf").write_text(MASTER.format(**values))
        started = self._run("postfix", "start")
        if started.returncode:
            raise RuntimeError(f"postfix did not start: {started.stderr} {self.log()[-1_000:]}")
        self._wait_ready()
        return self

    def __exit__(self, *_: object) -> None:
        self._run("postfix", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self) -> str:
        """What Postfix itself has written about what it did."""
        file = self.folder / "log"
        return file.read_text(errors="replace") if file.exists() else ""

    def taken(self) -> list[str]:
        """The Message-IDs of all mails that it took, by its log."""
        return [found[2] for found in TAKEN.finditer(self.log())]

    def delivered(self) -> list[str]:
        """The recipients of all mails that it put into the Maildir, by its log."""
        return [found[2] for found in DELIVERED.finditer(self.log())]

    def mails(self) -> list[bytes]:
        """What is in the Maildir."""
        folder = self.folder / "maildir" / "new"
        return [file.read_bytes() for file in folder.iterdir()] if folder.exists() else []

    def wait_delivered(self, count: int, limit_s: float = 60.0) -> None:
        """Wait until so many mails are in the Maildir."""
        end_s = time.monotonic() + limit_s
        new = self.folder / "maildir" / "new"
        while time.monotonic() < end_s:
            if new.exists() and sum(1 for _ in new.iterdir()) >= count:
                return
            time.sleep(0.05)
        raise RuntimeError(f"not {count} mails within {limit_s} s: {self.log()[-1_000:]}")

    def _run(self, program: str, *more: str) -> "subprocess.CompletedProcess[str]":
        command = [_program(program), "-c", str(self.folder / "etc"), *more]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def _wait_ready(self) -> None:
        for _ in range(1_000):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0 and probe.recv(100):
                    return
            time.sleep(0.01)
        raise RuntimeError(f"postfix does not answer: {self.log()[-1_000:]}")


def _owner() -> tuple[int, int]:
    _ = _program("postfix")  # its package makes the user
    import pwd

    entry = pwd.getpwnam("postfix")
    return entry.pw_uid, entry.pw_gid


def _daemons() -> str:
    return "/usr/lib/postfix/sbin"


def _program(name: str) -> str:
    for attempt in ("as found", "after apt"):
        found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
        if found:
            return found
        if attempt == "as found":
            apt_install("postfix")
    raise ServerMissing("no postfix: run `apt-get install postfix` as root")
