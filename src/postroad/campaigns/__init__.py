"""Campaigns: one template to many recipients, once, at the allowed rate, and stoppable."""
