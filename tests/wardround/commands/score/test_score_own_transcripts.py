"""Runs of ours wherever transcripts are read: paper mode, judges, recall, pairs, the chosen option, and as files."""

import csv
import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cases import load_cases
from cases.files import save_cases
from nodes.consultation.final_report import FinalReport
from nodes.state.chart import Turn
from scoring.consultation import ConsultationAnswers
from tests.scoring.transcripts_of_ours import aie_data, turn, write
from tests.support.commands import metrics, wardround
from tests.support.fake_server import FakeServer
from tests.support.recorded_runs import graded, write_run
from wardround.analysis.multiple_choice import own_options

OPTIONS = {"A": "Tennis elbow", "B": "Gallstones with fever", "C": "Gout"}
REPORT = FinalReport(
    symptoms="Pain under the ribs.",
    examinations="Ultrasound.",
    diagnosis=["Gallstones"],
    basis="Stones.",
    treatment="Rest.",
)
SAID = (
    Turn(speaker="doctor", text="Hello.", action="Initialization"),
    Turn(speaker="patient", text="My side hurts.", facts=["My side hurts."]),
    Turn(speaker="doctor", text="An ultrasound, please.", action="Effective Advice"),
    Turn(speaker="patient", text="It showed gallstones, and there is fever."),
    Turn(speaker="doctor", text="Thank you, goodbye.", action="Conclusion"),
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of one case that has options."""
    case = next(case for case in load_cases() if case.id == "surgery-01")
    key = case.key.model_copy(update={"question": "What is it?", "options": OPTIONS, "option": "B"})
    file = tmp_path / "cases.jsonl"
    examinations = case.examinations.model_copy(update={"images": []})
    save_cases([case.model_copy(update={"key": key, "examinations": examinations})], file)
    answers = ConsultationAnswers(dialogue=list(SAID), report=REPORT)
    result = graded(case.id, scores={}).model_copy(update={"answers": answers})
    data = {"cases": str(file), "split": case.split}
    how: dict[str, Any] = {"graph": "consultation", "suite": "aie", "workflow": {"patient": "saps"}}
    return write_run(tmp_path / "run", [result], data=data, **how)


@pytest.mark.slow
def test_a_run_and_its_exported_file_have_the_same_scores_in_either_mode(run: Path, tmp_path: Path) -> None:
    for format, suite in (("aie", "aie"), ("medpmc", "medpmc")):
        file = tmp_path / f"{format}.json"
        told = wardround("export", "transcripts", run, "--format", format, "-o", file)
        assert told.exit_code == 0 and "1 transcript" in told.stdout, told.output
        assert ("The patient is saps, not medpmc: only the format is that of medpmc's authors" in told.stdout) is (
            format == "medpmc"
        )
        of_run = metrics(tmp_path / "s.json", "score", suite, run, "--mode", "paper")
        assert of_run == metrics(tmp_path / "s.json", "score", suite, file, "--mode", "paper")
    assert of_run["Turns"]["mean"] == 3
    sound = metrics(tmp_path / "s.json", "score", "aie", run)
    assert sound == metrics(tmp_path / "s.json", "score", "aie", tmp_path / "aie.json")


def test_the_judge_of_pairs_is_told_the_diagnosis_of_a_case_without_options(tmp_path: Path) -> None:
    case = next(case for case in load_cases() if case.id == "surgery-01")
    result = graded(case.id, scores={}).model_copy(
        update={"answers": ConsultationAnswers(dialogue=list(SAID), report=REPORT)}
    )
    how: dict[str, Any] = {"graph": "consultation", "suite": "mvme", "data": {"case_ids": [case.id]}}
    runs = [write_run(tmp_path / name, [result], **how) for name in ("one", "other")]
    with FakeServer() as server:
        told = wardround("score", "aie-pairwise", *runs, "--judge", f"openai:judge@{server.base_url}")
    assert told.exit_code == 0, told.output
    asked = server.requests[0].text
    assert case.key.diagnosis[0] in asked.partition("right diagnosis")[2].partition("first consultation")[0]


def test_multiple_choice_puts_the_options_of_the_case_where_the_right_one_is_its_diagnosis() -> None:
    case = next(case for case in load_cases() if case.id == "surgery-01")
    options = {
        "A": "Gout",
        "B": "Tennis elbow",
        "C": case.key.diagnosis[0],
        "D": "Gastritis",
        "E": "Sprain",
        "F": "Flu",
    }
    key = case.key.model_copy(update={"question": "What is it?", "options": options, "option": "C"})
    own = own_options(case.model_copy(update={"key": key}))
    assert own and (own.options, own.right) == (options, "C")
    listed = key.model_copy(update={"options": {**options, "C": f"1. {case.key.diagnosis[0]}; 2. Hernia"}})
    assert own_options(case.model_copy(update={"key": listed})), "a list whose first is the principal diagnosis"
    treated = key.model_copy(update={"options": {"A": "Aspirin", "B": "Surgery"}, "option": "B"})
    assert own_options(case.model_copy(update={"key": treated})) is None, "asks for no diagnosis"
    assert own_options(case) is None


def test_a_folder_beside_runs_is_refused_by_what_to_give_instead(run: Path) -> None:
    (run.parent / "tables").mkdir()
    told = wardround("score", "medpmc", run, run.parent / "tables", "--mode", "paper")
    assert told.exit_code == 2 and f"for all runs in {run.parent}, name that folder" in told.stderr, told.output


def test_graded_anew_the_epochs_of_a_case_are_one_case_and_what_failed_or_is_empty_is_told(tmp_path: Path) -> None:
    said = ConsultationAnswers(dialogue=list(SAID), report=REPORT)
    results = [
        graded(case, scores={}).model_copy(update={"epoch": epoch, "answers": answers})
        for case, answers in (("surgery-01", said), ("dentistry-04", ConsultationAnswers(dialogue=list(SAID))))
        for epoch in range(3)
    ]
    failed = graded("surgery-02", scores={}).model_copy(update={"termination": "model_error"})
    data = {"case_ids": ["surgery-01", "dentistry-04", "surgery-02"]}
    run = write_run(tmp_path / "run", [*results, failed], graph="consultation", suite="mvme", data=data, epochs=3)
    out = tmp_path / "scores.json"
    told = wardround("score", "mvme", run, "--grade", "--json", out)
    assert told.exit_code == 0, told.output
    one = json.loads(out.read_text("utf-8"))["metrics"]["diagnosis"]
    assert one["n"] == 6 and one["se"] == pytest.approx(abs(one["mean"] - 1)), "as of two cases, not of six"
    assert "run: 1 of 7 results failed, and are not scored." in told.stdout
    assert "3 of 6 reports have no part, and are graded D: dentistry-04" in " ".join(told.stdout.split())
    scored = [graded("surgery-01", scores={"diagnosis": 3.0}).model_copy(update={"answers": said}), failed]
    told = wardround(
        "score", "mvme", write_run(tmp_path / "two", scored, graph="consultation", suite="mvme", data=data)
    )
    bound = told.stdout.partition("Failed as wrong (a lower")[2]
    assert "3.000" in told.stdout and bound.split("diagnosis")[1].split()[1:4:2] == ["2.000", "2"], told.output


@pytest.mark.slow
def test_what_failed_is_told_and_a_patient_who_tracks_nothing_is_refused(run: Path, tmp_path: Path) -> None:
    lost = graded("dentistry-04", scores={}).model_copy(update={"termination": "failed"})
    kept = graded("surgery-01", scores={}).model_copy(
        update={"answers": ConsultationAnswers(dialogue=list(SAID), report=REPORT)}
    )
    data = {"case_ids": ["surgery-01", "dentistry-04"]}
    how: dict[str, Any] = {"graph": "consultation", "data": data}
    half = write_run(tmp_path / "half", [kept, lost], suite="aie", workflow={"patient": "saps"}, **how)
    told = wardround("score", "aie", half)
    assert told.exit_code == 0 and "half: 1 of 2 cases failed" in told.stdout, told.output
    told = wardround("score", "aie", half, "--diagnose", "offline")
    assert told.exit_code == 2 and "no case with options" in told.stderr
    assert wardround("score", "mcq", half).exit_code == 1  # the failed case counts as wrong
    told = wardround("score", "aie", half, "--diagnose", "offline")  # as the refusal says, they are written now
    assert told.exit_code == 0 and "│ DIAGNOSIS" in told.stdout, told.output
    untracked = {"patient": "saps", "tracker": False}
    bare = write_run(tmp_path / "bare", [kept], suite="mvme", workflow=untracked, **how)
    told = wardround("score", "aie", bare, "--mode", "paper")
    assert told.exit_code == 2 and "its patient tracks none" in told.stderr


def test_each_doctor_chooses_with_its_own_model_if_so_asked(tmp_path: Path) -> None:
    """As in Tables 2 and 3 and Figures 6b and 6d: the doctor who led the dialogue also makes the diagnosis."""
    case = next(case for case in load_cases() if case.id == "surgery-01")
    key = case.key.model_copy(update={"question": "What is it?", "options": OPTIONS, "option": "B"})
    examinations = case.examinations.model_copy(update={"images": []})
    cases = [
        case.model_copy(
            update={
                "id": name.lower(),
                "key": key,
                "examinations": examinations,
                "provenance": case.provenance.model_copy(update={"dataset": name}),
            }
        )
        for name in ("QMAX", "MedQA")
    ]
    file, sweep, out = tmp_path / "cases.jsonl", tmp_path / "sweep", tmp_path / "out"
    save_cases(cases, file)
    answers = ConsultationAnswers(dialogue=list(SAID), report=REPORT)
    results = [graded(one.id, scores={}).model_copy(update={"answers": answers}) for one in cases]
    letters = {"strong": "B", "weak": "A"}
    with FakeServer(answer=lambda request: {"letter": letters[request.model]}) as server:
        for name in letters:
            write_run(
                sweep / name,
                results,
                data={"cases": str(file), "split": case.split},
                graph="consultation",
                suite="aie",
                workflow={"patient": "saps"},
                models={"default": "openai:other", "doctor": "own"},
                model={"own": {"spec": f"openai:{name}@{server.base_url}"}},
            )
        own = ("--diagnose", "doctor", "--mcq", "doctor")
        told = wardround("score", "aie", sweep, *own, "--each-round", "--out", out)
        assert told.exit_code == 0, told.output
        dialogue_rounds, questions = 3, 1
        assert Counter(request.model for request in server.requests) == dict.fromkeys(
            letters, len(cases) * (dialogue_rounds + questions)
        )
        rows = list(csv.DictReader((out / "aie-figure-6b.csv").read_text("utf-8").splitlines()))
        assert {(row["doctor"], row["examination"]): (row["mcq_mean"], row["talked_mean"]) for row in rows} == {
            (doctor, examination): (right, right)
            for doctor, right in (("strong", "100.0"), ("weak", "0.0"))
            for examination in ("QMAX", "MedQA", "all")
        }
        rows = list(csv.DictReader((out / "aie-figure-6d.csv").read_text("utf-8").splitlines()))
        assert {(row["doctor"], row["DIAGNOSIS_mean"]) for row in rows} == {("strong", "100.0"), ("weak", "0.0")}
        exported = tmp_path / "file.json"
        assert wardround("export", "transcripts", sweep / "weak", "--format", "aie", "-o", exported).exit_code == 0
        told = wardround("score", "aie", sweep / "weak", exported, "--diagnose", "doctor")
        assert told.exit_code == 2 and "file.json is no run, and names no doctor's model" in told.stderr
        told = wardround("score", "aie", sweep, "--diagnose", "doctor", "--against", exported)
        assert told.exit_code == 2 and "--against have no doctor's model" in told.stderr
        people = tmp_path / "people.csv"
        people.write_text("case,one,other,inquiry\nQMAX/qmax,strong,weak,win\n", "utf-8")
        server.requests.clear()
        pairwise = ("score", "aie-pairwise", sweep, "--diagnose", "doctor", "--people", people, "--judge", "none")
        told = wardround(*pairwise)
        assert told.exit_code == 0, told.output
        assert Counter(request.model for request in server.requests) == dict.fromkeys(letters, len(cases))


@pytest.mark.slow
def test_both_formats_are_drawn_by_examination_of_a_run_of_imported_cases(tmp_path: Path) -> None:
    """Figure 6b: the case keeps which examination it is from, and the record that coverage is measured against."""
    case = next(case for case in load_cases() if case.id == "surgery-01")
    key = case.key.model_copy(update={"question": "What is it?", "options": OPTIONS, "option": "B"})
    source = {"dataset": "QMAX", "record": "Gallstones, fever, jaundice. What is it?"}
    cases = [
        case.model_copy(
            update={
                "id": f"{name.lower()}-1",
                "key": key,
                "examinations": case.examinations.model_copy(update={"images": []}),
                "provenance": case.provenance.model_copy(update={**source, "dataset": name}),
            }
        )
        for name in ("QMAX", "MedQA")
    ]
    file, out = tmp_path / "cases.jsonl", tmp_path / "out"
    save_cases(cases, file)
    answers = ConsultationAnswers(dialogue=list(SAID), report=REPORT)
    results = [graded(one.id, scores={}).model_copy(update={"answers": answers}) for one in cases]
    data = {"cases": str(file), "split": case.split}
    how: dict[str, Any] = {"graph": "consultation", "suite": "aie", "workflow": {"patient": "saps"}}
    played = write_run(tmp_path / "run", results, data=data, **how)
    found = metrics(
        tmp_path / "s.json", "score", "aie", played, "--diagnose", "offline", "--mcq", "offline", "--out", out
    )
    rows = list(csv.DictReader((out / "aie-figure-6b.csv").read_text("utf-8").splitlines()))
    assert {row["examination"] for row in rows} == {"QMAX", "MedQA", "all"}
    assert found["COVERAGE"]["mean"] == pytest.approx(200 / 3), "'gallstones' and 'fever' of the source's three words"


@pytest.mark.slow
def test_a_letter_is_scored_only_where_one_was_chosen_and_from_the_dialogue_alone(run: Path, tmp_path: Path) -> None:
    assert "DIAGNOSIS" not in metrics(tmp_path / "s.json", "score", "aie", run, "--mode", "paper")
    found = metrics(tmp_path / "s.json", "score", "aie", run, "--diagnose", "offline")
    assert found["DIAGNOSIS"]["mean"] == 100
    out = tmp_path / "out"
    told = wardround("score", "aie", run, "--diagnose", "offline", "--each-round", "--out", out)
    assert told.exit_code == 0 and "Coverage and diagnosis by round" in told.stdout, told.output
    rows = list(csv.DictReader((out / "aie-figure-6d.csv").read_text("utf-8").splitlines()))
    assert [float(row["DIAGNOSIS_mean"]) for row in rows] == [0, 100, 100], "the ultrasound told it"
    assert [float(row["median"]) for row in rows] == [float(row["COVERAGE_mean"]) for row in rows]
    assert {"aie-figure-6c.svg", "aie-figure-6d.svg", "aie-table-3.csv"} <= {file.name for file in out.iterdir()}


@pytest.mark.slow
def test_runs_are_judged_recalled_and_paired(run: Path, tmp_path: Path) -> None:
    found = metrics(tmp_path / "s.json", "score", "medpmc", run, "--judge", "offline", "--recall", "rougeL")
    assert found["Judge: inquiry"]["n"] == 1 and found["Diagnosis"]["n"] == 1
    other = shutil.copytree(run, tmp_path / "other")
    assert wardround("score", "aie-pairwise", run, other).exit_code == 0
    (tmp_path / "sweep").mkdir()
    run.rename(tmp_path / "sweep" / "run")
    assert metrics(tmp_path / "s.json", "score", "medpmc", tmp_path / "sweep")["Diagnosis"]["n"] == 1


@pytest.mark.slow
def test_a_run_of_imported_cases_pairs_with_the_authors_transcripts_of_the_same_patients(tmp_path: Path) -> None:
    """The importers put the set's name before the authors' numbers."""
    ours = next(case for case in load_cases() if case.id == "surgery-01")
    key = ours.key.model_copy(update={"question": "What is it?", "options": OPTIONS, "option": "B"})
    source = ours.provenance.model_copy(update={"record": "Gallstones, fever and jaundice. What is it?"})
    fields = {"key": key, "provenance": source, "examinations": ours.examinations.model_copy(update={"images": []})}
    cases = [ours.model_copy(update={**fields, "id": f"hospitalcases-{number}"}) for number in (3, 4)]
    save_cases(cases, tmp_path / "cases.jsonl")
    answers = ConsultationAnswers(dialogue=list(SAID), report=REPORT)
    results = [graded(case.id, scores={}).model_copy(update={"answers": answers}) for case in cases]
    how: dict[str, Any] = {"graph": "consultation", "suite": "aie", "workflow": {"patient": "saps"}}
    data = {"cases": str(tmp_path / "cases.jsonl"), "split": ours.split}
    run = write_run(tmp_path / "run", results, data=data, **how)

    theirs = [aie_data(source.record, turn("O", "Hello.", "My side hurts."), id=number) for number in (3, 9)]
    file = write(tmp_path / "gpt4.json", theirs)
    choices = [
        {"id": 3, "model1": {"model": "run"}, "model2": {"model": "gpt4"}, "result": {"Inquiry": "model1"}},
        {"id": 4, "model1": {"model": "run"}, "model2": {"model": "gpt4"}, "result": {"Inquiry": "model2"}},
    ]
    people = write(tmp_path / "people.json", choices)
    told = wardround("score", "aie-pairwise", run, file, "--people", people)
    assert told.exit_code == 0, told.output
    said = " ".join(told.stdout.split())
    assert "2 of 3 cases have no counterpart and are left out: 4 (run), 9 (gpt4)." in said, said
    assert "1 of people's 2 choices are about cases that these two doctors did not play, such as '4'" in said
    found = metrics(tmp_path / "s.json", "score", "aie-pairwise", run, file, "--leave-out", "hospitalcases-4,9")
    assert (found["inquiry"]["mean"], found["inquiry"]["n"]) == (100, 1), "the first named is the run"
    told = wardround("score", "aie", run, "--against", file)
    assert told.exit_code == 0 and "2 of 3 cases have no counterpart" in " ".join(told.stdout.split())

    other = write(tmp_path / "other.json", [aie_data("A cough of two weeks.", turn("O", "Hello.", "I cough."), id=3)])
    for arguments, reason in (
        (("score", "aie-pairwise", run, other), "case 3: run and other have different patients under this number"),
        (("score", "aie", run, "--against", write(tmp_path / "no.json", theirs[1:])), "no case in common: here has 3"),
        (("compare", run, file), "--against FILE"),
    ):
        told = wardround(*arguments)
        assert told.exit_code == 2 and reason in " ".join(told.stderr.split()), told.output


def test_a_round_that_nobody_chooses_in_and_a_folder_that_is_none_are_refused_before_anybody_is_asked(
    run: Path, tmp_path: Path
) -> None:
    told = wardround("score", "aie", run, "--each-round")
    assert told.exit_code == 2 and "--diagnose" in told.stderr
    (tmp_path / "file").write_text("")
    with FakeServer() as server:
        judge = f"openai:fake-model@{server.base_url}"
        for arguments in (("aie", run, "--diagnose", judge), ("aie-pairwise", run, run, "--judge", judge)):
            told = wardround("score", *arguments, "--out", tmp_path / "file")
            assert (
                told.exit_code == 2
                and "cannot be created (file exists where a folder is needed; name another)" in told.stderr
            ), told.output
    assert server.requests == []


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("aie", "--diagnose", "MODEL", "--mcq", "opnai:x"), "--mcq: models.mcq_doctor: 'opnai:x': unknown provider"),
        (("aie", "--diagnose", "MODEL", "--human", "nowhere.csv"), "nowhere.csv: file not found"),
        (("aie", "--diagnose", "MODEL", "--human", "strangers.csv"), "not among the scored cases"),
        (("aie", "--diagnose", "MODEL", "--against", "nowhere.json"), "nowhere.json: file not found"),
        (("aie", "--diagnose", "MODEL", "--json", "folder"), "folder: is a directory"),
        (("medpmc", "--judge", "MODEL", "--human", "nowhere.csv"), "nowhere.csv: file not found"),
        (("medpmc", "--judge", "MODEL", "--json", "strangers.csv/x.json"), "file exists where a folder is needed"),
        (("clini-eval", "--judge", "MODEL", "--details", "folder"), "folder: is a directory"),
        (
            ("clini-eval", "--judge", "MODEL", "--by", "strategy", "--over", "nobody"),
            "no dialogue of this strategy in the sources; expected one of",
        ),
        (("mvme", "--grade", "--judge", "MODEL", "--json", "folder"), "folder: is a directory"),
    ],
)
def test_what_cannot_be_read_or_written_is_refused_before_anybody_is_asked(
    run: Path, arguments: tuple[str, ...], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "strangers.csv").write_text("case,fluency\nnobody,1\n")
    monkeypatch.chdir(tmp_path)
    with FakeServer() as server:
        suite, *options = (argument.replace("MODEL", f"openai:any@{server.base_url}") for argument in arguments)
        told = wardround("score", suite, run, *options)
    assert told.exit_code == 2 and why in told.stderr, told.output
    assert server.requests == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("score", "aie-pairwise", "{run}", "{run}", "--judge", "human"),
        ("score", "aie", "{run}", "--diagnose", "human"),
        ("score", "aie", "{run}", "--mcq", "human"),
        ("score", "clini-eval", "{run}", "--judge", "human"),
        ("score", "medpmc", "{run}", "--judge", "human"),
        ("score", "mvme", "{run}", "--grade", "--judge", "human"),
        ("score", "simulator", "--models", "patient=human"),
    ],
)
def test_a_person_is_refused_as_judge_in_one_sentence(run: Path, arguments: tuple[str, ...]) -> None:
    told = wardround(*(argument.format(run=run) for argument in arguments))
    assert told.exit_code == 2 and "a person cannot answer here" in told.stderr


def test_a_run_without_a_consultation_has_no_transcripts(tmp_path: Path) -> None:
    bare = write_run(tmp_path / "bare", [graded("surgery-01", scores={})], data={"case_ids": ["surgery-01"]})
    told = wardround("export", "transcripts", bare, "-o", tmp_path / "t.json")
    assert told.exit_code == 2 and "has no finished consultation" in told.stderr
