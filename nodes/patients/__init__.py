"""The patient systems of the papers, one file or folder each: patients, examiners and their rules."""
