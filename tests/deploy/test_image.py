"""What the image and the composition say, and their steps and processes run without a container."""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.cli.running import PROGRAM
from tests.deploy.image import DOCKERFILE, ROOT, build, environment, health_command, stages, told
from tests.deploy.started import REACH, answers, ask, send_and_wait, started, wait_for_workers
from tests.deploy.walls import USER, inside, read_only_root, without_new_code, writing
from tests.servers.postgres import PrivatePostgres
from tests.servers.rabbitmq import PrivateRabbit
from tests.servers.receiver import Receiver


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


def test_the_dockerfile_is_well_made() -> None:
    """By hadolint, which knows the usual faults."""

    def faults(text: str) -> str:
        lint = [str(Path(sys.executable).with_name("hadolint")), "-"]
        done = subprocess.run(lint, input=text, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    text = DOCKERFILE.read_text()
    assert faults(text) == ""
    assert "DL3007" in faults(text.replace("python:3.13-slim-bookworm\n", "python:latest\n"))


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


@pytest.fixture(scope="module")
def made() -> Iterator[Path]:
    """What the image's steps make, where other users may enter and no tmpfs will lie over it."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        Path(name).chmod(0o755)
        yield build(Path(name))


@pytest.fixture
def folder() -> Iterator[Path]:
    """The image's /data."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        os.chown(name, int(USER), int(USER))
        yield Path(name)


def program_of(made: Path) -> list[str]:
    given: list[str] = json.loads(told("CMD"))
    return [*(str(made / "bin" / word) for word in json.loads(told("ENTRYPOINT"))), *given]


@pytest.mark.wide
@pytest.mark.timeout(900)  # as its own installing takes, beside much other work
def test_the_image_is_healthy_and_delivers_on_a_root_that_is_read_only(
    made: Path, folder: Path
) -> None:
    """As its own user, on the Python of the image where this machine has it."""
    python = made / "bin" / "python"
    command = read_only_root(program_of(made), python, folder)
    env = {**REACH, "HOME": str(folder)}
    with Receiver() as receiver, started(command, env, folder) as server:
        asked = health_command(str(python), server.port)
        assert subprocess.run(asked, check=False).returncode == 0
        make = (str(made / "bin" / "postroad"), "token", "make", "ops", "--everywhere", "--json")
        token = json.loads(inside(server.process, folder, *make))["secret"]
        assert send_and_wait(server.port, token, [receiver.url], "walled") == receiver.got
        closed = ("/", "/etc", "/usr", "/var", "/var/tmp", "/dev/shm", str(made), str(made.parent))
        told = writing(server.process, folder, python, *closed)
        assert told == ["EROFS"] * len(closed)
        assert writing(server.process, folder, python, "/tmp", str(folder)) == ["written"] * 2
        (folder / "written").unlink()
        owners = {file.stat().st_uid for file in folder.rglob("*") if file.suffix != ".log"}
        assert owners == {int(USER)}
    assert subprocess.run(asked, check=False, capture_output=True).returncode


@pytest.mark.wide
@pytest.mark.timeout(900)
def test_it_works_where_memory_that_was_written_is_never_run(made: Path, folder: Path) -> None:
    """As the units have it; systemd itself does not run here."""
    writes = "import mmap; mmap.mmap(-1, 4096, prot=7)"
    python = str(made / "bin" / "python")
    refused = subprocess.run(
        without_new_code([python, "-c", writes]), capture_output=True, check=False
    )
    assert b"PermissionError" in refused.stderr
    command = without_new_code(program_of(made))
    with Receiver() as receiver, started(command, {**REACH, "HOME": str(folder)}, folder) as server:
        make = (str(made / "bin" / "postroad"), "token", "make", "ops", "--everywhere", "--json")
        token = json.loads(inside(server.process, folder, *make, user="0"))["secret"]
        assert send_and_wait(server.port, token, [receiver.url], "walled") == receiver.got


@pytest.mark.wide
@pytest.mark.timeout(900)  # five starts and a lease that has to end, beside much other work
def test_the_processes_of_the_composition_deliver_also_when_one_is_killed(
    tmp_path: Path, server: PrivatePostgres, broker: PrivateRabbit
) -> None:
    """The same commands and variables, with servers of this machine in place of the containers."""
    services = composition()["services"]
    given = services["api"]["environment"]["POSTROAD_DSN"]
    assert re.match(r"amqp://\S+@rabbitmq:5672/%2F\?state=postgresql://\S+@postgres:5432/", given)
    place = broker.create_vhost()
    new_key = subprocess.run([*PROGRAM, "keys", "new", "k1"], capture_output=True, check=True)
    said = {n: v for n, v in services["api"]["environment"].items() if "${" not in v}
    env = {
        **said, **REACH, "POSTROAD_DSN": f"{place}?state={server.create_database()}",
        "POSTROAD_KEYS": new_key.stdout.decode().strip(),
    }  # fmt: skip
    with ExitStack() as stack:
        receivers = [stack.enter_context(Receiver()) for _ in range(4)]
        crew = [
            stack.enter_context(started([*PROGRAM, *services[name]["command"]], env, tmp_path))
            for name in ("api", "hub", "worker", "worker")
        ]
        api, hub, first, _ = crew
        assert [answers(each.port, "/metrics") for each in crew] == [200] * 4
        wait_for_workers(api.port, 2)
        make = [*PROGRAM, "token", "make", "ops", "--everywhere", "--json"]
        made = subprocess.run(make, env={**os.environ, **env}, capture_output=True, check=True)
        token, urls = json.loads(made.stdout)["secret"], [each.url for each in receivers]
        sent = send_and_wait(api.port, token, urls, "both")
        first.process.kill()
        sent += send_and_wait(api.port, token, urls, "one of them")
        assert {body for each in receivers for body in each.got} == set(sent)
        box = ask(api.port, token, "POST", "/v1/mailboxes", {})
        letters = f"/v1/mailboxes/{box['box']}/messages"
        assert ask(hub.hub_port, box["sender_token"], "POST", letters, "hello") == {"id": 1}
        assert ask(hub.hub_port, box["recipient_token"], "GET", letters)["body"] == '"hello"'
    broker.delete_vhost(place)
