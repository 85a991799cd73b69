"""What became of a task, as Django asks for it."""

from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from django.utils import timezone

from postroad import sync
from postroad.django.running import load_task
from postroad.django.tasks import (
    TaskError,
    TaskResult,
    TaskResultDoesNotExist,
    TaskResultStatus,
)
from postroad.model.errors import BadInput, NoBody, Reject, UnknownMessage
from postroad.model.explain import Explanation
from postroad.model.outcome import Kind
from postroad.model.states import State
from postroad.model.tries import Try
from postroad.verbs.jobs import JobEnd

PREFIX: Final = "django:"
STATUS: Final = {
    State.sending: TaskResultStatus.RUNNING,
    State.delivered: TaskResultStatus.SUCCESSFUL,
    State.dead: TaskResultStatus.FAILED,
    State.cancelled: TaskResultStatus.FAILED,
}
"""The others are READY: to be run, or to be run again."""
NOT_THERE: Final = (UnknownMessage, NoBody, BadInput, Reject)
NO_CLASS: Final = "postroad.errors.JobFailed"
"""The class of a failure that no exception of the task is: cut at its timeout, rejected, lost."""


def read_result(road: sync.Postroad, alias: str, number: str) -> Any:
    """Read the result of a task; TaskResultDoesNotExist if nothing of it is there (any more)."""
    try:
        end = road.jobs.wait(number, timeout=0)
        told = road.explain(number)
        body = msgspec.json.decode(road.messages.body(number).body)
        task = load_task(body["task"])
    except (*NOT_THERE, LookupError, TypeError, ValueError) as error:
        raise TaskResultDoesNotExist(f"{number}: {error}") from error
    if not told.queue.startswith(PREFIX) or (end.state == State.delivered and not end.kept):
        raise TaskResultDoesNotExist(number)
    queue = told.queue.removeprefix(PREFIX)
    task = task.using(priority=body["priority"], queue_name=queue, backend=alias)
    return _result(task, body, told, end)


def _result(task: Any, body: dict[str, Any], told: Explanation, end: JobEnd) -> Any:
    starts = [each.started_at_ms for each in told.tries if each.started_at_ms]
    if end.state == State.sending:  # its start is recorded with its end: it has run by then
        now_ms = int(timezone.now().timestamp() * 1000)
        starts.append(end.progress.at_ms if end.progress else now_ms)
    result = TaskResult(
        task=task,
        id=told.id,
        status=STATUS.get(State(end.state), TaskResultStatus.READY),
        enqueued_at=_time(told.accepted_at_ms),
        started_at=_time(min(starts, default=None)),
        finished_at=_time(told.finished_at_ms),
        last_attempted_at=_time(max(starts, default=None)),
        args=body["args"],
        kwargs=body["kwargs"],
        backend=task.backend,
        errors=_errors(told, end),
        worker_ids=["postroad"] * (len(told.tries) + (end.state == State.sending)),
    )
    object.__setattr__(result, "_return_value", end.result)
    return result


def _errors(told: Explanation, end: JobEnd) -> list[Any]:
    """One for each try that failed: what was raised, else what was noted."""
    raised = {one.attempt: one for one in end.failures}
    return [
        TaskError(
            exception_class_path=raised[each.number].type if each.number in raised else NO_CLASS,
            traceback=raised[each.number].traceback if each.number in raised else each.error,
        )
        for each in told.tries
        if _failed(each)
    ]


def _failed(each: Try) -> bool:
    return each.outcome not in (Kind.delivered, Kind.later, Kind.quota)


def _time(at_ms: int | None) -> datetime | None:
    return None if at_ms is None else datetime.fromtimestamp(at_ms / 1000, UTC)
