"""Tables of finished runs, as in the papers: one file per table, typed cells, output as CSV, LaTeX or on a terminal."""
