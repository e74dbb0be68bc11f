"""Scoring the recorded answers of a run by corrected answer keys; what was played stays the run's."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cases import AnswerKey, Case, load_cases, save_cases
from nodes.context import Context
from nodes.workflow.admission import reference_of
from scoring.medchain.answers import Answers
from tests.support.commands import wardround
from tests.support.fake_server import FakeServer
from tests.support.recorded_runs import graded, write_run
from wardround.analysis.rescoring import rescore
from wardround.commands.score.from_python import score_transcripts
from wardround.config.experiment import ConfigurationError
from wardround.store.rekeyed import _WITHOUT_SEQUENCE
from wardround.store.result import Result

CASES = [case for case in load_cases(split="test") if case.key.imaging_reports and case.language == "en"][:3]
FIRST, SECOND, OTHER = CASES
PICTURES_OF_OTHER = [
    image.model_copy(update={"file": other.file})
    for image, other in zip(SECOND.examinations.images, OTHER.examinations.images, strict=True)
]


def rekeyed(case: Case, **parts: Any) -> Case:
    """The case with these parts of its key."""
    return case.model_copy(update={"key": case.key.model_copy(update=parts)})


def told_right(case: Case) -> Result:
    """What doctors decided who found the key."""
    key = case.key
    referral = {"urgency": "routine", "department": key.department, "sub_departments": key.sub_departments}
    answers = Answers.model_validate(
        {
            "referral": referral,
            "orders": key.examination_items,
            "reports": key.imaging_reports,
            "diagnosis": key.diagnosis,
            "treatment": key.treatment_items,
        }
    )
    return Result(case_id=case.id, epoch=0, termination="completed", answers=answers)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of two of the three cases of a file."""
    save_cases(CASES, tmp_path / "cases.jsonl")
    data = {"cases": str(tmp_path / "cases.jsonl"), "limit": 2}
    return write_run(tmp_path / "run", [*map(told_right, (FIRST, SECOND))], graph="clinical_workflow", data=data)


