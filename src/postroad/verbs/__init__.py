"""What people do with a road every day, over the store's small ports."""
