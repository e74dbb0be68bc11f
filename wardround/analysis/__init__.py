"""What finished runs amount to: summaries, data frames, scores by other judges."""
