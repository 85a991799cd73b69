"""Webhooks: signed POST requests to other people's servers, through a guard."""
