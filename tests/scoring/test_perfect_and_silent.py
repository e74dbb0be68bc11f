"""What every score must do: the key gets the most, silence the least, and order and repetition change nothing."""

from collections.abc import Mapping
from typing import Any

import pytest

from cases import Case, load_cases
from llm import ModelSettings
from nodes.consultation.final_report import FinalReport
from nodes.state.decisions import Referral
from scoring.consultation import ConsultationAnswers, reference_parts
from scoring.medchain.answers import Answers, score_clinical_workflow
from scoring.medpmc.judged_suite import judged_suite
from scoring.medpmc.suite import suite as medpmc
from scoring.medpmc.suite import support_of_report
from scoring.mvme.suite import suite as mvme

CASES = [case for language in ("en", "zh") for case in load_cases("builtin") if case.language == language][::18]
WHOLE = {"Examination": 100.0, "Diagnosis": 100.0, "Treatment": 100.0}  # columns of Med-PMC that a report can fill
JUDGED = {"Examination": 5.0, "Diagnosis": 5.0}


def key_of(case: Case) -> Answers:
    key = case.key
    assert key.urgency and key.department
    return Answers(
        referral=Referral(urgency=key.urgency, department=key.department, sub_departments=key.sub_departments),
        orders=key.examination_items,
        reports=key.imaging_reports,
        diagnosis=key.diagnosis,
        treatment=key.treatment_items,
    )


def report_of(case: Case) -> ConsultationAnswers:
    parts = reference_parts(case)
    report = FinalReport(
        symptoms=parts.symptoms,
        examinations=parts.examinations,
        diagnosis=case.key.diagnosis,
        basis=parts.basis,
        treatment=parts.treatment,
    )
    return ConsultationAnswers(report=report)


def some(values: Mapping[str, float | None], names: Mapping[str, float]) -> dict[str, float | None]:
    return {name: values[name] for name in names}


def turned(answers: Answers, **lists: Any) -> Answers:
    return answers.model_copy(update=lists)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_the_key_gets_the_most_and_silence_the_least_in_medchains_scores(case: Case) -> None:
    key, settings = key_of(case), ModelSettings()
    best = (await score_clinical_workflow(case, key, settings)).values
    nothing = (await score_clinical_workflow(case, Answers(), settings)).values
    scored = {name for name, value in best.items() if value is not None}
    assert {best[name] for name in scored} == {1.0} and {nothing[name] for name in scored} == {0.0}

    twice = turned(key, orders=key.orders * 2, diagnosis=key.diagnosis * 2, treatment=key.treatment * 2)
    backwards = turned(key, orders=key.orders[::-1], treatment=key.treatment[::-1])
    assert (await score_clinical_workflow(case, twice, settings)).values == best
    assert (await score_clinical_workflow(case, backwards, settings)).values == best

    wrong = "Gout" if case.language == "en" else "痛风"
    more = turned(
        key,
        orders=[*key.orders, "phrenology"],
        diagnosis=[*key.diagnosis, wrong],
        treatment=[*key.treatment, "leeches"],
    )
    fewer = (await score_clinical_workflow(case, more, settings)).values
    for name in scored & {"history_taking", "diagnosis", "treatment"}:
        assert (fewer[name] or 0) < (best[name] or 0), name


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
async def test_a_report_that_copies_the_case_gets_the_most_and_no_report_the_least(case: Case) -> None:
    copied, none, settings = report_of(case), ConsultationAnswers(), ModelSettings()
    parts = {part for part, value in (await mvme.score(case, copied, settings)).values.items() if value is not None}
    for answers, lowest_or_highest in ((copied, 4.0), (none, 1.0)):
        values = (await mvme.score(case, answers, settings)).values
        assert {values[part] for part in parts} == {lowest_or_highest}

    assert some((await medpmc.score(case, copied, settings)).values, WHOLE) == pytest.approx(WHOLE)
    assert some((await medpmc.score(case, none, settings)).values, WHOLE) == dict.fromkeys(WHOLE, 0.0)
    assert some((await judged_suite.score(case, copied, settings)).values, JUDGED) == pytest.approx(JUDGED, abs=0.15)
    assert some((await judged_suite.score(case, none, settings)).values, JUDGED) == dict.fromkeys(JUDGED, 1.0)
    assert (support_of_report(case, copied) or 0) > 80 and support_of_report(case, none) is None
