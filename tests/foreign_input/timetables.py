"""The door of timetables: cron lines, which tenants write."""

from postroad.model.errors import BadInput
from postroad.model.ticks import Schedule
from postroad.verbs.cron import check_plan, told_when
from tests.foreign_input.shape import BARE, Door

CRON = ("check_plan", "ticks_after", "told_when", "zone_of")


def timetable(data: bytes) -> str:
    plan = Schedule("it", data.decode("latin-1"), "UTC")
    check_plan(plan.cron, plan.tz)
    return told_when(plan)


DOORS = (
    Door(
        "a timetable",
        timetable,
        tuple(f"verbs/cron.py:{name}" for name in CRON),
        size=192,
        frames=(BARE, (b"*/", b" * * * *"), (b"1", b" * * * *"), (b"* * * * ", b"")),
        raises=(BadInput,),
    ),
)
