"""Many cases, many settings: configuration, runner, run directory, command line."""
