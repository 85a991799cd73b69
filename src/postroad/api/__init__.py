"""The road over HTTP: routes, access, problem answers, OpenAPI."""
