"""`postroad doctor`: what is set up, what is wrong, and how to mend it."""

from typing import Final

from click.exceptions import Exit

from postroad.cli.frame import CommandCall, command
from postroad.cli.options import Group
from postroad.cli.printing import as_json, table

MARKS: Final = {"ok": "✓", "warn": "!", "fail": "✗"}


def add(app: Group) -> None:
    """These commands."""
    command(app, "doctor", panel="Look after it")(doctor)


def doctor(call: CommandCall) -> None:
    """Look at settings, store, schema, SQLite, clock, disk and bell; says how to mend each. Ends
    with 1 when something is broken."""
    from postroad.cli.examining import examine  # with stores and drivers

    findings = examine(call)
    if call.json:
        as_json(findings)
    else:
        rows = [(MARKS[each.state], each.part, each.found, each.mend) for each in findings]
        table(("", "part", "found", "how to mend it"), rows)
    if any(each.state == "fail" for each in findings):
        raise Exit(1)
