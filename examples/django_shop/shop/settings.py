"""Django's settings, as small as they can be. The road is a SQLite file that the worker owns."""

import django

SECRET_KEY = "put your own here"  # noqa: S105
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "shop.urls"
USE_TZ = True
INSTALLED_APPS = ["shop", "postroad.django"]
if django.VERSION < (6, 0):
    INSTALLED_APPS.append("django_tasks")
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.db"}}
TASKS = {
    "default": {
        "BACKEND": "postroad.django.Backend",
        "OPTIONS": {"dsn": "sqlite:///tasks.db", "retries": 5, "timeout": 60},
    }
}
