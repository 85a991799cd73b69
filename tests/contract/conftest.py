"""Async tests, and the bench that each store under test is put on."""

import asyncio
import inspect
import tempfile
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from postroad.stores.rabbitmq.topology import creating
from tests.contract.bench import Bench
from tests.contract.not_on_rabbitmq import is_left_out
from tests.contract.postgres import PostgresRig, Template
from tests.contract.rabbit import RabbitRig
from tests.contract.rigs import RIGS
from tests.servers.postgres import PrivatePostgres
from tests.servers.rabbitmq import PrivateRabbit

MEMORY = Path("/dev/shm")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Path]:
    """A folder in memory, where there is one: waiting for a disk is not what is tested here."""
    if not MEMORY.is_dir():
        yield tmp_path
        return
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        yield Path(folder)


@pytest.fixture(scope="session")
def postgres(server: PrivatePostgres) -> Iterator[Template]:
    """A road on PostgreSQL for all tests of this run."""
    with closing(Template(server)) as template:
        yield template


@pytest.fixture(scope="session")
def rabbit(broker: PrivateRabbit) -> str:
    """A vhost for all tests of this run: to declare all lines takes 2 s."""
    return broker.create_vhost()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Every test of the suite runs on every store, but for those that one names in its list."""
    if "bench" in metafunc.fixturenames and "rig" not in metafunc.fixturenames:
        module = metafunc.module.__name__.rpartition(".")[2]
        left_out = is_left_out(module, metafunc.function.__name__)
        rigs = [*RIGS, "postgres", *([] if left_out else ["rabbitmq"])]
        if metafunc.config.getoption("serverless"):
            rigs = [*RIGS]
        metafunc.parametrize("bench", rigs, indirect=True)


@pytest.fixture
def bench(request: pytest.FixtureRequest) -> Bench:
    """A store without anything in it; it is open while the test runs."""
    if request.param == "rabbitmq":
        # Nobody kills this broker: no need to wait until it has written all of a new queue.
        request.getfixturevalue("monkeypatch").setattr(creating, "SAFE_S", 0.0)
        dsn = request.getfixturevalue("rabbit")
        return Bench(RabbitRig(dsn, request.getfixturevalue("memory")))
    if request.param == "postgres":
        return Bench(PostgresRig(request.getfixturevalue("postgres")))
    return Bench(RIGS[request.param](request.getfixturevalue("memory")))


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A coroutine is run in a loop of its own, in which its bench is opened and closed; on
    PostgreSQL in that of the connections."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    given = {name: pyfuncitem.funcargs[name] for name in names}
    rigs = [value._rig for value in given.values() if isinstance(value, Bench)]
    runners = [rig.template.runner for rig in rigs if isinstance(rig, PostgresRig)]
    run = runners[0].run if runners else asyncio.run
    run(_run(pyfuncitem.obj, given))
    return True


async def _run(test: Callable[..., Coroutine[Any, Any, None]], given: dict[str, Any]) -> None:
    async with AsyncExitStack() as stack:
        for value in given.values():
            if isinstance(value, Bench):
                await stack.enter_async_context(value)
        await test(**given)
    for left in asyncio.all_tasks() - {asyncio.current_task()}:
        left.cancel()  # as a loop does at its end
