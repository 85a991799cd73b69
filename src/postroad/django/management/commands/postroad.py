"""`manage.py postroad …`: the commands of `postroad` on the road of Django's tasks."""

import os
from argparse import REMAINDER, ArgumentParser
from typing import Any, Final

from django.core.management.base import BaseCommand

from postroad.cli.root import app
from postroad.django.backend import backends

RUN: Final = ("worker", "up", "api")


class PostroadCommand(BaseCommand):  # type: ignore[misc]  # Django has no types
    """Runs a command of `postroad`."""

    help = "Run `postroad COMMAND …`, as `worker`, on the road of TASKS."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options of this command; what follows is the other's."""
        parser.add_argument("--backend", default="default", help="The alias in TASKS.")
        parser.add_argument("words", nargs=REMAINDER, help="As in `worker --processes 2`.")

    def handle(self, *_: object, backend: str, words: list[str], **_options: Any) -> None:
        """Run it."""
        os.environ.setdefault("POSTROAD_DSN", backends()[backend].dsn)
        name, rest = words[:1], words[1:]
        road = ["--app", f"postroad.django.roads:{backend}"] if name and name[0] in RUN else []
        _ = app([*name, *road, *rest], prog_name="manage.py postroad")  # it ends the process


Command = PostroadCommand
"""The name that Django looks for."""
