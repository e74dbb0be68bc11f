"""What passes between the agents: every state of a graph, and its reducers."""
