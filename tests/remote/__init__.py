"""Roads that another process serves."""
