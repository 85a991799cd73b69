"""A Django project with tasks, on the database that the environment names."""

import os
from urllib.parse import urlsplit

import django

from postroad import Exponential

_DATABASE = urlsplit(os.environ.get("SHOP_DATABASE", ""))
SECRET_KEY = "only for tests"
USE_TZ = True
INSTALLED_APPS = ["tests.django.project", "postroad.django"]
if django.VERSION < (6, 0):
    INSTALLED_APPS.append("django_tasks")
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
if _DATABASE.scheme:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.postgresql",
            "NAME": _DATABASE.path.lstrip("/"),
            "USER": _DATABASE.username,
            "PASSWORD": _DATABASE.password,
            "HOST": _DATABASE.hostname,
            "PORT": str(_DATABASE.port),
        }
    }
else:
    DATABASES = {
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": os.environ.get("SHOP_FILE", ":memory:"),
        }
    }
DATABASES["other"] = {"ENGINE": "django.db.backends.dummy"}
_OPTIONS: dict[str, object] = {"retries": 1, "timeout": 30}
if os.environ.get("SHOP_SOON"):
    _OPTIONS = {"ladder": Exponential(retries=1, base_ms=20), "timeout": 30}
if os.environ.get("SHOP_ROAD"):
    _OPTIONS["dsn"] = os.environ["SHOP_ROAD"]
TASKS = {
    "default": {
        "BACKEND": "postroad.django.Backend",
        "QUEUES": ["default", "mail"],
        "OPTIONS": _OPTIONS,
    }
}
