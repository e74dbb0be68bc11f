"""The served graphs: who may speak to the server, and what a run there may name."""
