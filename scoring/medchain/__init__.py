"""MedChain's scores of the clinical workflow (section 5.2)."""
