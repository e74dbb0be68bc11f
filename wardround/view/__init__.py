"""Many runs in the browser: served to this machine alone, read as they are asked for."""
