"""Analysis of finished runs: summaries, comparisons, data sets, and scores by other judges."""
