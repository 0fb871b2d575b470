"""Settings of all tests: hypothesis keeps no files and sets no deadline."""

from hypothesis import settings

settings.register_profile("crossgrain", database=None, deadline=None)
settings.load_profile("crossgrain")
