"""The stage: the road, honest receivers and strangers, each in a process of its own."""

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from subprocess import PIPE, Popen
from typing import Any, Final, Self

import msgspec

from proof.hostile.bouncers import DOMAIN
from proof.hostile.clients import Target
from proof.hostile.control import patient_settings
from proof.hostile.honest import ENTRY, entries
from proof.hostile.hubs import FLOODS as HUB_FLOODS
from proof.hostile.hubs import HUBS, KEYED
from proof.hostile.receivers import FLOODS, RECEIVERS
from proof.hostile.strangers import WHOLE
from tests.servers import free_port
from tests.servers.door import Door, door_of

ROOT: Final = Path(__file__).parents[2]
ENDPOINTS: Final = 100
PATIENCE_S: Final = 120.0
SETTINGS: Final = (
    "webhooks.allow=127.0.0.0/8",
    "webhooks.http=true",
    "webhooks.ports=",
    "webhooks.timeout_ms=2000",
)


EVIL: Final = "evil"
HUB_TOKEN: Final = "a-token-that-no-other-hub-sees"


class Process:
    """A program of this scenario, and the first line that it says."""

    def __init__(self, module: str, *words: str) -> None:
        command = (sys.executable, "-m", module, *words)
        self._process = Popen(command, cwd=ROOT, stdin=PIPE, stdout=PIPE, text=True)

    def line(self) -> str:
        """What it says next."""
        said = self._process.stdout.readline() if self._process.stdout else ""
        if not said:
            raise AssertionError(f"{self._process.args!r} has ended")
        return said

    def says_something(self, seconds: float) -> bool:
        """Whether it does within so many seconds."""
        said = self._process.stdout
        return said is not None and bool(select.select([said], [], [], seconds)[0])

    def end(self) -> str:
        """Its input ends: what else it says."""
        said, _ = self._process.communicate(timeout=PATIENCE_S)
        return said


