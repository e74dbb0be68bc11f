"""Export runs as data frames, and to the formats of other tools."""
