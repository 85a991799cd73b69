"""How a page is asked for."""

from typing import Annotated

from litestar.params import QueryParameter

from postroad.verbs.paging import PAGE_MAX

Limit = Annotated[int, QueryParameter(ge=1, le=PAGE_MAX)]
After = Annotated[str, QueryParameter(description="The `after` of the page before")]
