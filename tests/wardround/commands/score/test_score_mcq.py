"""The multiple-choice format beside the interactive one: on transcripts, and on a finished run."""

import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from cases import Case, load_cases
from scoring.aie.distractors import options
from scoring.metrics.diagnosis_grade import name_agreement
from tests.scoring.transcripts_of_ours import ENGLISH, aie_data, write
from tests.support.fake_server import ChatRequest, FakeServer, Fault
from tests.support.runs import CASES, short, spec
from tests.support.runs import results as results_of
from tests.support.runs import run as run_experiment
from wardround.analysis.multiple_choice import KeptOptions, other_diagnoses, whole_record
from wardround.commands.score import score_app
from wardround.store.run_directory import RunDirectory

BUILT_IN = load_cases()
WRONG = ["Ailment one", "Ailment two", "Ailment three", "Ailment four"]


def score(*arguments: object) -> Result:
    return CliRunner().invoke(score_app, [str(argument) for argument in arguments], env={"COLUMNS": "300"})


def metrics(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))["metrics"]
    return found


def lines(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "options.jsonl").read_text("utf-8").splitlines()]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("mcq") / "run"
    run_experiment(short(limit=3), out)
    return out


@pytest.fixture
def run(finished: Path, tmp_path: Path) -> Path:
    """A finished offline run of three cases, without options."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


def played(right: bool = True) -> Any:
    """A model that writes the distractors, and answers with the diagnosis that is right, or with another option."""

    def answer(request: ChatRequest) -> dict[str, Any]:
        if "names" in (request.schema or {})["properties"]:
            return {"names": WRONG}
        lettered = [line for line in request.text.splitlines() if line[1:3] == ". "]
        return {"letter": next(line[0] for line in lettered if (line[3:] not in WRONG) == right)}

    return answer


def models(server: FakeServer, *roles: str) -> Sequence[str]:
    return [part for role in roles for part in ("--models", f"{role}={spec(server)}")]


@pytest.mark.slow
def test_offline_a_run_gets_options_and_both_formats_are_scored(run: Path, tmp_path: Path) -> None:
    done = score("mcq", run, "--json", tmp_path / "scores.json")
    assert done.exit_code == 0, done.output
    assert "Multiple choice minus interactive, paired by case" in done.stdout
    written = json.loads((tmp_path / "scores.json").read_text("utf-8"))
    assert (written["suite"], written["mode"], written["n"]) == ("mcq", "sound", 3)
    assert list(written["metrics"]) == ["MCQ_DIAGNOSIS", "DIAGNOSIS"]
    assert all(found["n"] == 3 and 0 <= found["mean"] <= 100 for found in written["metrics"].values())
    by_id = {case.id: case for case in CASES}
    for kept in lines(run):
        case = by_id[kept["case_id"]]
        assert kept["writer"] == "offline" and kept["options"][kept["right"]] == case.key.diagnosis[0]
        wrong = [name for letter, name in kept["options"].items() if letter != kept["right"]]
        assert (kept["options"], kept["right"]) == options(case.id, case.key.diagnosis[0], other_diagnoses(case)[:4])
        assert len(set(wrong)) == 4


@pytest.mark.slow
def test_the_options_are_written_once_and_not_even_opened_for_writing_again(run: Path) -> None:
    with FakeServer(answer=played()) as server:
        assert score("mcq", run, *models(server, "distractor_writer")).exit_code == 0
        assert len(server.requests) == 3
        for request in server.requests:  # departments have their names in the language of the case
            assert ('<data name="科室">' in request.text) == ("病例" in request.text)
            assert not re.search(r'<data name="科室">\n[A-Z]', request.text)
        kept = (run / "options.jsonl").read_bytes()
        assert score("mcq", run).exit_code == 0
        assert score("mcq", run, *models(server, "default")).exit_code == 0
        assert len(server.requests) == 6  # the doctor alone was asked again
    assert (run / "options.jsonl").read_bytes() == kept
    assert {line["writer"] for line in lines(run)} == {spec(server)}


@pytest.mark.slow
def test_the_doctors_of_a_sweep_choose_from_the_same_options_and_other_runs_from_their_own(
    finished: Path, tmp_path: Path
) -> None:
    one, two, apart = (
        Path(shutil.copytree(finished, tmp_path / place)) for place in ("sweep/one", "sweep/two", "apart/run")
    )
    (tmp_path / "sweep" / "sweep.json").write_text(json.dumps({"name": "s", "runs": ["one", "two"]}), "utf-8")
    with FakeServer(answer=played()) as server:
        writer = models(server, "distractor_writer")
        assert score("mcq", two, *writer).exit_code == 0
        changed, *others = (KeptOptions.model_validate_json(each) for each in RunDirectory(two).options())
        (two / "options.jsonl").unlink()
        with RunDirectory(two).adding_options() as add:
            for kept in (changed.model_copy(update={"options": dict.fromkeys("ABCDE", "Ailment")}), *others):
                add(kept)
        assert score("mcq", one, *writer).exit_code == 0
        assert len(server.requests) == 4, "the options of another key are not taken"
        assert score("mcq", apart, *writer).exit_code == 0
        assert len(server.requests) == 7
    assert {each["case_id"]: each for each in lines(one)} == {each["case_id"]: each for each in lines(apart)}


@pytest.mark.slow
def test_a_line_that_was_cut_or_is_missing_is_written_anew_and_the_others_stay(run: Path) -> None:
    assert score("mcq", run).exit_code == 0
    kept = sorted((run / "options.jsonl").read_bytes().splitlines(keepends=True))
    (run / "options.jsonl").write_bytes(kept[1] + kept[0][:30])
    assert score("mcq", run).exit_code == 0
    now = (run / "options.jsonl").read_bytes().splitlines(keepends=True)
    assert now[0] == kept[1] and sorted(now) == kept


@pytest.mark.slow
def test_the_doctor_and_the_run_are_scored_by_the_same_options(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "scores.json"
    principal = {case.id: case.key.diagnosis[0] for case in CASES}
    expected = [
        100 * bool(result.answers and name_agreement(result.answers.diagnosis[0], principal[result.case_id]))
        for result in results_of(run)
    ]
    for right, mean in ((True, 100), (False, 0)):
        with FakeServer(answer=played(right)) as server:
            done = score("mcq", run, "--json", out, *models(server, "default"))
        assert done.exit_code == 0, done.output
        assert metrics(out)["MCQ_DIAGNOSIS"]["mean"] == mean
        assert metrics(out)["DIAGNOSIS"]["mean"] == pytest.approx(sum(expected) / 3)


def test_the_doctor_reads_the_whole_record_and_nothing_of_the_key(run: Path) -> None:
    with FakeServer(answer=played()) as server:
        assert score("mcq", run, *models(server, "default")).exit_code == 0
        prompts = [request.text for request in server.requests if "letter" in (request.schema or {})["properties"]]
    assert len(prompts) == 3
    for case in (case for case in CASES if case.id in {line["case_id"] for line in lines(run)}):
        (prompt,) = (text for text in prompts if whole_record(case) in text)
        hidden = [case.key.diagnosis_basis, case.key.treatment_course, *case.key.imaging_reports.values()]
        assert not any(text in prompt for text in hidden if text)
        told = " ".join([*map(str, case.patient.model_dump().values()), *case.examinations.results.values()])
        assert set(re.findall(r"\w{4,}", told)) - {"male", "female"} <= set(re.findall(r"\w{4,}", prompt))


@pytest.mark.slow
def test_what_a_model_fails_at_is_wrong_with_its_reason_beside_the_mean_of_what_was_answered(
    run: Path, tmp_path: Path
) -> None:
    out = tmp_path / "scores.json"

    def silent_once(request: ChatRequest) -> Any:
        return "no idea" if request.text.count(first) else played()(request)

    first = CASES[0].patient.chief_complaint
    with FakeServer(answer=silent_once) as server:
        done = score("mcq", run, "--json", out, *models(server, "mcq_doctor", "distractor_writer"))
        assert done.exit_code == 1, done.output
        assert done.stdout.count("no options (unparseable_answer") == 1
        assert metrics(out)["MCQ_DIAGNOSIS"]["n"] == 2  # who writes the options is not the doctor
        assert score("mcq", run).exit_code == 0  # the rules write the missing options
        done = score("mcq", run, "--json", out, *models(server, "mcq_doctor"))
    assert done.exit_code == 1 and done.stdout.count("no MCQ_DIAGNOSIS (unparseable_answer") == 1
    assert metrics(out)["MCQ_DIAGNOSIS"]["mean"] == pytest.approx(100 * 2 / 3)
    answered = json.loads(out.read_text("utf-8"))["answered"]
    assert answered.keys() == {"MCQ_DIAGNOSIS"}
    assert (answered["MCQ_DIAGNOSIS"]["mean"], answered["MCQ_DIAGNOSIS"]["share"]) == (100.0, pytest.approx(2 / 3))


def test_a_case_whose_options_a_server_failed_to_write_is_in_neither_score_until_they_are_written(
    run: Path, tmp_path: Path
) -> None:
    out, first = tmp_path / "scores.json", CASES[0].patient.chief_complaint

    def ill(request: ChatRequest) -> Fault | None:
        return "500" if "names" in (request.schema or {})["properties"] and first in request.text else None

    with FakeServer(answer=played(), faults=ill) as server:
        done = score("mcq", run, "--json", out, "--set", "max_attempts=1", *models(server, "default"))
    assert done.exit_code == 1 and "it is in neither score, and the same command writes them again" in done.stdout
    assert (metrics(out)["MCQ_DIAGNOSIS"]["n"], metrics(out)["MCQ_DIAGNOSIS"]["mean"]) == (2, 100)
    assert metrics(out)["DIAGNOSIS"]["n"] == 2 and "answered" not in json.loads(out.read_text("utf-8"))
    with FakeServer(answer=played()) as server:
        done = score("mcq", run, "--json", out, *models(server, "default"))
        assert len(server.requests) == 4  # one writer, three doctors
    assert done.exit_code == 0 and metrics(out)["DIAGNOSIS"]["n"] == metrics(out)["MCQ_DIAGNOSIS"]["n"] == 3
    rights = {kept["case_id"]: kept["right"] for kept in lines(run)}
    assert json.loads(out.read_text("utf-8"))["mcq_chosen"] == {run.name: rights}


@pytest.mark.slow
def test_a_case_that_failed_in_the_run_is_wrong_and_both_bounds_are_shown(run: Path, tmp_path: Path) -> None:
    results = [json.loads(line) for line in (run / "results.jsonl").read_text("utf-8").splitlines()]
    results[0] |= {"termination": "model_error", "answers": None, "checksum": None}
    (run / "results.jsonl").write_text("".join(json.dumps(result) + "\n" for result in results), "utf-8")
    done = score("mcq", run, "--json", tmp_path / "scores.json")
    assert done.exit_code == 1 and "no DIAGNOSIS (model_error)" in done.stdout
    found = json.loads((tmp_path / "scores.json").read_text("utf-8"))
    assert (found["metrics"]["MCQ_DIAGNOSIS"]["n"], found["metrics"]["DIAGNOSIS"]["n"]) == (3, 3)
    assert (found["answered"]["DIAGNOSIS"]["n"], found["answered"].keys()) == (2, {"DIAGNOSIS"})
    means = [found["metrics"][name]["mean"] for name in ("MCQ_DIAGNOSIS", "DIAGNOSIS")]
    assert found["formats"]["DIAGNOSIS"]["mean"] == pytest.approx(means[0] - means[1])


def test_a_wrong_directory_model_or_file_ends_with_code_2(run: Path, tmp_path: Path) -> None:
    assert "is not a run directory" in score("mcq", tmp_path / "nowhere").stderr
    assert score("mcq", run, "--models", "mcq_docter=offline").exit_code == 2
    assert "a person cannot judge" in score("mcq", run, "--models", "mcq_doctor=human").stderr
    (run / "options.jsonl").write_text("{}\n", "utf-8")
    done = score("mcq", run)
    assert done.exit_code == 2 and "options.jsonl" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in BUILT_IN if case.split == "test"], ids=lambda case: case.id)
def test_every_built_in_case_has_four_other_diagnoses_in_its_language(case: Case) -> None:
    names = other_diagnoses(case)
    assert len(names) >= 4
    assert not any(name_agreement(name, own) for name in names for own in case.key.diagnosis)
    same = {other.key.diagnosis[0] for other in BUILT_IN if other.language == case.language}
    assert set(names) <= same
    of_department = {
        other.key.diagnosis[0]
        for other in BUILT_IN
        if other.key.department == case.key.department and other.split != "test"
    }
    own = [name for name in names if name in of_department]
    assert names[: len(own)] == own


def test_transcripts_are_asked_once_a_case_and_compared_with_their_interactive_diagnosis(tmp_path: Path) -> None:
    file, out = write(tmp_path / "t.json", ENGLISH), tmp_path / "out.json"
    plain = score("aie", file, "--json", out)
    assert plain.exit_code == 0 and "MCQ_DIAGNOSIS" not in plain.stdout
    before = metrics(out)
    with FakeServer(answer=lambda request: {"letter": "B"}) as server:
        done = score("aie", file, file, "--mcq", spec(server), "--json", out)
        asked = sorted(request.text for request in server.requests)
    assert len(asked) == 2 and "Chest X-ray shows pneumonia. What is the diagnosis?" in asked[0]
    assert done.exit_code == 0, done.output
    assert "Multiple choice minus interactive, paired by case" in done.stdout
    found = metrics(out)
    assert found["MCQ_DIAGNOSIS"]["mean"] == 50 and found["MCQ_DIAGNOSIS"]["n"] == 2
    assert found["DIAGNOSIS"]["mean"] == before["DIAGNOSIS"]["mean"]


def test_transcripts_without_options_are_not_asked_and_those_without_an_answer_are_wrong(tmp_path: Path) -> None:
    data = [aie_data("A man has gout.", id=1, options={}), aie_data("A man has the flu.", id=2)]
    file, out = write(tmp_path / "t.json", data), tmp_path / "out.json"
    done = score("aie", file, "--mcq", "offline", "--json", out)
    assert done.exit_code == 0 and "Case 1: no MCQ_DIAGNOSIS (it has no options)." in done.stdout
    assert metrics(out)["MCQ_DIAGNOSIS"]["mean"] == 100 and metrics(out)["MCQ_DIAGNOSIS"]["n"] == 1
    with FakeServer(faults=lambda request: "refusal") as server:
        done = score("aie", file, "--mcq", spec(server), "--json", out)
    assert done.exit_code == 1 and metrics(out)["MCQ_DIAGNOSIS"]["mean"] == 0
    for wrong in ("gpt", "human"):
        assert score("aie", file, "--mcq", wrong).exit_code == 2


@pytest.mark.slow
def test_two_processes_do_not_write_options_at_once_but_may_both_read_them(run: Path) -> None:
    with RunDirectory(run).adding_options():
        done = score("mcq", run)
        assert done.exit_code == 2 and "another process is using this directory" in done.stderr
    assert score("mcq", run).exit_code == 0
    with RunDirectory(run).adding_options():
        assert score("mcq", run).exit_code == 0


def test_the_doctor_reads_the_record_in_the_sex_that_was_played(tmp_path: Path) -> None:
    run_experiment(short(case_ids=["surgery-09"], patient_sex="male"), tmp_path / "run")
    with FakeServer(answer=played()) as server:
        done = score("mcq", tmp_path / "run", *models(server, "distractor_writer", "mcq_doctor"))
        assert done.exit_code == 0, done.output
        (asked,) = [one.text for one in server.requests if "letter" in (one.schema or {})["properties"]]
    assert "Sex: male" in asked and "Sex: female" not in asked
