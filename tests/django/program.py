"""A program of the project: `python -m tests.django.program WHAT`. It prints what it found."""

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import django

django.setup()

from django.core.exceptions import ImproperlyConfigured  # noqa: E402
from django.db import connection, transaction  # noqa: E402

from postroad.django.roads import sending_road  # noqa: E402
from postroad.django.running import load_task  # noqa: E402
from postroad.django.tasks import (  # noqa: E402
    InvalidTask,
    TaskResultDoesNotExist,
    TaskResultMismatch,
    TaskResultStatus,
    task_enqueued,
)
from postroad.model.errors import NoOwner, Reject  # noqa: E402
from tests.django.project import jobs  # noqa: E402


def enqueue() -> dict[str, Any]:
    """Enqueue in transactions that commit and that do not, and outside of any."""
    heard: list[str] = []
    task_enqueued.connect(lambda task_result, **_: heard.append(task_result.id), weak=False)
    outside = jobs.add.enqueue(1, two=2)
    with transaction.atomic():
        inside = jobs.add.enqueue(10, two=20)
    with transaction.atomic():
        _ = jobs.add.enqueue(100)
        transaction.set_rollback(True)
    with transaction.atomic():
        with transaction.atomic():  # a savepoint
            _ = jobs.add.enqueue(1000)
            transaction.set_rollback(True)
    later = jobs.add.using(run_after=datetime.now(UTC) + timedelta(hours=1)).enqueue(5)
    coroutine = asyncio.run(jobs.post.aenqueue("ann"))
    context = jobs.told.enqueue("hello")
    ids = [each.id for each in (outside, inside, later, coroutine, context)]
    return {
        "ids": ids,
        "heard": set(ids) <= set(heard),
        "status": outside.status,
        "args": [list(outside.args), outside.kwargs],
        "unfinished": not outside.is_finished,
    }


def results() -> dict[str, Any]:
    """What can be asked about tasks, by Django's documentation."""
    backend = jobs.add.get_backend()
    added = jobs.add.enqueue(1, two=2)
    read = ended(jobs.add.get_result(added.id))
    told = ended(jobs.told.enqueue("hello"))
    failed = ended(jobs.refuse.enqueue("no such user"))
    odd = ended(jobs.odd.enqueue())
    file = Path(os.environ["SHOP_NOTES"]).with_name("go")
    slow = jobs.slow.enqueue(str(file))
    until(lambda: refreshed(slow).status == TaskResultStatus.RUNNING)
    began = slow.enqueued_at <= slow.started_at == slow.last_attempted_at
    running = (slow.is_finished, began, slow.attempts, refused(lambda: slow.return_value))
    file.touch()
    asyncio.run(arefreshed(slow))
    again = asyncio.run(backend.aget_result(added.id))
    waiting = jobs.add.using(run_after=datetime.now(UTC) + timedelta(hours=1), priority=3).enqueue(
        5
    )
    waiting = backend.get_result(waiting.id)
    return {
        "supports": backend.supports_get_result,
        "read": [read.id == added.id, read.status, read.return_value, read.args, read.kwargs],
        "task": [read.task == added.task, waiting.task.priority, again.return_value],
        "times": timely(read),
        "told": [told.status, told.attempts, [one.exception_class_path for one in told.errors]],
        "failed": [failed.status, failed.attempts, refused(lambda: failed.return_value)],
        "errors": [one.exception_class is KeyError for one in failed.errors],
        "traceback": "no such user" in failed.errors[-1].traceback,
        "odd": [odd.status, odd.attempts, odd.errors[-1].traceback],
        "running": running,
        "slow": slow.return_value,
        "waiting": [waiting.status, waiting.started_at, waiting.attempts],
        "unknown": refused(lambda: backend.get_result("msg_0ajpfmtjg0001")),
        "foreign": refused(lambda: backend.get_result(sent_by_hand(backend))),
        "nonsense": refused(lambda: backend.get_result("what?")),
        "mismatch": refused(lambda: jobs.told.get_result(added.id)),
    }


def sent_by_hand(backend: Any) -> str:
    """The id of a message that is no task: its body is bytes."""
    receipt = sending_road(backend).send("django:default", b'"\xff"', delay=3_600)
    return str(receipt.id)


