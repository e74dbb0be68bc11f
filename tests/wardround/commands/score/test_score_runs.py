"""``wardround score``: our own run directories as sources."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from cases import load_cases, save_cases
from cases.case import Plan
from scoring.mvme.suite import COPIED
from tests.support.commands import metrics, wardround
from tests.support.fake_server import FakeServer
from tests.support.recorded_runs import ENGLISH, PARTS, discussed, graded, write_run
from wardround.commands.score.report_cases import read_report_cases
from wardround.store import recorded_run
from wardround.store.recorded_run import find_run


def test_consensus_is_read_from_a_run_agreed_and_given_up_apart(tmp_path: Path) -> None:
    results = [discussed("a", 0), discussed("b", 2, "rounds_used_up"), discussed("c", 0, "no_discussion")]
    run = write_run(tmp_path / "run", results, workflow={"max_rounds": 2})
    found = metrics(tmp_path / "s.json", "score", "consensus", run)
    assert (found["agreed"]["mean"], found["gave_up"]["mean"], found["agreed"]["n"]) == (0.5, 0.5, 2)
    assert "consensus_after_2" in found and "consensus_after_3" not in found  # as many rounds as the run allowed
    assert "Left out: 1 case without a discussion" in wardround("score", "consensus", run).stdout.replace("\n", " ")


def test_the_consensus_of_a_run_says_what_failed_and_counts_epochs_as_no_cases(tmp_path: Path) -> None:
    results = [discussed(case, 1, epoch=epoch) for case in ENGLISH for epoch in range(2)]
    results[-1] = graded(ENGLISH[-1], epoch=1, termination="model_error", scores={})
    run = write_run(tmp_path / "run", results, data={"case_ids": [*ENGLISH]}, epochs=2)
    told = " ".join(wardround("score", "consensus", run, "--json", tmp_path / "s.json").stdout.split())
    assert "run: 1 of 4 results failed, and are not scored." in told
    assert "consensus, sound mode, 2 cases, 3 discussions" in told
    assert json.loads((tmp_path / "s.json").read_bytes())["n"] == 2


def test_a_run_in_which_nothing_was_discussed_has_no_consensus_to_measure(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [discussed("a", 0, "no_discussion"), graded("b")])
    result = wardround("score", "consensus", run)
    assert result.exit_code == 2 and result.stdout == "" and "no case had a discussion" in result.stderr


def test_rounds_that_the_run_went_beyond_are_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [discussed("a", 3)])
    assert "a discussion" in wardround("score", "consensus", run, "--rounds", 2).stderr


def test_mvme_of_a_run_is_what_its_director_graded(tmp_path: Path) -> None:
    ids = [case.id for case in load_cases("builtin")][:2]
    results = [graded(ids[0], 4.0), graded(ids[1], 1.0, unscored={"basis": "no reference in the answer key"})]
    results[1].scores["basis"] = None
    run = write_run(tmp_path / "run", results, data={"case_ids": ids})
    for mode in ("sound", "paper"):
        found = metrics(tmp_path / "s.json", "score", "mvme", run, "--mode", mode)
        assert found["diagnosis"]["mean"] == 2.5 and found["basis"] == {"mean": 4.0, "se": None, "ci95": None, "n": 1}


def test_that_the_intervals_of_few_cases_are_too_narrow_is_said_of_the_scores_that_have_them(tmp_path: Path) -> None:
    ids = [case.id for case in load_cases("builtin")][:5]
    results = [graded(case_id, float(grade)) for case_id, grade in zip(ids, (1, 2, 3, 4, 1), strict=True)]
    results[0].scores["basis"] = None
    of_all = wardround("score", "mvme", write_run(tmp_path / "five", results, data={"case_ids": ids}))
    assert "basis: with fewer than 5 cases, the 95 % interval is too narrow." in of_all.stdout


@pytest.mark.parametrize("options", [("--mode", "sound"), ("--mode", "paper"), ("--grade",)])
def test_parts_that_a_one_step_run_copies_are_not_graded(tmp_path: Path, options: Sequence[str]) -> None:
    ids = [case.id for case in load_cases("builtin")][:1]
    result = graded(ids[0], 3.0, unscored=dict(COPIED), answers={"disclosed": True})
    result.scores.update(dict.fromkeys(COPIED))
    run = write_run(tmp_path / "run", [result], graph="one_step", data={"case_ids": ids})
    found = metrics(tmp_path / "s.json", "score", "mvme", run, *options)
    assert found["treatment"]["n"] == 1 and not any(found[part]["n"] for part in COPIED if part in found)


def test_mvme_of_a_run_of_another_suite_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [graded("a", scores={})], graph="consultation", suite="medpmc")
    assert "was scored by suite medpmc, not mvme" in wardround("score", "mvme", run).stderr


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("mvme", "--grade"), "a run is compared with the keys of its cases, or of --cases"),
        (("icd10",), "a run is compared with the keys of its cases, or of --cases"),
        (("mvme",), "nothing is compared with it; add --grade"),
    ],
)
def test_a_reference_that_nothing_would_be_compared_with_is_refused(
    tmp_path: Path, command: Sequence[str], why: str
) -> None:
    case = next(case for case in load_cases("builtin") if case.language == "en")
    run = write_run(tmp_path / "run", [graded(case.id)], data={"case_ids": [case.id]})
    refused = wardround("score", *command, run, "--reference", tmp_path / "experts.json")
    assert refused.exit_code == 2 and why in refused.stderr


def test_the_language_of_a_report_is_that_of_its_case(tmp_path: Path) -> None:
    chinese = next(case for case in load_cases("builtin") if case.language == "zh")
    run = write_run(tmp_path / "run", [graded(chinese.id)], data={"case_ids": [chinese.id]})
    assert [case.language for case in read_report_cases(run, None, find_run(run))] == ["zh"]
    assert "the reports are Chinese" in wardround("score", "icd10", run).stderr


def test_failed_cases_name_no_disease_in_a_bound_beside_the_scores_by_icd10(tmp_path: Path) -> None:
    right, lost = [case for case in load_cases("builtin") if case.language == "en"][:2]
    answers = {"dialogue": [], "report": dict.fromkeys(PARTS, "x") | {"diagnosis": right.key.diagnosis}}
    results = [graded(right.id, answers=answers), graded(lost.id, termination="model_error", scores={})]
    ids = [right.id, lost.id]
    run = write_run(tmp_path / "run", results, graph="consultation", suite="mvme", data={"case_ids": ids})
    said = wardround("score", "icd10", run, "--json", tmp_path / "s.json").stdout
    assert json.loads((tmp_path / "s.json").read_bytes())["metrics"]["R"]["mean"] == 100
    bound = said[said.index("Failed as wrong") :].replace(" ", "")
    assert "│R│66.667│3│" in bound and "│P│100.000│2│" in bound, "of three diseases, two were named"


def test_failed_cases_have_the_lowest_grades_in_a_bound_beside_new_grades(tmp_path: Path) -> None:
    right, lost = [case for case in load_cases("builtin") if case.language == "en"][:2]
    report = dict.fromkeys(PARTS, "x") | {"diagnosis": right.key.diagnosis}
    results = [
        graded(right.id, answers={"dialogue": [], "report": report}),
        graded(lost.id, termination="model_error", scores={}),
    ]
    how: dict[str, Any] = {"graph": "consultation", "suite": "mvme", "data": {"case_ids": [right.id, lost.id]}}
    run = write_run(tmp_path / "run", results, **how)
    assert wardround("score", "mvme", run, "--grade", "--json", tmp_path / "s.json").exit_code == 0
    written = json.loads((tmp_path / "s.json").read_bytes())
    assert written["metrics"]["diagnosis"]["mean"] == 4.0
    bound = written["failed_as_wrong"]
    assert (bound["diagnosis"]["mean"], bound["diagnosis"]["n"]) == (2.5, 2)
    whole = write_run(tmp_path / "whole", results[:1], **how)
    assert wardround("score", "mvme", whole, "--grade", "--json", tmp_path / "s.json").exit_code == 0
    assert "failed_as_wrong" not in json.loads((tmp_path / "s.json").read_bytes())


@pytest.mark.parametrize("plans_count", [False, True])
@pytest.mark.parametrize("reference", ["Surgery.", ""])
def test_new_grades_of_a_treatment_are_by_the_plans_that_the_run_is_scored_by(
    tmp_path: Path, plans_count: bool, reference: str
) -> None:
    case = next(case for case in load_cases("builtin") if case.language == "en")
    plan = "Antibiotics for seven days, and a check of the ears after a month."
    other = {"treatment_course": reference, "alternative_plans": [Plan(treatment_course=plan)]}
    right = case.model_copy(update={"id": "right", "key": case.key.model_copy(update=other)})
    lost = right.model_copy(update={"id": "lost"})
    save_cases([right, lost], tmp_path / "cases.jsonl")
    report = dict.fromkeys(PARTS, "x") | {"treatment": plan, "diagnosis": case.key.diagnosis}
    results = [
        graded("right", answers={"dialogue": [], "report": report}),
        graded("lost", termination="model_error", scores={}),
    ]
    how: dict[str, Any] = {"graph": "consultation", "suite": "mvme", "data": {"cases": str(tmp_path / "cases.jsonl")}}
    run = write_run(tmp_path / "run", results, alternative_plans=plans_count, **how)
    assert wardround("score", "mvme", run, "--grade", "--json", tmp_path / "s.json").exit_code == 0
    written = json.loads((tmp_path / "s.json").read_bytes())
    if not (plans_count or reference):
        assert "treatment" not in written["metrics"]
        return
    assert written["metrics"]["treatment"]["mean"] == (4.0 if plans_count else 1.0)
    assert written["failed_as_wrong"]["treatment"]["n"] == 2


def test_inferred_parts_of_a_key_are_no_reference_unless_the_run_is_scored_by_them(tmp_path: Path) -> None:
    case = next(case for case in load_cases("builtin") if case.language == "en")
    guessed = case.model_copy(update={"key": case.key.model_copy(update={"inferred": ["diagnosis"]})})
    save_cases([guessed], tmp_path / "cases.jsonl")
    report = dict.fromkeys(PARTS, "x") | {"diagnosis": case.key.diagnosis}
    results = [graded(case.id, answers={"dialogue": [], "report": report})]
    how: dict[str, Any] = {"graph": "consultation", "suite": "mvme", "data": {"cases": str(tmp_path / "cases.jsonl")}}
    stated = write_run(tmp_path / "stated", results, **how)
    whole = write_run(tmp_path / "whole", results, inferred_keys=True, **how)
    for run, parts in ((stated, {*PARTS} - {"diagnosis"}), (whole, {*PARTS})):
        assert metrics(tmp_path / "s.json", "score", "mvme", run, "--grade").keys() == parts
    refused = wardround("score", "icd10", stated)
    assert refused.exit_code == 2 and "a key to compare with (diagnosis)" in refused.stderr
    assert wardround("score", "icd10", whole).exit_code == 0


def test_new_grades_are_of_all_cases_whose_keys_have_a_part_as_those_of_the_run_are(tmp_path: Path) -> None:
    case = next(case for case in load_cases("builtin") if case.language == "en")
    undiagnosed = case.model_copy(update={"id": "open", "key": case.key.model_copy(update={"diagnosis": []})})
    lost = undiagnosed.model_copy(update={"id": "lost"})
    save_cases([case, undiagnosed, lost], tmp_path / "cases.jsonl")
    report = {"dialogue": [], "report": dict.fromkeys(PARTS, "x") | {"diagnosis": case.key.diagnosis}}
    results = [*(graded(name, answers=report) for name in (case.id, "open")), graded("lost", termination="model_error")]
    data = {"cases": str(tmp_path / "cases.jsonl")}
    run = write_run(tmp_path / "run", results, graph="consultation", suite="mvme", data=data)
    assert wardround("score", "mvme", run, "--grade", "--json", tmp_path / "s.json").exit_code == 0
    written = json.loads((tmp_path / "s.json").read_bytes())
    count = {part: (written["metrics"][part]["n"], written["failed_as_wrong"][part]["n"]) for part in PARTS}
    assert count == dict.fromkeys(PARTS, (2, 3)) | {"diagnosis": (1, 1)}
    assert wardround("score", "icd10", run, "--json", tmp_path / "i.json").exit_code == 0
    assert json.loads((tmp_path / "i.json").read_bytes())["n"] == 1


def test_failed_cases_have_no_points_in_a_bound_beside_clini_evals(tmp_path: Path) -> None:
    found = _talked(tmp_path / "one")
    case_id, *_ = [case.id for case in load_cases() if case.language == "en"]
    failed = graded(case_id, epoch=1, termination="model_error", scores={})
    results = [*find_run(found).each_answered(), failed]
    how: dict[str, Any] = {"graph": "consultation", "suite": "mvme", "data": {"case_ids": [case_id]}, "epochs": 2}
    run = write_run(tmp_path / "run", results, **how)
    assert wardround("score", "clini-eval", run, "--json", tmp_path / "s.json").exit_code == 0
    written = json.loads((tmp_path / "s.json").read_bytes())
    for name, bound in written["failed_as_wrong"].items():
        assert bound["mean"] == pytest.approx(written["metrics"][name]["mean"] / 2) and bound["n"] == 2, name
    assert "Assessed Points" in written["failed_as_wrong"]


def test_failed_cases_have_the_lowest_values_in_a_bound_beside_another_recall_or_judge_of_med_pmc(
    tmp_path: Path,
) -> None:
    ids = [case.id for case in load_cases("builtin") if case.language == "en"][:2]
    dialogue = [{"speaker": "doctor", "text": "Do you have pain?"}, {"speaker": "patient", "text": "Yes."}]
    answers = {"dialogue": dialogue, "report": dict.fromkeys(PARTS, "pain for weeks") | {"diagnosis": ["pain"]}}
    results = [graded(ids[0], answers=answers, scores={}), graded(ids[1], termination="model_error", scores={})]
    how: dict[str, Any] = {"graph": "consultation", "suite": "medpmc", "data": {"case_ids": ids}}
    run = write_run(tmp_path / "run", results, **how)
    refused = results[1].model_copy(update={"termination": "sex_bound"})
    other = write_run(tmp_path / "other", [results[0], refused], **how)
    out = tmp_path / "s.json"
    assert wardround("score", "medpmc", run, "--recall", "rougeL", "--judge", "offline", "--json", out).exit_code == 0
    written = json.loads(out.read_bytes())
    for name, lowest in (("Inquiry", 0), ("Avg. (decision)", 0), ("Judge: inquiry", 1)):
        bound = written["failed_as_wrong"][name]
        assert bound["mean"] == pytest.approx((written["metrics"][name]["mean"] + lowest) / 2) and bound["n"] == 2, name
    assert not {"Turns", "Lens", "support"} & written["failed_as_wrong"].keys()
    told = " ".join(wardround("score", "medpmc", run, other, "--json", out).stdout.split())
    written = json.loads(out.read_bytes())
    assert [*written["files_failed_as_wrong"]] == ["run"], "a refused case counts in no bound"
    assert "run, failed as wrong" in told
    assert "other: 1 of 2 cases failed, and are not scored; 1 of these, refused for their sex" in told


@pytest.mark.parametrize("arguments", [("replies",), ("simulator",)])
def test_what_judges_the_replies_of_a_run_says_how_many_cases_failed(tmp_path: Path, arguments: Sequence[str]) -> None:
    one, lost = [case for case in load_cases("builtin") if case.language == "en"][:2]
    dialogue = [{"speaker": "doctor", "text": "Do you have pain?"}, {"speaker": "patient", "text": "Yes."}]
    results = [graded(one.id, answers={"dialogue": dialogue}), graded(lost.id, termination="model_error", scores={})]
    how: dict[str, Any] = {"graph": "consultation", "suite": "mvme", "data": {"case_ids": [one.id, lost.id]}}
    told = wardround("score", *arguments, write_run(tmp_path / "run", results, **how))
    assert told.exit_code == 0, told.output
    assert "run: 1 of 2 cases failed, and are not scored." in " ".join(told.stdout.split())


@pytest.mark.parametrize("suite", ["icd10", "mvme", "clini-eval"])
def test_a_run_is_opened_once(suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = _talked(tmp_path / "run")
    opened, really = [], recorded_run._open
    monkeypatch.setattr(recorded_run, "_open", lambda *given: opened.append(given) or really(*given))
    assert wardround("score", suite, run).exit_code == 0
    assert len(opened) == 1


def test_runs_in_folders_of_one_name_are_two_strategies(tmp_path: Path) -> None:
    runs = [_talked(tmp_path / name / "run") for name in ("one", "other")]
    printed = wardround("score", "clini-eval", *runs, "--by", "strategy").stdout
    rows = [line for line in printed[printed.index("Means by strategy") :].splitlines() if line.startswith("│")]
    assert len(rows) == 2


def _talked(path: Path) -> Path:
    """A run of one consultation."""
    case = next(case for case in load_cases() if case.language == "en")
    dialogue = [{"speaker": "doctor", "text": "Why?"}, {"speaker": "patient", "text": case.patient.chief_complaint}]
    report = {"symptoms": "Pain.", "examinations": "", "diagnosis": ["Caries"], "basis": "", "treatment": ""}
    answers = {"dialogue": dialogue, "report": report}
    return write_run(
        path, [graded(case.id, answers=answers)], graph="consultation", suite="mvme", data={"case_ids": [case.id]}
    )


@pytest.mark.parametrize("suite", ["medpmc"])
def test_a_suite_without_judges_scores_the_answers_of_a_run(tmp_path: Path, suite: str) -> None:
    case = next(case for case in load_cases("builtin") if case.language == "en")
    dialogue = [{"speaker": "doctor", "text": "Why?"}, {"speaker": "patient", "text": case.patient.chief_complaint}]
    results = [graded(case.id, epoch=epoch, answers={"dialogue": dialogue}) for epoch in range(2)]
    run = write_run(
        tmp_path / "run", results, graph="consultation", suite="mvme", data={"case_ids": [case.id]}, epochs=2
    )
    assert metrics(tmp_path / "s.json", "score", suite, run)["Info"]["n"] == 2
    for options in ((), ("--recall", "rougeL")):  # alike, however the run is read
        assert wardround("score", suite, run, *options, "--json", tmp_path / "s.json").exit_code == 0
        written = json.loads((tmp_path / "s.json").read_text("utf-8"))
        assert written["n"] == 1, "a case, in two epochs"
        assert (written["recall"], written["entities"]) == (options[1] if options else "rouge1", "rules")


@pytest.mark.parametrize("arguments", [("mvme",), ("mvme", "--grade"), ("icd10",)])
def test_the_epochs_of_a_case_are_reports_of_one_case(tmp_path: Path, arguments: Sequence[str]) -> None:
    case = next(case for case in load_cases("builtin") if case.language == "en")
    report = dict.fromkeys(("symptoms", "examinations", "basis", "treatment"), "x") | {"diagnosis": ["Asthma"]}
    results = [graded(case.id, epoch=epoch, answers={"dialogue": [], "report": report}) for epoch in range(2)]
    how: dict[str, Any] = {"graph": "consultation", "suite": "mvme", "epochs": 2}
    run = write_run(tmp_path / "run", results, data={"case_ids": [case.id]}, **how)
    command, *options = arguments
    told = wardround("score", command, run, *options, "--json", tmp_path / "s.json")
    assert f"{command}, sound mode, 1 case, 2 reports" in " ".join(told.stdout.split())
    assert json.loads((tmp_path / "s.json").read_text("utf-8"))["n"] == 1


@pytest.mark.slow
def test_replies_are_judged_or_put_on_a_sheet_and_marked_sheets_are_read_back(tmp_path: Path) -> None:
    def turn(speaker: str, text: str, addressee: str | None = None) -> dict[str, str | None]:
        return {"speaker": speaker, "text": text, "addressee": addressee}

    case = next(case for case in load_cases() if case.language == "en")
    dialogue = [
        turn("doctor", "A blood test, please."),
        turn("patient", "A blood test, please.", "examiner"),
        turn("examiner", case.examinations.results.get("Blood Test", "Normal."), "patient"),
        turn("patient", case.examinations.results.get("Blood Test", "Normal."), "doctor"),
        turn("doctor", "Do you smoke?"),
        turn("patient", "No.", "doctor"),
    ]
    found = graded(case.id, answers={"dialogue": dialogue})
    run = write_run(tmp_path / "run", [found], data={"case_ids": [case.id]})
    sheet, out = tmp_path / "sheet.csv", tmp_path / "out.json"
    by_rule = "not by a model: relevance_judge, consistency_judge, examination_judge."
    assert by_rule in " ".join(wardround("score", "replies", run).stdout.split())
    with FakeServer() as server:
        judge = f"relevance_judge=openai:fake-model@{server.base_url}"
        asked = wardround("score", "replies", run, "--models", judge).stdout
    assert "not by a model: consistency_judge, examination_judge." in " ".join(asked.split()), "those not named"
    written = wardround("score", "replies", run, "--sheet", sheet)
    assert written.exit_code == 0 and "2 rounds to mark" in written.stdout and "mean" not in written.stdout
    unmarked = wardround("score", "replies", run, "--marks", sheet, "--marks", sheet)
    assert unmarked.exit_code == 2 and "neither yes nor no" in unmarked.stderr
    frame = pd.read_csv(sheet, dtype=str)
    assert list(frame["round"]) == ["1", "2"] and "examiner: " in frame["conversation"][0]
    frame[["relevant", "consistent"]] = "yes"
    frame[["recommended", "performed"]] = [["yes", "yes"], ["no", "no"]]
    frame.to_csv(sheet, index=False)
    marked = wardround("score", "replies", run, "--marks", sheet, "--marks", sheet, "--json", out)
    scores = json.loads(out.read_text("utf-8"))["metrics"]
    assert marked.exit_code == 0 and (scores["Acc"]["mean"], scores["Acc"]["n"]) == (100.0, 1)
    assert scores["agreement: relevant"]["mean"] == 100.0 and scores["Rel"]["n"] == 2


def test_the_counts_beside_peoples_marks_are_those_of_the_dialogues_that_they_marked(tmp_path: Path) -> None:
    ids = [case.id for case in load_cases("builtin")][:3]
    dialogue = [
        {"speaker": "doctor", "text": "Do you smoke?"},
        {"speaker": "patient", "text": "No.", "addressee": "doctor"},
    ]
    results = [graded(each, answers={"dialogue": dialogue}) for each in ids]
    run = write_run(tmp_path / "run", results, data={"case_ids": ids})
    sheet, out = tmp_path / "sheet.csv", tmp_path / "out.json"
    assert wardround("score", "replies", run, "--sample", "1", "--sheet", sheet).exit_code == 0
    frame = pd.read_csv(sheet, dtype=str)
    frame[["relevant", "consistent", "recommended", "performed"]] = "no"
    frame.to_csv(sheet, index=False)
    marked = wardround("score", "replies", run, "--marks", sheet, "--marks", sheet, "--json", out)
    assert marked.exit_code == 0 and json.loads(out.read_text("utf-8"))["n"] == 1
    again = write_run(tmp_path / "again", results[:2], data={"case_ids": ids[:2]})
    told = wardround("score", "replies", run, again).stdout
    assert "replies, sound mode, 3 cases, 5 dialogues" in told, "a case of two runs is one case"


def test_marks_that_are_all_alike_have_an_interval_as_three_dialogues_are_few(tmp_path: Path) -> None:
    ids = [case.id for case in load_cases("builtin")][:3]
    dialogue = [
        {"speaker": "doctor", "text": "Do you smoke?"},
        {"speaker": "patient", "text": "No.", "addressee": "doctor"},
    ]
    results = [graded(each, answers={"dialogue": dialogue}) for each in ids]
    run = write_run(tmp_path / "run", results, data={"case_ids": ids})
    sheet, out = tmp_path / "sheet.csv", tmp_path / "out.json"
    assert wardround("score", "replies", run, "--sheet", sheet).exit_code == 0
    frame = pd.read_csv(sheet, dtype=str)
    frame[["relevant", "consistent", "recommended", "performed"]] = "yes"
    frame.to_csv(sheet, index=False)
    assert wardround("score", "replies", run, "--marks", sheet, "--marks", sheet, "--json", out).exit_code == 0
    metrics = json.loads(out.read_text("utf-8"))["metrics"]
    for name in ("Rel", "agreement: relevant"):
        low, high = metrics[name]["ci95"]
        assert metrics[name]["mean"] == high == 100.0 and low == pytest.approx(43.85, abs=0.01)


def test_a_judge_that_nobody_would_ask_is_refused_and_grades_by_rules_are_called_so(tmp_path: Path) -> None:
    ids = [case.id for case in load_cases("builtin")][:1]
    run = write_run(
        tmp_path / "run", [graded(ids[0], 3.0, models={"mvme_director": ["offline"]})], data={"case_ids": ids}
    )
    for command, wanted in (("mvme", "--grade"), ("icd10", "--splitter llm")):
        refused = wardround("score", command, run, "--judge", "openai:gpt-4o")
        assert refused.exit_code == 2 and refused.stdout == ""
        assert "nobody would be asked" in refused.stderr and wanted in " ".join(refused.stderr.split())
    said = "by offline rules, not by a model: mvme_director"
    assert said in " ".join(wardround("score", "mvme", run).stdout.split())
    assert "by offline rules, not by a model: --judge" in " ".join(
        wardround("score", "mvme", run, "--grade").stdout.split()
    )


def consulted(folder: Path, **fields: Any) -> tuple[Path, str]:
    """Write a run of one short consultation; return it and its case's id."""
    case = next(case for case in load_cases("builtin") if case.language == "en")
    dialogue = [{"speaker": "doctor", "text": "Why?"}, {"speaker": "patient", "text": case.patient.chief_complaint}]
    results = [graded(case.id, answers={"dialogue": dialogue})]
    return write_run(folder, results, graph="consultation", data={"case_ids": [case.id]}, **fields), case.id


