"""Tasks of the project. What they did is in a file."""

import os
import time
from pathlib import Path
from typing import Any

import django

if django.VERSION >= (6, 0):
    from django.tasks import task
    from django.tasks.signals import task_finished, task_started
else:
    from django_tasks import task
    from django_tasks.signals import task_finished, task_started


def note(text: str) -> None:
    """Append a line."""
    with Path(os.environ["SHOP_NOTES"]).open("a") as file:
        file.write(f"{text}\n")


def heard(word: str, result: Any) -> None:
    """Append a line about a signal."""
    with Path(os.environ["SHOP_NOTES"]).with_name("signals").open("a") as file:
        file.write(f"{word} {result.status} {result.task.name} {result.id}\n")


def started(task_result: Any, **_: object) -> None:
    heard("started", task_result)


def finished(task_result: Any, **_: object) -> None:
    heard("finished", task_result)


task_started.connect(started)
task_finished.connect(finished)


@task()  # type: ignore[untyped-decorator]
def add(one: int, two: int = 0) -> int:
    """A plain task."""
    note(f"add {one + two}")
    return one + two


@task(queue_name="mail", priority=7)  # type: ignore[untyped-decorator]
async def post(to: str) -> None:
    """A coroutine."""
    note(f"post {to}")


@task(takes_context=True)  # type: ignore[untyped-decorator]
def told(context: Any, text: str) -> None:
    """A task that is told about its try, and fails at first."""
    note(f"told {text} {context.attempt} {context.task_result.id}")
    if context.attempt == 1:
        raise ValueError("not yet")


@task()  # type: ignore[untyped-decorator]
def refuse(text: str) -> None:
    """A task that always fails."""
    raise KeyError(text)


@task()  # type: ignore[untyped-decorator]
def slow(file: str) -> str:
    """A task that runs until a file is there."""
    while not Path(file).exists():
        time.sleep(0.02)
    return "at last"


@task()  # type: ignore[untyped-decorator]
def odd() -> object:
    """A task whose result cannot be kept."""
    return object()
