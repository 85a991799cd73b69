"""The web application: all routes, joined with one road."""

from typing import Any, Final

from litestar import Litestar, Request
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

from postroad.api.answering import HANDLERS
from postroad.api.context import Context
from postroad.api.problems import BadRequest, FieldError
from postroad.api.routes import (
    batch,
    campaigns,
    credentials,
    dead,
    endpoints,
    health,
    keys,
    mailboxes,
    messages,
    metrics,
    queues,
    stats,
    tokens,
)

ROUTES: Final = (
    *messages.ROUTES,
    *batch.ROUTES,
    *dead.ROUTES,
    *queues.ROUTES,
    *endpoints.ROUTES,
    *stats.ROUTES,
    *campaigns.ROUTES,
    *credentials.ROUTES,
    *tokens.ROUTES,
    *keys.ROUTES,
    *mailboxes.ROUTES,
    *health.ROUTES,
    *metrics.ROUTES,
)
"""A new group of routes is a file in api/routes/ whose ROUTES are added here."""


def make_app(context: Context) -> Litestar:
    """The application for one road."""
    app = Litestar(
        list(ROUTES),
        guards=[context.access.check],
        before_request=refuse_unknown_parameters,
        exception_handlers=HANDLERS,
        request_max_body_size=context.settings.request_bytes_max,
        openapi_config=openapi(),
        logging_config=None,
        pdb_on_exception=False,
    )
    app.state.context = context
    return app


def openapi() -> OpenAPIConfig:
    """OpenAPI 3.1, at /v1/openapi.json."""
    bearer = SecurityScheme(type="http", scheme="bearer", description="`postroad token make`")
    return OpenAPIConfig(
        title="Postroad",
        version="1",
        description="Hand it a message for somebody else's server, and it gets there.",
        path="/v1",
        render_plugins=[JsonRenderPlugin(path="/openapi.json")],
        components=Components(security_schemes={"bearer": bearer}),
        security=[{"bearer": []}],
        use_handler_docstrings=True,
        create_examples=False,
    )


async def refuse_unknown_parameters(request: "Request[Any, Any, Any]") -> None:
    """A mistyped filter must not mean "everything"."""
    known = request.route_handler.parsed_fn_signature.parameters
    for name in request.query_params:
        if name not in known or name == "request":
            raise BadRequest(
                f"{name}: there is no such parameter", (FieldError(name, "unknown parameter"),)
            )
