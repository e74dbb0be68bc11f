"""MVME and the judges of AI Hospital (section 3.2)."""
