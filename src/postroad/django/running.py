"""Runs one of Django's tasks as a try of a message."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

from django.apps import apps
from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone
from django.utils.module_loading import import_string

from postroad.django.tasks import (
    Task,
    TaskContext,
    TaskError,
    TaskResult,
    TaskResultStatus,
    task_finished,
    task_started,
)
from postroad.model.bodies import encode_body
from postroad.model.errors import BadBody, Reject
from postroad.transports.job import Message
from postroad.transports.job_result import RESULT_BYTES_MAX

RUNNING_S: Final = 0.5
"""A task that runs for so long is RUNNING; shorter ones are not reported, which costs nothing."""


def run_task(message: Message[dict[str, Any]]) -> Any:
    """Run the task that a message names."""
    close_old_connections()
    try:
        return _run(message)
    finally:
        close_old_connections()


@asynccontextmanager
async def telling(message: Message[Any]) -> AsyncIterator[None]:
    """Have a task that runs for some time be seen as such by other processes."""
    loop = asyncio.get_running_loop()
    timer = loop.call_later(RUNNING_S, message.progress, 0)
    try:
        yield
    finally:
        timer.cancel()


def _run(message: Message[dict[str, Any]]) -> Any:
    task = load_task(message.body["task"]).using(priority=message.body["priority"])
    result = task_result(task, message.id, message.body, message.attempt)
    sender = type(task.get_backend())
    task_started.send(sender=sender, task_result=result)
    context = (TaskContext(task_result=result),) if task.takes_context else ()
    try:
        value = _kept(task, task.call(*context, *result.args, **result.kwargs))
    except Exception as error:
        result.errors.append(task_error(error))
        _end(result, TaskResultStatus.FAILED)
        task_finished.send(sender=sender, task_result=result)
        raise
    object.__setattr__(result, "_return_value", value)
    _end(result, TaskResultStatus.SUCCESSFUL)
    task_finished.send(sender=sender, task_result=result)
    return value


def _kept(task: Any, value: Any) -> Any:
    """What a task returned, if it can be kept, where results are."""
    if not task.get_backend().supports_get_result:
        return value
    try:
        written = encode_body(value)
    except BadBody as error:
        why = str(error).removeprefix("the body ").split(": send plain data")[0]
        raise _unkept(task, why, "return plain data") from None
    if len(written) > RESULT_BYTES_MAX:
        why = f"has {len(written)} bytes, the limit is {RESULT_BYTES_MAX}"
        raise _unkept(task, why, "store it elsewhere and return a reference to it")
    return value


def _unkept(task: Any, why: str, do: str) -> Reject:
    """Repeating the task would return the same."""
    return Reject(
        f"BadResult: what the task {task.module_path} returned {why}: {do}, or keep no results, "
        f'with "result_ttl": 0 in the OPTIONS of TASKS[{task.backend!r}]'
    )


def load_task(path: str) -> Any:
    """Import a task of the project. One that is gone is rejected: no retry brings it back."""
    module = path.rpartition(".")[0]
    if module not in sys.modules and path.partition(".")[0] not in _packages():
        raise Reject(f"{path} is in no package of this project's apps: it is not imported")
    try:
        found = import_string(path)
    except ImportError as error:
        raise Reject(f"there is no task {path} here: {error}") from None
    if not isinstance(found, Task):
        raise Reject(f"{path} is no task: it is not called")
    return found


def _packages() -> set[str]:
    """Where tasks may be: in the packages of installed apps, and beside the settings."""
    names = [app.name for app in apps.get_app_configs()]
    return {name.partition(".")[0] for name in (*names, getattr(settings, "SETTINGS_MODULE", ""))}


def task_result(task: Any, number: str, body: dict[str, Any], attempt: int) -> Any:
    """What Django calls the result of a task that runs."""
    now = timezone.now()
    return TaskResult(
        task=task,
        id=number,
        status=TaskResultStatus.RUNNING,
        enqueued_at=None,
        started_at=now,
        finished_at=None,
        last_attempted_at=now,
        args=body["args"],
        kwargs=body["kwargs"],
        backend=task.backend,
        errors=[],
        worker_ids=["postroad"] * attempt,
    )


def task_error(error: Exception) -> Any:
    """What Django calls the error of a task."""
    from traceback import format_exception

    kind = type(error)
    path = f"{kind.__module__}.{kind.__qualname__}"
    return TaskError(exception_class_path=path, traceback="".join(format_exception(error)))


def _end(result: Any, status: Any) -> None:
    object.__setattr__(result, "status", status)
    object.__setattr__(result, "finished_at", timezone.now())