class Road:
    """`postroad up`, from outside."""

    def __init__(self, folder: Path, hubs: list[int], *, guards: bool) -> None:
        self._folder = folder
        named = ",".join(f"ws://:{HUB_TOKEN}@127.0.0.1:{port}?tenants=*" for port in hubs)
        words = ["up", "--listen", "127.0.0.1:0", "--dsn", "sqlite:///road/road.db"]
        self.bounce_port = free_port()
        bounces = (
            f"mail.bounces=smtp://127.0.0.1:{self.bounce_port}",
            f"mail.bounce_domain={DOMAIN}",
        )
        chosen = [*SETTINGS, *bounces, f"hubs={named}", *([] if guards else patient_settings())]
        words += [word for each in chosen for word in ("--set", each)]
        program = (sys.executable, "-m", "proof.hostile.server", "on" if guards else "off", *words)
        paths = os.pathsep.join((str(ROOT), os.environ.get("PYTHONPATH", "")))
        with (folder / "said").open("wb") as said, (folder / "log").open("wb") as log:
            self.process = Popen(
                program,
                cwd=folder,
                stdout=said,
                stderr=log,
                env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": paths},
            )
        self.door = self._found()
        self.port = int(self.door.url.rpartition(":")[2])

    def _found(self) -> Door:
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until and self.process.poll() is None:
            found = door_of(self._folder, self.process.pid)
            if found is not None and "Ctrl+C stops" in (self._folder / "said").read_text():
                return found
            time.sleep(0.05)
        raise AssertionError(f"the road did not start: {self.log()[-5:]}")

    @property
    def hub_port(self) -> int:
        """Where its hub listens."""
        said = (self._folder / "said").read_text().splitlines()
        line = next(each for each in said if "The hub" in each)
        return int(line.strip("/").rpartition(":")[2].split("/")[0])

    def ask(self, method: str, path: str, data: object = None, **headers: str) -> Any:
        """One request of the operator's."""
        line = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        content = data if isinstance(data, bytes) else msgspec.json.encode(data)
        known = {"authorization": f"Bearer {self.door.token}", "content-type": "application/json"}
        more = {name.replace("_", "-"): text for name, text in headers.items()}
        line.request(method, path, content if data is not None else None, known | more)
        answer = line.getresponse()
        text = answer.read()
        line.close()
        if answer.status >= 400:
            raise AssertionError(f"{method} {path}: {answer.status} {text[:500]!r}")
        return msgspec.json.decode(text) if text else None

    def token(self, tenant: str) -> str:
        """A new one of a tenant, which may only send."""
        asked = {"name": tenant, "tenant": tenant, "scopes": ["send"]}
        return str(self.ask("POST", "/v1/tokens", asked)["secret"])

    def used_link(self, tenant: str) -> str:
        """The code of a link to the portal that somebody has opened already."""
        path = str(self.ask("POST", "/v1/portal-links", {"tenant": tenant})["path"])
        code = path.partition("#")[2]
        self.ask("POST", "/v1/portal-sessions", {"code": code})
        return code

    def session(self, tenant: str) -> str:
        """The cookie of a person of a tenant, who has a draft of a campaign."""
        _draft(self, tenant)
        asked = {"name": tenant, "role": "tenant", "tenant": tenant}
        code = str(self.ask("POST", "/v1/logins", asked)["path"]).partition("=")[2]
        line = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        own = {"origin": "http://127.0.0.1", "host": "127.0.0.1"}
        line.request("POST", "/login", f"code={code}".encode(), own)
        cookie = line.getresponse().headers["set-cookie"]
        line.close()
        return str(cookie).partition(";")[0]

    def log(self) -> list[str]:
        """Its lines so far."""
        return (self._folder / "log").read_text("utf-8", "replace").splitlines()

    def rss_max_mb(self) -> float:
        """The most memory that it has had."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        return 0.0

    def stop(self) -> float:
        """How long it takes to end when it is told to."""
        start_s = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(PATIENCE_S / 2)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return time.monotonic() - start_s


class Stage:
    """All that stands around the road."""

    def __init__(self, folder: Path) -> None:
        self._ledgers = [folder / f"ledger{n}" for n in range(2)]
        self._honest = [Process("proof.hostile.honest", str(each)) for each in self._ledgers]
        self._book = folder / "met"
        self._strangers = Process("proof.hostile.strangers", str(self._book))
        self._dead = socket.socket()
        self._dead.bind(("0.0.0.0", 0))  # bound, not listening: refused, and nobody else's
        ports = [int(each.line()) for each in self._honest]
        self.urls = [f"http://127.0.0.{2 + n // 2}:{ports[n % 2]}/" for n in range(ENDPOINTS)]
        self.strangers = msgspec.json.decode(self._strangers.line(), type=dict[str, int])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_args: object) -> None:
        for process in (*self._honest, self._strangers):
            process.end()
        self._dead.close()

    @property
    def hubs(self) -> list[int]:
        """Ports of those that the operator trusts by mistake."""
        return [self.strangers[each.__name__] for each in (*HUBS, *KEYED)]

    @property
    def came(self) -> int:
        """How many messages the honest ones have."""
        return sum(path.stat().st_size for path in self._ledgers if path.exists()) // ENTRY.size

    def ledger(self) -> list[tuple[int, int]]:
        """Number and moment of each."""
        return [entry for path in self._ledgers if path.exists() for entry in entries(path)]

    def unmet(self) -> set[str]:
        """Strangers whom the road has to meet, and who were asked nothing yet."""
        wanted = {each.__name__ for each in RECEIVERS} | {"provider"}
        return wanted - set(self._book.read_text().split())

    def taken(self) -> list[str]:
        """Floods that the road took to their end."""
        said = self._book.read_text().split()
        return sorted({name for name in (*FLOODS, *HUB_FLOODS) if f"{name}{WHOLE}" in said})

    def target(
        self, road: Road, tokens: tuple[str, str], scale: float, only: tuple[str, ...]
    ) -> Target:
        """What hostile clients need to know."""
        dead_port = self._dead.getsockname()[1]
        place = ("127.0.0.1", road.port, tokens, road.hub_port, dead_port)
        more = (road.bounce_port, only, road.session(EVIL), road.used_link(EVIL))
        return Target(*place, self.strangers, scale, *more)


def prepare_campaign(road: Road, provider_port: int, recipients: int) -> None:
    """A campaign over a provider that turns out to be hostile."""
    road.ask("POST", "/v1/credentials", _credential(f"http://127.0.40.1:{provider_port}"))
    road.ask("POST", "/v1/campaigns", {"name": "x", "credential": "bad", "template": "Hello"})
    rows = "".join(f"+65910{n:05}\n" for n in range(recipients))
    text = f"recipient\n{rows}".encode()
    road.ask("POST", "/v1/campaigns/x/import", text, content_type="text/csv")


def _credential(provider: str) -> dict[str, str]:
    named = {"name": "bad", "secret": "s3cret-of-the-account", "provider": provider}
    return {**named, "account": "AC1", "sender": "+15550000", "rate": "50/s"}


def _draft(road: Road, tenant: str) -> None:
    mail = {"name": "mail", "kind": "smtp", "provider": "mx", "sender": "a@example.com"}
    road.ask("POST", "/v1/credentials", mail, postroad_tenant=tenant)
    draft = {"name": "x", "credential": "mail", "template": "Hello", "subject": "Hello"}
    road.ask("POST", "/v1/campaigns", draft, postroad_tenant=tenant)


@contextmanager
def attacked(target: Target) -> Iterator[tuple[Process, dict[str, str]]]:
    """Hostile clients, while the block lasts; then how each ended."""
    process = Process("proof.hostile.attackers", msgspec.json.encode(target).decode())
    told: dict[str, str] = {}
    try:
        yield process, told
    finally:
        told |= msgspec.json.decode(process.end().splitlines()[-1], type=dict[str, str])
