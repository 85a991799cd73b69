"""Postroad as the backend of Django's tasks: `django.tasks` of Django 6, and the package
`django-tasks` before.

    INSTALLED_APPS = [..., "postroad.django"]
    TASKS = {"default": {"BACKEND": "postroad.django.Backend", "OPTIONS": {"dsn": "postgresql://…"}}}

`manage.py postroad worker` runs the tasks.
"""

from postroad.django.backend import Backend

__all__ = ["Backend"]
