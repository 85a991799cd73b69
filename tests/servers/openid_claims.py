"""What the provider says about people, and its addresses."""

from typing import Any

from django.contrib.auth.views import LoginView
from django.http import HttpResponse
from django.urls import include, path
from oauth2_provider.oauth2_validators import OAuth2Validator


class Claims(OAuth2Validator):  # type: ignore[misc]
    oidc_claim_scope = None

    def get_additional_claims(self, request: Any) -> dict[str, Any]:
        person = request.user
        groups = ["road-operators"] if person.username == "ada" else ["guests"]
        known = {"email": person.email, "email_verified": True}
        return {**known, "preferred_username": person.username, "groups": groups}


urlpatterns = [
    path("favicon.ico", lambda _: HttpResponse(status=204)),
    path("in", LoginView.as_view()),
    path("o/", include("oauth2_provider.urls", namespace="oauth2_provider")),
]
