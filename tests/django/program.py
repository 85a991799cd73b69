"""A program of the project: `python -m tests.django.program WHAT`. It prints what it found."""

import asyncio
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import django

django.setup()

from django.core.exceptions import ImproperlyConfigured  # noqa: E402
from django.db import connection, transaction  # noqa: E402

from postroad.django.running import load_task  # noqa: E402
from postroad.django.tasks import InvalidTask, task_enqueued  # noqa: E402
from postroad.model.errors import Reject  # noqa: E402
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
        "enqueue": enqueue,
        "mistakes": mistakes,
        "options": options,
        "sessions": sessions,
        "strangers": strangers,
    }
    sys.stdout.write(json.dumps(said[sys.argv[1]]()) + "\n")
