"""Tasks, as Django writes them."""

import django

if django.VERSION >= (6, 0):
    from django.tasks import task
else:
    from django_tasks import task


@task()  # type: ignore[untyped-decorator]
def welcome(name: str) -> str:
    """Greet somebody."""
    return f"welcome, {name}"
