"""`postroad doctor`: what is set up, what is wrong, and how to fix it."""

from typing import Final

from click.exceptions import Exit

from postroad.cli.command import Listing, command
from postroad.cli.options import Group

MARKS: Final = {"ok": "✓", "warn": "!", "fail": "✗"}


def add(app: Group) -> None:
    """Add the command."""
    command(app, "doctor", panel="Look after it")(doctor)


def doctor(call: Listing) -> None:
    """Check settings, port, certificate, disk, store, schema, clock, notifications, workers,
    circuits, the dead set and tokens, and say how to fix what is wrong. With --server that server
    is asked. The exit code is 1 if something is broken."""
    from postroad.cli.checks import run_checks  # with stores and drivers

    findings = run_checks(call)
    if not call.printed(findings):
        rows = [(MARKS[each.state], each.part, each.found, each.mend) for each in findings]
        call.table(("", "part", "found~", "how to fix it~"), rows)
    if any(each.state == "fail" for each in findings):
        raise Exit(1)
