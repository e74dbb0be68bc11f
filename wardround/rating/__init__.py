"""Human ratings of runs: collected blind on a local page, with agreement among people and with judges."""
