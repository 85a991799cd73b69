"""The private broker does what the fault tests will ask of it."""

import asyncio
import os
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from postroad.stores.rabbitmq.topology.declaring import declare
from postroad.stores.rabbitmq.topology.topology import Topology
from tests.rabbitmq.wires import linked
from tests.servers import no_service_starts
from tests.servers.rabbitmq import ELSEWHERE, GREETING, NotPrivate, PrivateRabbit


@pytest.fixture
def rabbit(own_broker: PrivateRabbit) -> PrivateRabbit:
    return own_broker  # these tests stop it


def greets(rabbit: PrivateRabbit) -> bool:
    with socket.create_connection(("127.0.0.1", rabbit.port), 10) as client:
        client.sendall(GREETING)
        return bool(client.recv(8))


def test_has_a_node_a_folder_and_a_port_mapper_of_its_own(rabbit: PrivateRabbit) -> None:
    assert tuple(map(int, rabbit.version.split(".")[:2])) >= (3, 10)
    assert rabbit.eval("node()").strip("'").startswith("road")
    assert str(rabbit.folder) in rabbit.eval("rabbit_mnesia:dir()")
    if os.geteuid() == 0:
        assert Path(f"/proc/{rabbit.pid}").stat().st_uid != 0
        assert Path(f"/proc/{rabbit.epmd_pid}").stat().st_uid != 0


def test_a_wrong_expression_is_an_error(rabbit: PrivateRabbit) -> None:
    with pytest.raises(RuntimeError, match="undef"):
        rabbit.eval("nothing:here()")


def test_callers_do_not_turn_each_other_away(rabbit: PrivateRabbit) -> None:
    with ThreadPoolExecutor(4) as callers:
        answers = list(callers.map(rabbit.eval, ["timer:sleep(500)"] * 4))
    assert answers == ["ok"] * 4


async def declare_delay_queues(dsn: str) -> None:
    async with linked(dsn) as link:
        await declare(await link.channel(), Topology().plan())


@pytest.mark.wide
def test_vhosts_come_and_go_and_survive_a_kill(rabbit: PrivateRabbit) -> None:
    """And the last of them does not take the supervisor of all delay queues with it: its own were
    about to get their leaders when it was deleted."""
    dsn = rabbit.create_vhost()
    name = urlsplit(dsn).path[1:]
    asyncio.run(declare_delay_queues(dsn))
    pid, epmd_pid = rabbit.pid, rabbit.epmd_pid
    rabbit.kill()
    with pytest.raises(ConnectionRefusedError):
        greets(rabbit)
    rabbit.start()
    assert rabbit.pid != pid
    assert rabbit.epmd_pid == epmd_pid
    assert greets(rabbit)
    assert name in rabbit.eval("rabbit_vhost:list_names()")
    rabbit.delete_vhost(dsn)
    assert name not in rabbit.eval("rabbit_vhost:list_names()")
    assert rabbit.eval("whereis(rabbit_fifo_dlx_sup)") != "undefined"


@pytest.mark.wide
def test_neither_broker_nor_port_mapper_outlives_the_process_that_started_them() -> None:
    script = "import os; from tests.servers.rabbitmq import *; r = PrivateRabbit(); r.start()"
    script += "; print(r.pid, r.epmd_pid, r.folder, flush=True); os.kill(os.getpid(), 9)"
    env = {name: value for name, value in os.environ.items() if name != ELSEWHERE}
    out = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False, env=env
    ).stdout
    broker, epmd, folder = out.split()
    gone = "for i in $(seq 600); do kill -0 $0 2>/dev/null || break; sleep 0.05; done; ! kill -0 $0"
    for pid in (broker, epmd):
        subprocess.run(["sh", "-c", gone, pid], check=True, capture_output=True)
    subprocess.run(["rm", "-r", folder], check=True)


def test_leaves_a_broker_elsewhere_alone(
    monkeypatch: pytest.MonkeyPatch, rabbit: PrivateRabbit
) -> None:
    monkeypatch.setenv(ELSEWHERE, rabbit.dsn())
    with PrivateRabbit() as other:
        assert other.create_vhost() == other.dsn() == rabbit.dsn()
        for verb in (other.start, other.stop, other.kill, other.block, other.freeze):
            with pytest.raises(NotPrivate):
                verb()
    assert greets(rabbit)


def test_packages_start_no_servers_while_they_are_installed(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = tmp_path_factory.mktemp("sbin") / "policy-rc.d"
    monkeypatch.setattr("tests.servers.POLICY", policy)
    with no_service_starts():
        assert subprocess.run([policy], check=False).returncode == 101
    assert not policy.exists()
    policy.write_text("somebody's own")
    with no_service_starts():
        assert policy.read_text() == "somebody's own"
    assert policy.exists()
