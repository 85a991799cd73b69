"""What the image and the composition say, and their steps and processes run without a container."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import PROGRAM
from tests.deploy.image import ROOT, build, environment, health_command, stages, told
from tests.servers import free_port, unprivileged
from tests.servers.postgres import PrivatePostgres
from tests.servers.rabbitmq import PrivateRabbit

WAIT_S = 120.0


def composition() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text())
    return found


def test_the_image_is_built_from_the_lock_and_runs_as_nobody_special() -> None:
    first, last = stages()
    assert "--require-hashes -r requirements/run.lock" in " ".join(step.rest for step in first)
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", told("USER"))
    assert [step.rest for step in last if step.word == "COPY"] == [
        "--from=build /opt/postroad /opt/postroad"
    ]
    kept = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().split()
    sources = [step.rest.split()[:-1] for step in first if step.word == "COPY"]
    for name in [name for names in sources for name in names]:
        assert (ROOT / name).exists()
        assert f"!{name}" in kept
    assert all(name.startswith(("PATH", "PYTHON", "POSTROAD_")) for name in environment())


def test_the_composition_has_an_api_a_hub_and_two_workers_that_can_do_little() -> None:
    services = composition()["services"]
    assert set(services) == {"postgres", "rabbitmq", "api", "hub", "worker"}
    assert services["worker"]["deploy"]["replicas"] == 2
    for name in ("api", "hub", "worker"):
        one = services[name]
        assert (one["read_only"], one["cap_drop"]) == (True, ["ALL"])
        assert one["security_opt"] == ["no-new-privileges:true"]
        assert set(one["depends_on"]) == {"postgres", "rabbitmq"}
    assert all("healthcheck" in services[name] for name in ("postgres", "rabbitmq"))
    secrets = re.findall(r"(\w*(?:PASSWORD|PASS|KEYS)): \"?([^\s\"}]*)", json.dumps(composition()))
    assert all("${" in value for _, value in secrets)


def answers(port: int, path: str = "/healthz") -> int:
    line = HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        line.request("GET", path)
        return line.getresponse().status
    except OSError:
        return 0
    finally:
        line.close()


def wait_until_ready(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + WAIT_S
    while answers(port, "/readyz") != 200:
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.05)


@contextmanager
def started(command: list[str], env: dict[str, str], cwd: Path, **more: Any) -> Iterator[int]:
    """A process of the image, its port in place of 8600, until the block ends."""
    port = free_port()
    own = {**environment(), **env, "POSTROAD_LISTEN": f"127.0.0.1:{port}"}
    own["POSTROAD_HUB_LISTEN"] = f"127.0.0.1:{free_port()}"
    path = {"PATH": os.environ["PATH"]}
    log = cwd / f"{port}.log"
    with log.open("wb") as told_to:
        process = subprocess.Popen(command, env={**own, **path}, cwd=cwd, stderr=told_to, **more)
    try:
        wait_until_ready(port, process, log)
        yield port
    finally:
        process.terminate()
        process.wait(WAIT_S)


def nobody() -> dict[str, Any]:
    """Another user who can run this Python; none where only root may enter its folder."""
    account: dict[str, Any] = (
        {**unprivileged("nobody"), "group": "nogroup"} if os.geteuid() == 0 else {}
    )
    try:
        subprocess.run([sys.executable, "-c", ""], check=True, cwd="/", **account)
    except PermissionError:
        return {}
    return account


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users may enter: every run of pytest shuts its own again."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.wide
@pytest.mark.timeout(900)  # as its own installing takes, beside much other work
def test_the_steps_of_the_image_give_a_server_that_is_healthy(open_folder: Path) -> None:
    """As another user, who may write in his own folder alone, where this Python is not root's own."""
    made, data = build(open_folder), open_folder / "data"
    data.mkdir()
    account = nobody()
    if account:
        subprocess.run(["chown", "-R", "nobody:nogroup", str(data)], check=True)
    command = [str(made / "bin" / word) for word in json.loads(told("ENTRYPOINT"))]
    command += json.loads(told("CMD"))
    python = str(made / "bin" / "python")
    with started(command, {"HOME": str(data)}, cwd=data, **account) as port:
        assert subprocess.run(health_command(python, port), check=False).returncode == 0
        assert (data / "road" / "road.db").exists()
    assert subprocess.run(health_command(python, port), check=False, capture_output=True).returncode


@pytest.mark.wide
def test_the_processes_of_the_composition_deliver(
    tmp_path: Path, server: PrivatePostgres, broker: PrivateRabbit
) -> None:
    """The same commands and variables, with servers of this machine in place of the containers."""
    services = composition()["services"]
    given = services["api"]["environment"]["POSTROAD_DSN"]
    assert re.match(r"amqp://\S+@rabbitmq:5672/%2F\?state=postgresql://\S+@postgres:5432/", given)
    place = broker.create_vhost()
    new_key = subprocess.run([*PROGRAM, "keys", "new", "k1"], capture_output=True, check=True)
    env = {
        "POSTROAD_DSN": f"{place}?state={server.create_database()}",
        "POSTROAD_KEYS": new_key.stdout.decode().strip(),
    }
    words = [services["api"]["command"], *[services["worker"]["command"]] * 2]
    with ExitStack() as stack:
        ports = [
            stack.enter_context(started([*PROGRAM, *each], env, cwd=tmp_path)) for each in words
        ]
        assert [answers(port) for port in ports] == [200, 200, 200]
        _wait_for_workers(ports[0])
    broker.delete_vhost(place)


def _wait_for_workers(port: int) -> None:
    """Both workers have joined the road that the API looks at."""
    until = time.monotonic() + WAIT_S
    while time.monotonic() < until:
        line = HTTPConnection("127.0.0.1", port, timeout=30)
        line.request("GET", "/metrics")
        text = line.getresponse().read().decode()
        line.close()
        found = re.findall(r'postroad_fleet_workers{state="(?:idle|working)"} (\S+)', text)
        if sum(map(float, found)) >= 2:
            return
        time.sleep(0.2)
    raise AssertionError("the workers did not join")
