"""Ways to decide a diagnosis or a treatment, one graph a file, each with the input and output of a stage."""
