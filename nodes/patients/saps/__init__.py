"""SAPS, the state-aware patient simulator (AIE, section 4.2)."""
