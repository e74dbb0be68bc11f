"""What the report and the viewer show of a case."""

from pathlib import Path
from typing import Any

from cases import AnswerKey, load_cases
from llm import Event
from llm.trace import file_event
from scoring.consultation import Orders
from scoring.medchain.answers import Answers
from tests.support.recorded_runs import call, graded, write_run
from wardround.report.case_sections import case_section, in_brief, pairs_of
from wardround.store.recorded_run import find_runs

KEY = AnswerKey.model_validate(
    {
        "department": "Dentistry",
        "sub_departments": ["Pediatric Dentistry"],
        "examination_items": ["Neurological Examination"],
        "imaging_reports": {"X-ray": "无骨折。"},
        "diagnosis": ["痛风"],
        "treatment_items": ["Medication"],
    }
)
CASE = next(case for case in load_cases() if case.language == "zh").model_copy(update={"key": KEY})
ANSWERS = Answers.model_validate(
    {
        "referral": {"urgency": "emergency", "department": "Surgery", "sub_departments": ["General Surgery"]},
        "orders": ["Urine Test"],
        "reports": {"CT": "A stone.", "X-ray": "Clear."},
        "diagnosis": ["Gout", "Sepsis"],
        "treatment": ["Surgery", "Medication"],
    }
)


def test_a_case_shows_what_was_recalled_judged_and_ordered_in_its_language(tmp_path: Path) -> None:
    scores: dict[str, Any] = {"diagnosis": 0.5, "treatment": None, "average": 0.25}
    result = graded(CASE.id, scores=scores, unscored={"treatment": "no key"}, answers=ANSWERS)
    verdicts = [
        {"claim": claim, "supported": bool(reason), "reason": reason}
        for claim, reason in (("A stone.", "It says so."), ("Clear.", ""))
    ]
    judged = call("CT", "claim_judge", stage="evaluation", answer={"verdicts": verdicts})
    failed = call("X-ray", "claim_judge", stage="evaluation", answer=None, error="model_error: gone")
    data = {"case_ids": [CASE.id]}
    path = write_run(tmp_path / "run", [result], {(CASE.id, 0): [judged, failed]}, graph="clinical_workflow", data=data)
    earlier = [
        {"case": "a", "similarity": 0.8, "diagnosis": ["Gout", "Sepsis"]},
        {"case": "b", "similarity": 0.5, "verified": False},
    ]
    for stage, event in (("diagnosis", "recalled"), ("treatment", "recalled"), ("saps", "released_memory")):
        one = Event(id=stage, event=event, stage=stage, content={"cases": earlier})
        file_event(one, str(path / "traces" / f"{CASE.id}-0.jsonl"))
    [run] = find_runs([path])
    section = case_section(run, result, CASE, "here")
    assert section.recalled == [
        ("diagnosis, treatment", "a", 0.8, "Gout; Sepsis"),
        ("", "b (from this run)", 0.5, ""),
    ]
    judged_parts = {title: (answer, score, analysis) for title, answer, _, score, analysis in section.judged}
    assert judged_parts["Diagnosis"] == ("Gout\nSepsis", "0.500", "")
    assert judged_parts["Treatment"] == ("Surgery\nMedication", "no key", "")
    assert judged_parts["Examination"][1:] == ("", "+ A stone. (It says so.)\n- Clear.")
    assert list(judged_parts.items())[-1] == ("Average", ("", "0.250", ""))
    assert section.orders == Orders(wanted=[], needless=["尿液检查"], missing=["神经系统检查"])


def test_a_case_judged_by_clini_eval_shows_each_number_that_was_assessed(tmp_path: Path) -> None:
    scores = {"Medical History": 12.0, "Total Score": None, "Family History": 2.0}
    result = graded(CASE.id, scores=scores, unscored={"Total Score": "only in part"})
    path = write_run(tmp_path / "run", [result], graph="consultation", suite="clini_eval", data={"case_ids": [CASE.id]})
    [run] = find_runs([path])
    rows = [(title, score) for title, _, _, score, _ in case_section(run, result, CASE, "here").judged]
    assert rows == [("Medical History", "12.000"), ("Total Score", "only in part"), ("Family History", "2.000")]


def test_an_answer_stands_beside_its_key_in_the_language_of_its_reader() -> None:
    """A Chinese rater read the department of surgery as an operation."""
    assert pairs_of(ANSWERS, CASE, "zh") == {
        "referral_level1": ("外科", "口腔科"),
        "referral_level2": ("普通外科", "儿童口腔科"),
        "history_taking": ("尿液检查", "神经系统检查"),
        "examination": ("CT: A stone.\nX-ray: Clear.", "X-ray: 无骨折。"),
        "diagnosis": ("Gout\nSepsis", "痛风"),
        "treatment": ("手术\n药物治疗", "药物治疗"),
    }
    assert {key for _, key in pairs_of(ANSWERS, None).values()} == {""}
    assert {*pairs_of(Answers(), None).values()} == {("", "")}


def test_a_long_answer_is_cut_in_a_report() -> None:
    assert in_brief(None) == "" and in_brief("…") == '"…"'
    assert in_brief("x" * 1998) == f'"{"x" * 1998}"'
    assert in_brief("x" * 1999) == f'"{"x" * 1999}… (2001 characters; the trace has the full text)'
