"""Debian's Prometheus: promtool, and a server of our own that scrapes as a configuration says."""

import json
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

from msgspec import Struct

from tests.servers import ServerMissing, apt_install, free_port

WAIT_S = 120.0


def program(name: str) -> str:
    """Where one of its programs is; installed when it is missing."""
    for attempt in ("as found", "after apt"):
        if found := shutil.which(name):
            return found
        if attempt == "as found":
            apt_install("prometheus")
    raise ServerMissing(f"no {name}: run `apt-get install prometheus` as root")


class Prometheus(Struct, frozen=True):
    """A server that works."""

    url: str

    def asks(self, path: str, **query: str) -> Any:
        """What its API answers; a query that it does not take is an error."""
        asked = f"{self.url}/api/v1/{path}?{urlencode(query)}"
        with urlopen(asked, timeout=WAIT_S) as answer:
            return json.load(answer)["data"]

    def waits(self, true: Callable[[], bool], what: str) -> None:
        until = time.monotonic() + WAIT_S
        while not true():
            assert time.monotonic() < until, f"in vain: {what}"
            time.sleep(0.2)


@contextmanager
def prometheus(folder: Path, config: Path) -> Iterator[Prometheus]:
    """It works until the block ends."""
    listen = f"127.0.0.1:{free_port()}"
    words = [f"--config.file={config}", f"--storage.tsdb.path={folder}/data"]
    words.append(f"--web.listen-address={listen}")
    log = folder / "prometheus.log"
    with log.open("wb") as told:
        process = subprocess.Popen([program("prometheus"), *words], stdout=told, stderr=told)
    found = Prometheus(f"http://{listen}")
    try:
        found.waits(lambda: _is_ready(found) or process.poll() is not None, "it starts")
        assert process.poll() is None, log.read_text()
        yield found
    finally:
        process.terminate()
        process.wait(WAIT_S)


def _is_ready(found: Prometheus) -> bool:
    try:
        with urlopen(f"{found.url}/-/ready", timeout=WAIT_S) as answer:
            return bool(answer.status == 200)
    except (URLError, ConnectionError):
        return False
