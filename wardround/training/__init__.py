"""What the rules without a model know by learning is learned here, a file for each file of weights in the package."""
