"""Training of the offline rules' classifiers, and the embeddings that are shipped with the package."""
