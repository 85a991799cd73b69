"""`postroad doctor`: what is set up, what is wrong, and how to mend it."""

from typing import Final

import typer

from postroad.cli.command import Invocation, command
from postroad.cli.printing import as_json, table

MARKS: Final = {"ok": "✓", "warn": "!", "fail": "✗"}


def add(app: typer.Typer) -> None:
    """These commands."""
    command(app, "doctor", rich_help_panel="Look after it")(doctor)


def doctor(call: Invocation) -> None:
    """Look at settings, store, schema, SQLite, clock, disk and bell; says how to mend each. Ends
    with 1 when something is broken."""
    from postroad.cli.checks import run_checks  # with stores and drivers

    findings = run_checks(call)
    if call.json:
        as_json(findings)
    else:
        rows = [(MARKS[each.state], each.part, each.found, each.mend) for each in findings]
        table(("", "part", "found", "how to mend it"), rows)
    if any(each.state == "fail" for each in findings):
        raise typer.Exit(1)
