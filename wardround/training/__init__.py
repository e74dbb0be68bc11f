"""What comes with the package for the rules without a model is made here: the weights they learned, and embeddings."""
