"""Med-PMC's metrics and judges (section 4)."""
