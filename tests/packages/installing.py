"""Installs the wheel that ships in an empty environment, and uses it as a stranger does: by README alone."""

import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scripts import release
from tests.servers import free_port

WAIT_S = 120.0
SEEDED = ("pip", "setuptools")
PIN = re.compile(r"^([a-z0-9][a-z0-9.-]*==[^ \\]+)", re.MULTILINE)
INSTALL = re.compile(r"^ *(pip install '?\.(?:\[\w+\])?'?)(?: |$)", re.MULTILINE)
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SIZES = """
import json
from importlib.metadata import distributions

def sizes(left_out):
    names = {each.metadata["Name"]: each.files for each in distributions()}
    return {
        name: sum(file.locate().stat().st_size for file in files if file.locate().is_file())
        for name, files in names.items()
        if name not in left_out
    }

"""
TASKS = """
from postroad import Postroad

road = Postroad()


@road.handler("good")
async def good(message):
    return None
"""


class Stranger:
    """A machine with Python alone: an empty folder, an environment of its own, nothing of ours."""

    def __init__(self, folder: Path, dist: Path) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"
        # The names that README types mean this wheel, and the pins that the tests have.
        lock = (release.ROOT / "requirements" / "run.lock").read_text()
        pins = [f"postroad=={release.project()['version']}", *PIN.findall(lock)]
        (folder / "pins.txt").write_text("\n".join(pins) + "\n")
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("POSTROAD_", "PYTHON"))}
        self.environ = {
            **kept,
            "PATH": f"{self.bin}:{os.environ['PATH']}",
            "PIP_FIND_LINKS": f"{dist} {os.environ.get('PIP_FIND_LINKS', '')}",
            "PIP_CONSTRAINT": str(folder / "pins.txt"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "COLUMNS": "200",
        }

    def make_environment(self) -> None:
        self.types(sys.executable, "-m", "venv", "venv")

    def types(self, *words: str) -> str:
        """Run a command to its end; answers with what it printed."""
        done = subprocess.run(
            words, cwd=self.folder, env=self.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def installs(self, line: str) -> None:
        self.types("sh", "-c", f"{line} --quiet")

    def gets_checkout(self, dist: Path) -> Path:
        """What a clone has, from the sdist; answers with its folder."""
        with tarfile.open(next(dist.glob("postroad-*.tar.gz"))) as archive:
            archive.extractall(self.folder, filter="data")
        return next(self.folder.glob("postroad-*"))

    def has(self, module: str) -> bool:
        code = f"import importlib.util as u; print(u.find_spec({module!r}) is not None)"
        return self.types("python", "-c", code).strip() == "True"

    def installed_bytes(self) -> dict[str, int]:
        """The size of each distribution that was installed: its files, also those that pip
        compiled. What every environment comes with does not count."""
        code = f"{SIZES}print(json.dumps(sizes({SEEDED})))"
        said: dict[str, int] = json.loads(self.types("python", "-c", code))
        return said

    @contextmanager
    def runs(self, *words: str) -> Iterator[str]:
        """A server, until the block ends; what it says until it works."""
        place = self.folder / f"{words[0]}.txt"
        said = place.open("w+")
        process = subprocess.Popen(
            ("postroad", *words), cwd=self.folder, env=self.environ, stdout=subprocess.PIPE,
            stderr=said, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        try:
            told = line = process.stdout.readline()
            while line and "Ctrl+C" not in line:
                line = process.stdout.readline()
                told += line
            assert line, place.read_text()
            yield told
        finally:
            process.send_signal(signal.SIGTERM)
            _ = process.communicate(timeout=WAIT_S)
            said.close()
        assert process.returncode == 0, place.read_text()


def readme_install() -> str:
    """What README says to type."""
    (line, *_) = INSTALL.findall((release.ROOT / "README.md").read_text())
    return str(line)


def first_job(stranger: Stranger, dist: Path) -> tuple[str, float]:
    """Type what README says, from nothing to the first job; answers with what it printed, and how
    long all of it took."""
    start_s = time.monotonic()
    stranger.make_environment()
    stranger.installs(f"cd {stranger.gets_checkout(dist)} && {readme_install()}")
    program = PROGRAM.findall((release.ROOT / "README.md").read_text())[0]
    (stranger.folder / "first.py").write_text(program)
    return stranger.types("python", "first.py"), time.monotonic() - start_s


def smoke(stranger: Stranger, dsn: str) -> None:
    """`postroad up`: its API, its worker and its hub work, on any store."""
    prepare(stranger)
    here = ("--dsn", dsn)
    hub = f"127.0.0.1:{free_port()}"
    own = ("--app", "tasks:road", "--listen", "127.0.0.1:0", "--set", f"hub_listen={hub}")
    with stranger.runs("up", *own, *here) as told:
        check_api(told)
        check_delivery(stranger, here)
        check_hub(stranger, told, here)


def smoke_apart(stranger: Stranger, dsn: str) -> None:
    """`postroad api`, `worker` and `hub`, each a process, on one store."""
    prepare(stranger)
    here, listen = ("--dsn", dsn), ("--listen", "127.0.0.1:0")
    hub = f"hub_listen=127.0.0.1:{free_port()}"
    with (
        stranger.runs("worker", "--app", "tasks:road", "--processes", "1", *listen, *here),
        stranger.runs("api", *listen, *here) as told,
        stranger.runs("hub", *listen, "--set", hub, *here) as told_by_hub,
    ):
        check_api(told)
        check_delivery(stranger, here)
        check_hub(stranger, told_by_hub, here)


def prepare(stranger: Stranger) -> None:
    (stranger.folder / "tasks.py").write_text(TASKS)
    made = json.loads(stranger.types("postroad", "keys", "new", "--json"))
    stranger.environ["POSTROAD_KEYS"] = made["key"]


def check_api(told: str) -> None:
    url = re.search(r"https?://[^\s;,]+", told)
    assert url, told
    until = time.monotonic() + WAIT_S
    while not is_ready(url[0]):  # it listens before it delivers
        assert time.monotonic() < until, "it is not ready"
        time.sleep(0.1)
    for path in ("/healthz", "/docs", "/login"):
        with urllib.request.urlopen(url[0] + path, timeout=WAIT_S) as answer:
            assert answer.status == 200


def is_ready(server: str) -> bool:
    try:
        with urllib.request.urlopen(f"{server}/readyz", timeout=WAIT_S):
            return True
    except urllib.error.HTTPError as refused:
        if refused.code != 503:
            raise
        return False


def check_delivery(stranger: Stranger, here: Sequence[str]) -> None:
    number = stranger.types("postroad", "send", "good", "1", *here).split()[0].strip(":")
    until = time.monotonic() + WAIT_S
    while "delivered" not in stranger.types("postroad", "message", "show", number, *here):
        assert time.monotonic() < until, "it is not delivered"


def check_hub(stranger: Stranger, told: str, here: Sequence[str]) -> None:
    """What is put into a mailbox is read from it. On RabbitMQ mailboxes are where its state is."""
    url = re.search(r"The hub at ws(://\S+)", told)
    assert url, told
    made = json.loads(stranger.types("postroad", "mailbox", "create", "--json", *here))
    place = f"http{url[1]}/v1/mailboxes/{made['box']}/messages"

    def ask(path: str, token: str, body: bytes | None = None) -> Any:
        headers = {"authorization": f"Bearer {token}", "content-type": "text/plain"}
        request = urllib.request.Request(path, body, headers)
        with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
            return json.loads(answer.read())

    assert ask(place, made["sender_token"], b"hello") == {"id": 1}
    assert ask(f"{place}?wait=30", made["recipient_token"])["body"] == "hello"