def test_a_suite_whose_judge_fails_exits_with_1_and_says_why(tmp_path: Path) -> None:
    run, case_id = consulted(tmp_path / "run")
    with FakeServer(answer=lambda request: {"inquiry": 9}) as server:
        failed = wardround("score", "medpmc-judged", run, "--models", f"openai:fake-model@{server.base_url}")
    said = " ".join(failed.stdout.split())
    assert failed.exit_code == 1, failed.stderr
    assert f"The first failure of a judge: case {case_id}: judge failed: " in said


def test_interrupted_scoring_promises_no_resumption(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("wardround.commands.score.rescored.scores_of_run", interrupted)
    result = wardround("score", "medpmc-judged", tmp_path)
    assert result.exit_code == 130 and "asked again" in result.stderr and "resume" not in result.stderr


@pytest.mark.parametrize("named", [(), ("--set", "model.j.spec={spec}", "--set", "model.j.top_p=0.5")])
def test_how_judges_are_asked_is_set_over_what_the_run_says(tmp_path: Path, named: Sequence[str]) -> None:
    run, _ = consulted(tmp_path / "run", workflow={"max_tokens": 30}, seed=5)
    with FakeServer() as server:
        spec = f"openai:fake-model@{server.base_url}"
        options = ["--set", "max_tokens=900", *(one.format(spec=spec) for one in named)]
        judge = "j" if named else spec
        for command in (
            ("medpmc-judged", run, "--models", judge),
            ("clini-eval", run, "--judge", judge),
            ("medpmc", run, "--judge", judge),
        ):
            assert wardround("score", *command, *options).exit_code == 0
        bodies = [request.body for request in server.requests]
    assert bodies and {body["max_tokens"] for body in bodies} == {900}
    assert {body.get("top_p") for body in bodies} == {0.5 if named else None}
    assert {body.get("seed") for body in bodies if "seed" in body} == {5}, "what is not set stays the run's"


def test_a_model_of_the_run_takes_a_setting_without_its_spec_and_the_json_tells_it(tmp_path: Path) -> None:
    with FakeServer() as server:
        block = {"j": {"spec": f"openai:fake-model@{server.base_url}", "max_tokens": 40}}
        run, _ = consulted(tmp_path / "run", model=block, models={"claim_judge": "j"})
        scored = ("score", "medpmc-judged", run, "--models", "j")
        done = wardround(*scored, "--set", "model.j.top_p=0.5", "--json", tmp_path / "scores.json")
        assert done.exit_code == 0, done.output
        bodies = [request.body for request in server.requests]
        unknown = wardround(*scored, "--set", "model.k.top_p=0.5")
        elsewhere = wardround(*scored, "--set", "model.j.base_url=http://127.0.0.1:9/v1")
    assert {(body["top_p"], body["max_tokens"]) for body in bodies} == {(0.5, 40)}
    assert json.loads((tmp_path / "scores.json").read_text("utf-8"))["settings"] == {"model": {"j": {"top_p": 0.5}}}
    assert unknown.exit_code == 2 and "no model of this name is recorded; add --set model.k.spec=" in unknown.stderr
    assert elsewhere.exit_code == 2, elsewhere.exception
    assert "--set model.j: base_url: the spec already names a server" in elsewhere.stderr


@pytest.mark.parametrize(
    ("setting", "said"),
    [("feedback=off", "does not say how a model is asked"), ("timeout=soon", "timeout"), ("model.j.top=1", "top")],
)
def test_a_setting_that_no_judge_heeds_is_refused(tmp_path: Path, setting: str, said: str) -> None:
    result = wardround("score", "clini-eval", tmp_path, "--judge", "openai:x", "--set", setting)
    assert result.exit_code == 2 and said in result.stderr and "Traceback" not in result.output
    assert "No such option" in wardround("score", "consensus", tmp_path, "--set", "timeout=5").stderr


@pytest.mark.parametrize("suite", ["medpmc-judged", "clini-eval-paper", "gates"])
def test_the_help_of_a_suite_does_not_give_it_the_judge_of_another(suite: str) -> None:
    told = " ".join(wardround("score", suite, "--help").stdout.split())
    assert "of medchain: diagnosis_judge=" in told


def test_a_judge_whom_the_suite_asks_nothing_is_named(tmp_path: Path) -> None:
    run, _ = consulted(tmp_path / "run")
    scored = wardround(
        "score", "medpmc-judged", run, "--models", "diagnosis_judge=offline", "--models", "default=offline"
    )
    assert scored.exit_code == 0, scored.stderr
    assert "--models diagnosis_judge: asked nothing. Asked: consultation_judge." in " ".join(scored.stdout.split())
    assert "--models default" not in scored.stdout


@pytest.mark.parametrize(
    ("command", "options", "why"),
    [
        ("medpmc", ("--model", "no-such-model"), "rouge1 needs none"),
        ("medpmc", ("--judged", "patient"), "nobody would be asked; add --judge SPEC"),
        ("aie-pairwise", ("--view", "patient", "--sees", "dialogues"), "is for the doctor's view"),
        ("replies", ("--sheet", "new.csv", "--marks", "marked.csv"), "leave one of them out"),
        ("replies", ("--sheet", "new.csv", "--models", "offline"), "nobody would be asked, as people judge"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, options: Sequence[str], why: str
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = wardround("score", command, tmp_path / "run", *options)
    assert refused.exit_code == 2 and why in " ".join(refused.stderr.split())
    assert not any(tmp_path.iterdir())
