"""How a page is asked for."""

from typing import Annotated

from litestar.params import QueryParameter

from postroad.model.texts import QUEUE_MAX
from postroad.verbs.paging import PAGE_MAX

Limit = Annotated[int, QueryParameter(ge=1, le=PAGE_MAX)]
After = Annotated[
    str, QueryParameter(max_length=QUEUE_MAX, description="The `after` of the page before")
]
