"""The roads of Django's task backends, one for each process: `postroad.django.roads:ALIAS`."""

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from postroad import sync
from postroad.app import Postroad
from postroad.django.running import run_task, telling
from postroad.model.errors import BadInput, NoOwner
from postroad.verbs.parts import Parts

PATIENCE_S: Final = 3.0
"""How long a request of Django waits for a worker that is restarted."""

_OPENING = threading.Lock()
_OPEN: dict[tuple[int, str], sync.Postroad] = {}
"""Django makes a backend for each thread; they share a road. One that was opened before a fork is
its parent's."""


def queue_of(name: str) -> str:
    """The road's queue for one of Django's."""
    return f"django:{name}"


def road_of(backend: Any) -> Postroad:
    """The road that runs a backend's tasks, with a handler for each of its queues."""
    if not backend.queues:
        raise BadInput(
            f"TASKS[{backend.alias!r}]: name the queues that a worker serves, as in "
            'QUEUES: ["default"]'
        )
    road = Postroad(backend.dsn)
    _ = road.around(telling)  # it has it now
    for name in sorted(backend.queues):
        _ = road.handler(queue_of(name), **backend.handler_options)(run_task)  # it has it now
    return road


def sending_road(backend: Any) -> sync.Postroad:
    """The open road of this process that tasks are enqueued by. A SQLite file belongs to the
    worker, which is asked by its window."""
    dsn = backend.dsn.replace("sqlite:///", "road:///", 1)
    with _OPENING:
        found = _OPEN.get((os.getpid(), dsn))
        if found is None:
            found = sync.Postroad(dsn, parts=Parts(patience_s=PATIENCE_S))
            for name in sorted(backend.queues):
                _ = found.handler(queue_of(name), **backend.handler_options)(run_task)  # known now
            with told_without_worker(backend):
                found.open()
            _OPEN[os.getpid(), dsn] = found
            atexit.register(_close, os.getpid(), dsn)
    return found


@contextmanager
def told_without_worker(backend: Any) -> Iterator[None]:
    """Say in Django's words that nobody has the road's file open."""
    try:
        yield
    except NoOwner as error:
        raise NoOwner(
            f"TASKS[{backend.alias!r}] is a road on SQLite ({backend.dsn}), whose file belongs to "
            "its worker, and none runs: start `manage.py postroad worker`. On PostgreSQL tasks are "
            "stored without one"
        ) from error


def _close(pid: int, dsn: str) -> None:
    road = _OPEN.pop((pid, dsn), None)
    if road is not None and pid == os.getpid():
        road.close()


def __getattr__(alias: str) -> Postroad:
    """The road of a backend, for `--app`."""
    if alias.startswith("_"):  # asked for by the import itself
        raise AttributeError(alias)
    from postroad.django.backend import Backend, backends

    backend = backends()[alias] if alias in backends().settings else None
    if not isinstance(backend, Backend):
        raise AttributeError(alias)  # noqa: TRY004 - there is no such name here
    return road_of(backend)
