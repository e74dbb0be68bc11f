"""A custom importer: a ward's table of admissions, one patient per line.

    wardround cases import ward_notes examples/ward_notes.tsv -o cases.jsonl --plugin examples/own_importer.py
    wardround run --cases cases.jsonl

An invalid record is reported by its number and field, and nothing is written until all records are valid.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

import wardround as wr

SEXES = {"f": "female", "m": "male"}


@wr.importer("ward_notes")
def read(source: Path) -> Iterator[wr.Case]:
    """Read a tab-separated file with the columns number, age, sex, complaint, story, admitted_to, diagnosis."""
    with source.open(encoding="utf-8-sig", newline="") as lines:  # as Excel writes "CSV UTF-8"
        for row in csv.DictReader(lines, delimiter="\t"):
            yield wr.Case.model_validate(
                {
                    "id": f"{source.stem}-{int(row['number']):03d}",
                    # All that the patient knows; the doctor has to ask for it.
                    "patient": {
                        "age_years": float(row["age"]),
                        "sex": SEXES.get(row["sex"]),
                        "chief_complaint": row["complaint"],
                        "present_illness": row["story"],
                    },
                    # The reference for scoring, which no doctor sees. Leave out what the table does not have: these
                    # stages stay unscored. The department has to be in the closed vocabulary.
                    "key": {"department": row["admitted_to"], "diagnosis": [row["diagnosis"]]},
                    "provenance": {"source": f"Admissions of our ward ({source.name})"},
                }
            )
