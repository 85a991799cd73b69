"""The roads of Django's task backends, one for each process: `postroad.django.roads:ALIAS`."""

import atexit
import os
import threading
from typing import Any

from postroad import sync
from postroad.app import Postroad
from postroad.django.running import run_task
from postroad.model.errors import BadInput

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
            found = sync.Postroad(dsn)
            for name in sorted(backend.queues):
                _ = found.handler(queue_of(name), **backend.handler_options)(run_task)  # known now
            found.open()
            _OPEN[os.getpid(), dsn] = found
            atexit.register(_close, os.getpid(), dsn)
    return found


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
