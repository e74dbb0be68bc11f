"""What passes between the agents: the states of all graphs, and their reducers."""
