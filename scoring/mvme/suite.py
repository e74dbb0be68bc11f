"""MVME: the five parts of a report, graded by the director (AI Hospital, section 3.2)."""

from collections.abc import Mapping
from contextlib import suppress

from cases import Case
from llm import UNANSWERED, ModelSettings, side_by_side
from scoring.case_scores import NO_KEY, CaseScores, Suite
from scoring.consultation import ConsultationAnswers, reference_parts, report_parts
from scoring.mvme.grades import ENDS, LOWEST, SCORES, Option
from scoring.mvme.judges import ReportParts, grade, misdiagnosis
from scoring.mvme.transcripts import PARTS, Part

DISCLOSED = "the record was disclosed, so there was nothing to find out"
COPIED = dict.fromkeys(("symptoms", "examinations"), DISCLOSED)
NOT_TO_GRADE = (NO_KEY, DISCLOSED)  # why a part is no missing grade: the director had nothing to grade


async def score(case: Case, answers: ConsultationAnswers, settings: ModelSettings) -> CaseScores:
    """Return the grade of each part in the answer key, 4 to 1; without a report, the lowest grade.

    For a diagnosis with the lowest grade, the judge also explains the error, in the trace only (section 6.4). In
    one-step runs, parts that the doctor copies from the disclosed record are not graded (AI Hospital, Table 2).
    """
    copied = COPIED if answers.disclosed else {}
    reference = reference_parts(case)
    unscored = without_reference(case) | copied
    values: dict[str, float | None] = dict.fromkeys(suite.published)
    if answers.report is None:
        lowest = float(SCORES[LOWEST])
        return CaseScores({part: None if part in unscored else lowest for part in values}, unscored)
    report = report_parts(answers.report)
    plans = [plan.treatment_course for plan in case.key.alternative_plans if plan.treatment_course.strip()]
    grading = [
        grade(report, reference, settings, case.language, copied=copied),
        *(
            grade(report, ReportParts(treatment=plan), settings, case.language, f"plan{number}")
            for number, plan in enumerate(plans, start=2)
        ),
    ]
    try:
        options, *others = [grades.options for grades in await side_by_side(grading)]
    except UNANSWERED as error:
        failed = CaseScores.none_of(values, error)
        return CaseScores(failed.values, {**failed.unscored, **unscored})
    options |= {"treatment": max((options, *others), key=_of_treatment).get("treatment")}
    if options.get("diagnosis") == LOWEST:
        with suppress(*UNANSWERED):  # the trace has the answer, or why there is none
            await misdiagnosis(report, reference, settings, case.language)
    for part, option in options.items():
        values[part] = float(SCORES[option]) if option else None
    return CaseScores(values, unscored)


def without_reference(case: Case) -> dict[str, str]:
    """Return the parts that this case's key does not have; a treatment may be that of another plan."""
    reference = reference_parts(case)
    treatments = [reference.treatment, *(plan.treatment_course for plan in case.key.alternative_plans)]
    stated = {**{part: reference[part] for part in PARTS}, "treatment": "".join(treatments)}
    return {part: NO_KEY for part, text in stated.items() if not text.strip()}


def _of_treatment(options: Mapping[Part, Option | None]) -> int:
    return SCORES[option] if (option := options.get("treatment")) else 0


suite = Suite(
    "mvme",
    {**{part: part.capitalize() for part in PARTS}, "basis": "Diagnostic basis"},
    score,
    needs=frozenset({"report"}),
    ends=ENDS,
    judged=PARTS,
    without_reference=without_reference,
    notes="Grades of the five parts, from 1 (hardly anything) to 4 (all of it).",
)
