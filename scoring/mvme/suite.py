"""MVME: the five parts of a report, graded by the director (AI Hospital, section 3.2)."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress

from cases import Case
from cases.vocabulary import Language
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
    try:
        options = await best_grades(report, reference, other_plans(case), settings, case.language, copied=copied)
    except UNANSWERED as error:
        failed = CaseScores.none_of(values, error)
        return CaseScores(failed.values, {**failed.unscored, **unscored})
    if options.get("diagnosis") == LOWEST:
        with suppress(*UNANSWERED):  # the trace has the answer, or why there is none
            await misdiagnosis(report, reference, settings, case.language)
    for part, option in options.items():
        values[part] = float(SCORES[option]) if option else None
    return CaseScores(values, unscored)


async def best_grades(
    report: ReportParts,
    reference: ReportParts,
    plans: Sequence[str],
    settings: ModelSettings,
    language: Language,
    place: str = "",
    *,
    copied: Collection[str] = (),
) -> dict[Part, Option | None]:
    """Have the director grade each part; the grade of the treatment is by the plan with which it agrees best.

    Raises:
        AskError: the judge could not be asked.
    """
    grading = [
        grade(report, reference, settings, language, place, copied=copied),
        *(
            grade(report, ReportParts(treatment=plan), settings, language, ".".join(filter(None, [place, f"plan{n}"])))
            for n, plan in enumerate(plans, start=2)
        ),
    ]
    options, *others = [grades.options for grades in await side_by_side(grading)]
    return {**options, "treatment": max((options, *others), key=_of_treatment).get("treatment")} if others else options


def other_plans(case: Case) -> list[str]:
    """Return the other sound treatments of a case's key."""
    return [plan.treatment_course for plan in case.key.alternative_plans if plan.treatment_course.strip()]


def without_reference(case: Case) -> dict[str, str]:
    """Return the parts that this case's key does not have; a treatment may be that of another plan."""
    reference = reference_parts(case)
    treatments = [reference.treatment, *other_plans(case)]
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
