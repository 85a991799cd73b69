"""Property tests are the same on every machine: no deadline, no database of old examples."""

from hypothesis import settings

settings.register_profile("postroad", deadline=None, database=None, derandomize=True)
settings.load_profile("postroad")