def contents(folder: Path) -> dict[Path, bytes]:
    """The files of a folder."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def saved(folder: Path, *cases: Case) -> Path:
    """A file of these cases."""
    save_cases(cases, folder / "mended.jsonl")
    return folder / "mended.jsonl"


def scored(run: Path, *options: object) -> tuple[dict[str, Any], str]:
    """What the command writes, and what it prints."""
    done = wardround("score", "medchain", run, *options, "--json", run.parent / "scores.json")
    assert done.exit_code == 0, done.output
    return json.loads((run.parent / "scores.json").read_bytes()), " ".join(done.stdout.split())


def refused(run: Path, file: Path) -> str:
    """Why the command refuses a file."""
    done = wardround("score", "medchain", run, "--cases", file)
    assert done.exit_code == 2 and not done.stdout and "Traceback" not in done.output
    return " ".join(done.stderr.split())


def test_the_same_keys_give_the_same_scores_in_whichever_order_and_among_other_cases(run: Path, tmp_path: Path) -> None:
    before, _ = scored(run)
    after, said = scored(run, "--cases", saved(tmp_path, OTHER, SECOND, FIRST))
    assert after.pop("keys") == {"file": str(tmp_path / "mended.jsonl"), "changed": []}
    assert after == before and after["n"] == 2
    assert "0 of 2 cases with another key than in the run." in said


async def test_a_changed_key_moves_the_score_of_its_case_alone_and_the_run_is_only_read(
    run: Path, tmp_path: Path
) -> None:
    before = contents(run)
    file = saved(tmp_path, FIRST, rekeyed(SECOND, diagnosis=["Caries"], department=OTHER.key.department))
    (first, second), _ = await rescore(run)
    (same, moved), summary = await rescore(run, cases=file)
    assert same == first and summary["keys"]["changed"] == [SECOND.id]
    assert second.scores["diagnosis"] == 1.0 and moved.scores["diagnosis"] != 1.0
    assert moved.scores["treatment"] == second.scores["treatment"] == 1.0
    assert contents(run) == before


def test_the_precision_of_claims_is_of_the_new_references_too(run: Path, tmp_path: Path) -> None:
    other = dict.fromkeys(FIRST.key.imaging_reports, "A fractured violin.")
    _, said = scored(run, "--cases", saved(tmp_path, rekeyed(FIRST, imaging_reports=other), SECOND))
    assert "1 of 2 cases with another key than in the run." in said
    assert "│ 0.500 │ 0.500 │" in said.partition("Claims of reports")[2]


def test_parts_of_the_new_key_that_an_importer_inferred_count_as_the_run_lets_them(run: Path, tmp_path: Path) -> None:
    guessed = rekeyed(FIRST, inferred=["treatment_items"])
    written, said = scored(run, "--cases", saved(tmp_path, guessed, SECOND))
    assert written["metrics"]["treatment"]["n"] == 1 and "inferred" in said


def test_a_judge_is_asked_about_the_new_key_and_no_doctor_is(run: Path, tmp_path: Path) -> None:
    file = saved(tmp_path, FIRST, rekeyed(SECOND, diagnosis=["Glassblower's cough"]))
    with FakeServer() as server:
        spec = f"diagnosis_judge=openai:fake-model@{server.base_url}"
        scored(run, "--cases", file, "--models", spec)
        asked = [json.dumps(request.body) for request in server.requests]
    assert len(asked) == 2 and sum("Glassblower" in one for one in asked) == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"patient": SECOND.patient.model_copy(update={"family_history": "Gout."})}, "patient.family_history"),
        ({"examinations": SECOND.examinations.model_copy(update={"physical": {}})}, "examinations.physical"),
        ({"examinations": SECOND.examinations.model_copy(update={"images": PICTURES_OF_OTHER})}, "examinations.images"),
        ({"language": "zh"}, "language"),
    ],
)
def test_another_record_than_was_played_is_refused_by_case_and_field(
    run: Path, tmp_path: Path, change: Mapping[str, Any], field: str
) -> None:
    said = refused(run, saved(tmp_path, FIRST, SECOND.model_copy(update=change)))
    assert f"mended.jsonl: case {SECOND.id}: {field}" in said
    assert "is not what was played in" in said and "restore it from the run's cases (" in said


def of_source(case: Case, **fields: Any) -> Case:
    """The case with these fields of its provenance."""
    return case.model_copy(update={"provenance": case.provenance.model_copy(update=fields)})


def talked(case: Case, *diagnosis: str) -> Result:
    """A consultation that ended with a diagnosis, gout if none is given."""
    parts = dict.fromkeys(("symptoms", "examinations", "basis", "treatment"), "x")
    report = {**parts, "diagnosis": diagnosis or ["Gout"]}
    return graded(case.id, answers={"dialogue": [], "report": report})


async def test_provenance_may_differ_and_the_sources_own_words_are_scored_by_as_a_key_is(tmp_path: Path) -> None:
    save_cases(CASES, tmp_path / "cases.jsonl")
    data = {"cases": str(tmp_path / "cases.jsonl"), "limit": 2}
    run = write_run(tmp_path / "run", [*map(talked, (FIRST, SECOND))], graph="consultation", suite="medpmc", data=data)
    file = saved(
        tmp_path, of_source(FIRST, licence="CC BY 4.0"), of_source(SECOND, sections={"Diagnosis": "Diagnosis: Gout"})
    )
    before, _ = await rescore(run)
    after, summary = await rescore(run, cases=file)
    assert summary["keys"]["changed"] == [SECOND.id]
    assert after[0] == before[0]
    assert (before[1].scores["Diagnosis"], after[1].scores["Diagnosis"]) == (0, 100)


async def test_a_pictures_own_report_is_no_other_key_where_the_picture_was_copied(tmp_path: Path) -> None:
    (picture,) = SECOND.examinations.images
    case = rekeyed(SECOND, picture_reports={picture.file: "A fractured rib."})
    (tmp_path / "elsewhere").mkdir()
    save_cases([case], tmp_path / "cases.jsonl")
    data = {"cases": str(tmp_path / "cases.jsonl")}
    run = write_run(tmp_path / "run", [talked(case)], graph="consultation", suite="medpmc", data=data)
    for report, changed in (("A fractured rib.", []), ("No fracture.", [case.id])):
        mended = rekeyed(case, picture_reports={picture.file: report})
        _, summary = await rescore(run, cases=saved(tmp_path / "elsewhere", mended))
        assert summary["keys"]["changed"] == changed


async def test_a_report_that_has_its_pictures_name_alone_is_the_same_key_where_the_picture_was_copied(
    tmp_path: Path,
) -> None:
    save_cases([SECOND], tmp_path / "cases.jsonl")
    (copied,) = load_cases(tmp_path / "cases.jsonl")
    (picture,) = copied.examinations.images
    case = rekeyed(copied, picture_reports={Path(picture.file).name: "A fractured rib."})
    save_cases([case], tmp_path / "cases.jsonl")
    data = {"cases": str(tmp_path / "cases.jsonl")}
    run = write_run(tmp_path / "run", [talked(case)], graph="consultation", suite="medpmc", data=data)
    (tmp_path / "elsewhere").mkdir()
    _, summary = await rescore(run, cases=saved(tmp_path / "elsewhere", case))
    assert summary["keys"]["changed"] == []


async def test_a_case_that_is_in_another_split_now_was_played_all_the_same(run: Path, tmp_path: Path) -> None:
    _, summary = await rescore(run, cases=saved(tmp_path, FIRST.model_copy(update={"split": "train"}), SECOND))
    assert summary["keys"]["changed"] == []


async def test_a_case_that_failed_has_no_score_where_the_new_key_has_nothing(tmp_path: Path) -> None:
    failed = Result(case_id=FIRST.id, epoch=0, termination="model_error")
    how: dict[str, Any] = {"graph": "clinical_workflow", "data": {"case_ids": [FIRST.id]}}
    run = write_run(tmp_path / "run", [failed], **how)
    for case, missing in ((FIRST, set()), (rekeyed(FIRST, treatment_items=[]), {"treatment"})):
        ((again,), _) = await rescore(run, cases=saved(tmp_path, case))
        assert again.unscored.keys() == missing and not again.scores


async def test_a_result_of_no_case_of_the_run_is_refused_as_it_is_without_another_file(tmp_path: Path) -> None:
    data = {"case_ids": [FIRST.id]}
    run = write_run(tmp_path / "run", [*map(told_right, (FIRST, OTHER))], graph="clinical_workflow", data=data)
    with pytest.raises(ConfigurationError, match=rf"the result for {OTHER.id}, epoch 0, is not part of this run"):
        await rescore(run, cases=saved(tmp_path, *CASES))


@pytest.mark.parametrize(
    ("suite", "column", "options"),
    [("icd10", "R", {}), ("mvme", "diagnosis", {"grade": True}), ("medpmc", "Diagnosis", {})],
)
def test_reports_of_a_consultation_are_compared_with_the_new_keys(
    tmp_path: Path, suite: str, column: str, options: dict[str, Any]
) -> None:
    how: dict[str, Any] = {"graph": "consultation", "workflow": {"patient": "medpmc"}, "data": {"case_ids": [FIRST.id]}}
    run = write_run(tmp_path / "run", [talked(FIRST, *FIRST.key.diagnosis)], **how)
    before = contents(run)
    for key, same in ((FIRST.key.diagnosis, True), (OTHER.key.diagnosis, False)):
        file = saved(tmp_path, rekeyed(FIRST, diagnosis=key))
        given = {"cases": file, **options}
        own, other = (score_transcripts(suite, run, **each) for each in (options, given))
        assert (own["metrics"][column] == other["metrics"][column]) == same
        assert other["keys"] == {"file": str(file), "changed": [] if same else [FIRST.id]} and "keys" not in own
        assert other["notes"][0].startswith(f"Scored by the keys of {file}")
    assert contents(run) == before


@pytest.mark.parametrize(
    ("suite", "options", "why"),
    [
        ("mvme", {}, "nothing is compared with it; add --grade"),
        ("medpmc", {"recall": "rougeL"}, "scores one run alone"),
        ("icd10", {}, "is for runs; .* with --reference"),
    ],
)
def test_keys_with_which_nothing_would_be_compared_are_refused(
    run: Path, tmp_path: Path, suite: str, options: dict[str, Any], why: str
) -> None:
    file = saved(tmp_path, *CASES)
    source = file if suite == "icd10" else run
    with pytest.raises(ConfigurationError, match=f"--cases {file}: {why}"):
        score_transcripts(suite, source, cases=file, **options)


def test_a_file_that_lacks_a_case_of_the_run_is_refused_with_its_name(run: Path, tmp_path: Path) -> None:
    said = refused(run, saved(tmp_path, FIRST, OTHER))
    assert f"mended.jsonl: lacks 1 case of {run} ({SECOND.id}); add them with their keys" in said
    assert "file not found" in refused(run, tmp_path / "none.jsonl")


def test_cases_that_were_edited_in_place_are_scored_and_it_is_said_that_nothing_could_be_compared(
    run: Path, tmp_path: Path
) -> None:
    mended = [FIRST, rekeyed(SECOND, treatment_items=[])]
    elsewhere, _ = scored(run, "--cases", saved(tmp_path, *mended))
    save_cases([*mended, OTHER], tmp_path / "cases.jsonl")
    assert wardround("score", "medchain", run).exit_code == 2
    written, said = scored(run, "--cases", tmp_path / "cases.jsonl")
    assert written["metrics"] == elsewhere["metrics"] and written["metrics"]["treatment"]["n"] == 1
    assert written["keys"] == {"file": str(tmp_path / "cases.jsonl"), "changed": None}
    assert "Whether its records are those that were played could not be checked" in said
    assert "the cases have changed since the run" in said


@pytest.mark.parametrize(
    ("graph", "workflow", "shown", "free"),
    [
        ("clinical_workflow", {"sequential": False}, "diagnosis", "treatment_items"),
        ("consultation", {"patient": "medpmc", "pictures_in_dialogue": "report"}, "imaging_reports", "diagnosis"),
    ],
)
async def test_parts_of_a_key_that_the_run_showed_must_be_those_that_it_showed(
    tmp_path: Path, graph: str, workflow: Mapping[str, Any], shown: str, free: str
) -> None:
    result = talked(FIRST) if graph == "consultation" else told_right(FIRST)
    how: dict[str, Any] = {"graph": graph, "workflow": workflow, "data": {"case_ids": [FIRST.id]}}
    run = write_run(tmp_path / "run", [result], **how)
    emptied: dict[str, Any] = {"diagnosis": [], "treatment_items": [], "imaging_reports": {}}
    _, summary = await rescore(run, cases=saved(tmp_path, rekeyed(FIRST, **{free: emptied[free]})))
    assert summary["keys"]["changed"] == [FIRST.id]
    with pytest.raises(ConfigurationError, match=rf"case {FIRST.id}: key\.{shown}.* is not what was played"):
        await rescore(run, cases=saved(tmp_path, rekeyed(FIRST, **{shown: emptied[shown]})))


def test_a_reconstruction_has_no_key_to_be_scored_by(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [graded(FIRST.id)], graph="reconstruction", data={"case_ids": [FIRST.id]})
    with pytest.raises(ConfigurationError, match="from whole notes, which no answer key scores"):
        score_transcripts("gates", run, cases=saved(tmp_path, FIRST))


@pytest.mark.parametrize("part", [part for part, value in FIRST.key if value])
def test_of_a_key_those_parts_are_compared_of_which_stages_are_told_without_a_sequence(part: str) -> None:
    emptied = {part: AnswerKey.model_fields[part].get_default(call_default_factory=True)}
    is_told = reference_of(rekeyed(FIRST, **emptied), Context()) != reference_of(FIRST, Context())
    assert is_told == (part in _WITHOUT_SEQUENCE)
