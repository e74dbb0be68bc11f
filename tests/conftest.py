"""Hypothesis without deadlines: a time limit tests the load of the machine and not the code."""

import os

from hypothesis import settings

settings.register_profile("local", settings.get_profile("default"), deadline=None)
# Hypothesis' own: the same examples every time, and none kept between runs.
settings.register_profile("ci", settings.get_profile("ci"), deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "local"))
