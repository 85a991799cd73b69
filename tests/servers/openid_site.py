"""An OpenID provider as a program: Django with django-oauth-toolkit, one person, one client."""

import json
import sys
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings

FOLDER = Path(sys.argv[1])
GIVEN = json.loads((FOLDER / "provider.json").read_text())
URL = f"http://127.0.0.1:{GIVEN['port']}"
settings.configure(
    ALLOWED_HOSTS=["127.0.0.1"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": FOLDER / "db"}},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "oauth2_provider",
    ],
    LOGIN_URL="/in",
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    OAUTH2_PROVIDER={
        "OAUTH2_VALIDATOR_CLASS": "tests.servers.openid_claims.Claims",
        "OIDC_ENABLED": True,
        "OIDC_ISS_ENDPOINT": f"{URL}/o",
        "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
        "OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT": False,
        "OIDC_RP_INITIATED_LOGOUT_STRICT_REDIRECT_URIS": True,
        "OIDC_RSA_PRIVATE_KEY": GIVEN["key"],
        "PKCE_REQUIRED": True,
        "SCOPES": {"openid": "who you are", "profile": "your name", "email": "your address"},
    },
    ROOT_URLCONF="tests.servers.openid_claims",
    MIGRATION_MODULES=dict.fromkeys(("auth", "contenttypes", "sessions", "oauth2_provider")),
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],  # the slow ones take 5 s
    SECRET_KEY="of a test",
    SESSION_COOKIE_NAME="provider",
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "OPTIONS": {
                "loaders": [
                    (
                        "django.template.loaders.locmem.Loader",
                        {
                            "registration/login.html": "<form method=post action='{{ request.get_full_path }}'>"
                            "<label>Name <input name=username></label>"
                            "<label>Password <input name=password type=password></label>"
                            "<input type=hidden name=next value='{{ next }}'>{% csrf_token %}"
                            "<button>Enter</button></form>",
                            "oauth2_provider/logout_confirm.html": "<form method=post>"
                            "{% csrf_token %}{{ form }}"
                            "<button name=allow value=yes>Logout</button></form>",
                        },
                    ),
                ],
                "context_processors": ["django.template.context_processors.request"],
            },
        }
    ],
    USE_TZ=True,
)


class Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


def fill() -> None:
    """The person and the client, if they are not there yet."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from oauth2_provider.models import get_application_model

    call_command("migrate", verbosity=0, run_syncdb=True)
    people: Any = get_user_model()
    if not people.objects.exists():
        for name in ("ada", "eve"):
            people.objects.create_user(name, f"{name}@example.com", "correct horse")
        get_application_model().objects.create(
            client_id="postroad",
            client_secret="of a test",
            redirect_uris=GIVEN["redirect"],
            post_logout_redirect_uris=GIVEN["out"],
            client_type="confidential",
            authorization_grant_type="authorization-code",
            algorithm="RS256",
            skip_authorization=True,
        )


if __name__ == "__main__":
    django.setup()
    fill()
    from django.core.wsgi import get_wsgi_application

    with make_server("127.0.0.1", GIVEN["port"], get_wsgi_application(), Server, Quiet) as server:
        server.serve_forever()
