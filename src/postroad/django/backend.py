"""The backend of Django's tasks: a task is a message to the handler of its queue."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from postroad.django.database import check_vendor, own_dsn, transaction_of
from postroad.django.results import read_result
from postroad.django.roads import queue_of, sending_road, told_without_worker
from postroad.django.tasks import (
    BaseTaskBackend,
    InvalidTask,
    TaskResult,
    TaskResultStatus,
    task_enqueued,
)
from postroad.model.errors import BadInput
from postroad.verbs.handler_options import HandlerOptions, handler_policy

OWN_OPTIONS = {"dsn", "database"}
RESULT_TTL_S = 86_400
"""How long results are kept, unless the option `result_ttl` says otherwise."""


class Backend(BaseTaskBackend):  # type: ignore[misc]  # Django has no types
    """Stores tasks in a road. Options: `dsn`, else Django's own database; `database`, the alias of
    the one whose transactions count; and those of a handler, as `retries` and `timeout`."""

    supports_defer = True
    supports_async_task = True
    supports_priority = True
    supports_get_result = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, params)
        self.database: str = self.options.get("database", "default")
        check_vendor(self.database)
        on_broker = self.dsn.startswith("amqp")
        chosen = {"result_ttl": 0 if on_broker else RESULT_TTL_S} | self.options
        chosen = {k: v for k, v in chosen.items() if k not in OWN_OPTIONS}
        if chosen["result_ttl"] and "batch" not in chosen:
            chosen.setdefault("keep_bodies", chosen["result_ttl"])  # the arguments of its tasks
        self.supports_get_result = bool(chosen["result_ttl"])
        self.handler_options: HandlerOptions = chosen  # type: ignore[assignment]  # checked next
        try:
            _ = handler_policy(queue_of("default"), self.handler_options)  # whether they fit
        except BadInput as error:
            raise ImproperlyConfigured(f"TASKS[{alias!r}]: OPTIONS: {error}") from error

    @property
    def dsn(self) -> str:
        """The road's address. Django's tests change its database after tasks were imported."""
        return self.options.get("dsn") or own_dsn(self.database)

    def enqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Store a task: inside Django's transaction, where that is in the road's database."""
        self.validate_task(task)
        result = _new_result(task, self.alias, args, kwargs)
        body = {
            "task": task.module_path,
            "args": result.args,
            "kwargs": result.kwargs,
            "priority": task.priority,
        }
        options: dict[str, Any] = {"priority": priority_of(task.priority)}
        if task.run_after is not None:
            options["deliver_at"] = task.run_after.astimezone(UTC)
        road = sending_road(self)
        transaction = transaction_of(self.database, self.dsn)
        with told_without_worker(self):
            if transaction is None:
                receipt = road.send(queue_of(task.queue_name), body, **options)
            else:
                receipt = road.send_in(transaction, queue_of(task.queue_name), body, **options)
        object.__setattr__(result, "id", receipt.id)
        object.__setattr__(result, "enqueued_at", timezone.now())
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        """What became of a task, by its id, as long as that is kept (`result_ttl`)."""
        if not self.supports_get_result:
            return super().get_result(result_id)
        road = sending_road(self)
        with told_without_worker(self):
            return read_result(road, self.alias, result_id)

    def validate_task(self, task: Any) -> None:
        """Check a task, also that a worker can find it by its name."""
        super().validate_task(task)
        if "<" in task.module_path:
            raise InvalidTask(f"{task.module_path} cannot be imported: define it in a module")


def priority_of(priority: int) -> int:
    """One of the road's 19 priorities for one of Django's 201: a higher one is never lower."""
    return int(math.copysign(math.ceil(abs(priority) * 9 / 100), priority))


def backends() -> Any:
    """Django's backends by their aliases."""
    import django

    if django.VERSION >= (6, 0):
        from django.tasks import task_backends
    else:
        from django_tasks import task_backends
    return task_backends


def _new_result(task: Any, alias: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return TaskResult(
        task=task,
        id="",
        status=TaskResultStatus.READY,
        enqueued_at=None,
        started_at=None,
        finished_at=None,
        last_attempted_at=None,
        args=list(args),
        kwargs=dict(kwargs),
        backend=alias,
        errors=[],
        worker_ids=[],
    )
