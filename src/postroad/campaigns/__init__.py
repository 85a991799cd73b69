"""Campaigns: one template to many recipients, at the allowed rate, and stoppable at any time."""
