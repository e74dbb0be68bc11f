"""What others made: transcripts and outputs of foreign systems, read with types and their faults named."""
