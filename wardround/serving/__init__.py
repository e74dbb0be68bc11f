"""Serving the graphs: who may call the server, and what a run there may use."""
