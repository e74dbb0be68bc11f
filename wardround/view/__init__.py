"""The run viewer: a local web server for many runs, which reads data on request."""
