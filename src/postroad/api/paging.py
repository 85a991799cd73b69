"""The parameters of every route that answers in pages."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta

from postroad.model.states import NEVER
from postroad.model.texts import AFTER_MAX
from postroad.verbs.paging import PAGE_MAX

Limit = Annotated[int, Meta(ge=1, le=PAGE_MAX)]
After = Annotated[str, Meta(max_length=AFTER_MAX, description="The `after` of the page before")]
Most = Annotated[
    int, Meta(ge=1, le=NEVER, description="Count up to so many, which bounds the cost; all")
]
Moment = Annotated[datetime, Meta(extra_json_schema={"format": "date-time"})]
