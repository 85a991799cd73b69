"""A Django project whose sign-up enqueues a welcome."""