def timely(read: Any) -> bool:
    """Whether the times of a result are whole, and in their order."""
    started = read.started_at == read.last_attempted_at
    return bool(read.enqueued_at <= read.started_at <= read.finished_at) and started


def refused(ask: Callable[[], object]) -> str:
    """The error that comes instead of an answer."""
    try:
        return f"answered {ask()}"
    except (ValueError, TaskResultDoesNotExist, TaskResultMismatch) as error:
        return type(error).__name__


def refreshed(result: Any) -> Any:
    """A result as it is now."""
    result.refresh()
    return result


async def arefreshed(result: Any) -> None:
    """Wait for the end of a task, as a coroutine does."""
    while not result.is_finished:
        await asyncio.sleep(0.02)
        await result.arefresh()


def ended(result: Any) -> Any:
    """A result when its task has ended."""
    until(lambda: refreshed(result).is_finished)
    return result


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    end = time.monotonic() + 50
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


def alone() -> dict[str, Any]:
    """What an enqueue says while no worker runs."""
    try:
        _ = jobs.add.enqueue(1)
    except NoOwner as error:
        return {"said": str(error)}
    return {"said": "nothing"}


def mistakes() -> dict[str, str]:
    """What is refused, by what."""
    found = {}
    refused: dict[str, Callable[[], object]] = {
        "queue": lambda: jobs.add.using(queue_name="nobody"),
        "priority": lambda: jobs.add.using(priority=101),
        "naive": lambda: jobs.add.using(run_after=datetime(2030, 1, 1)),  # noqa: DTZ001
        "argument": lambda: jobs.add.enqueue(object()),
    }
    for name, call in refused.items():
        try:
            _ = call()
        except (InvalidTask, TypeError) as error:
            found[name] = str(error)
    return found


def sessions() -> dict[str, Any]:
    """What else is true of a connection after an enqueue: it is still Django's."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("create temporary table seen (a int)")
        _ = jobs.add.enqueue(1)
        cursor.execute("insert into seen values (1)")
        cursor.execute("select count(*) from seen")
        return {"rows": cursor.fetchone()[0]}


def options() -> dict[str, str]:
    """Options that cannot be."""
    from postroad.django import Backend

    found = {}
    wrong: dict[str, dict[str, object]] = {
        "retries": {"retrys": 3},
        "timeout": {"timeout": -1},
        "database": {"database": "other"},
    }
    for name, given in wrong.items():
        try:
            Backend("default", {"OPTIONS": {"dsn": "sqlite:///tasks.db", **given}})
        except ImproperlyConfigured as error:
            found[name] = str(error)
    return found


def addresses() -> dict[str, str]:
    """The road's address for what Django's database says, asked of one backend."""
    from postroad.django import Backend

    backend = Backend("default", {"OPTIONS": {}})
    own = connection.settings_dict
    own |= {"USER": "ann", "PASSWORD": "a/b", "HOST": "db", "PORT": "", "NAME": "shop"}
    changed: dict[str, dict[str, object]] = {
        "test": {"NAME": "test_shop"},
        "tls": {"OPTIONS": {"sslmode": "verify-full", "sslrootcert": "/ca", "pool": True}},
        "socket": {"HOST": "/run/pg", "OPTIONS": {}},
        "nowhere": {"HOST": ""},
        "six": {"HOST": "2001:db8::1", "PORT": 6432},
        "refused": {"OPTIONS": {"assume_role": "eve"}},
    }
    found = {}
    for name, said in changed.items():
        own |= said
        try:
            found[name] = backend.dsn
        except ImproperlyConfigured as error:
            found[name] = str(error)
    return found


def strangers() -> dict[str, Any]:
    """What comes of messages that name what is no task of this project."""
    found: dict[str, Any] = {}
    for path in ("this.s", "tests.django.project.jobs.note", "tests.django.project.jobs.gone"):
        try:
            found[path] = str(load_task(path))
        except Reject as error:
            found[path] = str(error)
    found["loaded"] = load_task("tests.django.project.jobs.add") is jobs.add
    found["imported"] = "this" in sys.modules
    return found


if __name__ == "__main__":
    said = {
        "addresses": addresses,
        "alone": alone,
        "enqueue": enqueue,
        "mistakes": mistakes,
        "options": options,
        "results": results,
        "sessions": sessions,
        "strangers": strangers,
    }
    sys.stdout.write(json.dumps(said[sys.argv[1]]()) + "\n")
