"""What is no fault of a case file and yet seldom meant: answers that patients know, other languages, twins, names."""

import re
from collections.abc import Iterator, Sequence

from cases.case import Case, PatientRecord
from cases.text.words import has_chinese, written_in
from cases.vocabulary import data_file, normalise, patterns

_TEXTS = [name for name, info in PatientRecord.model_fields.items() if info.annotation is str]
_IDENTIFYING = "vocabularies/identifying"
_SHORTEST = 3  # letters of a name that is looked for: "PE" is also another word's


def doubts(cases: Sequence[Case]) -> Iterator[tuple[str, list[str]]]:
    """Yield each doubt about some of the cases, and their ids."""
    from cases.splits import duplicates  # NumPy takes time to load

    twins = [cases[place].id for group in duplicates(cases) if len(group) > 1 for place in group]
    found = {
        "the patient's record names the diagnosis, which the patient may tell": list(filter(told_diagnosis, cases)),
        "the text is not in the stated `language`": list(filter(_is_of_another_language, cases)),
    }
    ids = {doubt: [case.id for case in some] for doubt, some in found.items()}
    ids["the history is much like another case's (`wardround cases split` keeps them together)"] = twins
    for kind in data_file("cases", _IDENTIFYING)["pattern"]:
        pattern = patterns("cases", _IDENTIFYING)[kind]
        ids[f"{kind} may tell who the patient is"] = [case.id for case in cases if pattern.search(_all_text(case))]
    yield from ((doubt, some) for doubt, some in ids.items() if some)


def told_diagnosis(case: Case) -> list[str]:
    """Return the texts of the patient's record that name the principal diagnosis in the words of the key."""
    name = normalise(next(iter(case.key.diagnosis), ""))
    if len(name) < _SHORTEST and not has_chinese(name):
        return []
    # Chinese has no signs between words.
    pattern = re.compile(re.escape(name) if has_chinese(name) else rf"(?<!\w){re.escape(name)}(?!\w)")
    return [text for text in _TEXTS if name and pattern.search(normalise(getattr(case.patient, text)))]


def _is_of_another_language(case: Case) -> bool:
    """Whether an English or Chinese case is not written so; other languages cannot be told apart."""
    told = [getattr(case.patient, name) for name in _TEXTS]
    return case.language in ("en", "zh") and written_in(*told) != case.language


def _all_text(case: Case) -> str:
    key = case.key
    told = (getattr(case.patient, name) for name in _TEXTS)
    opening = (case.opening.doctor, case.opening.patient) if case.opening else ()
    reports = (*case.examinations.results.values(), *key.imaging_reports.values(), *key.picture_reports.values())
    return "\n".join((*told, *opening, *reports, key.diagnosis_basis, key.treatment_course, case.provenance.record))
