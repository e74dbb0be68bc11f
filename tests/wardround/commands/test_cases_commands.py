"""``wardround cases import | check | show``: exit codes, what is written, and what a reader sees."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from cases import AnswerKey, Case, PatientRecord, Provenance, load_cases, save_cases
from cases.completeness import missing
from cases.vocabulary import PHYSICAL_ITEMS
from tests.support.commands import wardround
from tests.support.pictures import PNG
from wardround.config.experiment import Data
from wardround.config.selection import select


def run(*arguments: object) -> Result:
    return wardround("cases", *arguments)


def medchain(folder: Path, **cases: object) -> Path:
    source = folder / "source.json"
    source.write_text(json.dumps(cases), "utf-8")
    return source


GOOD = {"Chief Complaint": "Pain", "Images": [{"filename": "1.png", "category": ["CT"]}]}
BAD = {"tags": {"department": ["Ward 9"]}, "Chief Complaint": "Pain"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    case = Case(
        id="alpha-1",
        patient=PatientRecord(chief_complaint="Pain [bold]here[/bold] \x1b[31mred", age_years=40),
        key=AnswerKey(diagnosis=["Sciatica"], department="Surgery"),
        provenance=Provenance(source="a test"),
    )
    save_cases([case, case.model_copy(update={"id": "alpha-2", "language": "zh"})], tmp_path / "cases.jsonl")
    return tmp_path / "cases.jsonl"


def test_an_import_writes_the_terms_of_its_source_into_each_case(tmp_path: Path) -> None:
    source = medchain(tmp_path, one={"Chief Complaint": "Pain"}, two={"Chief Complaint": "Cough"})
    result = run("import", "medchain", source, "-o", tmp_path / "mine.jsonl", "--licence", "CC BY 4.0")
    assert result.exit_code == 0, result.output
    assert [case.provenance.licence for case in load_cases(tmp_path / "mine.jsonl")] == ["CC BY 4.0"] * 2


def test_the_help_of_an_import_names_the_formats_before_anything_heavy_is_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delitem(sys.modules, "graphs", raising=False)
    told = " ".join(run("import", "--help").stdout.split())
    assert told.endswith("Formats: agentclinic, medchain, ai_hospital, aie, medpmc, medqa")


def test_a_file_of_cases_may_be_a_json_list_and_a_broken_one_is_named_once(file: Path) -> None:
    lines = file.read_text("utf-8").splitlines()
    listed = file.with_name("list.json")
    listed.write_text("[\n" + ",\n".join(lines) + "\n]", "utf-8")
    assert load_cases(listed) == load_cases(file)
    listed.write_text(f"[{lines[0]}, 3]", "utf-8")
    assert f"{listed}, entry 2: expected an object" in run("check", listed).stderr
    listed.write_text("[\n" + ",\n".join(lines), "utf-8")
    refused = run("check", listed)
    assert refused.exit_code == 2 and refused.stderr.count("Invalid JSON") == 1


def test_an_import_writes_the_cases_and_says_how_many(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out.jsonl"
    result = run(
        "import", "medchain", medchain(tmp_path, a={**GOOD, "tags": {"department": ["Surgery"]}}, b=GOOD), "-o", out
    )
    assert result.exit_code == 0 and "2 cases written" in result.stdout and "2 warnings" in result.stdout
    assert ": 1 department, 0 pictures, with" in result.stdout
    assert [case.id for case in load_cases(out)] == ["a", "b"]


def test_a_source_without_a_case_is_refused(tmp_path: Path) -> None:
    record = {"patient_id": 7, "diagnosis": "Gout", "basis": "Symptoms: pain.", "treatment": "Rest."}
    source = tmp_path / "source.jsonl"
    source.write_text(json.dumps({"patient_id": 7, "reference_diagnosis": record}), "utf-8")
    result = run("import", "ai_hospital", source, "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 2 and "holds no case" in result.stderr and "left out" in result.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_incomplete_cases_are_left_out_where_parts_are_required_and_named(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    whole = {**GOOD, "Present Illness": "Since Monday.", "Diagnosis": "Sciatica"}
    source = medchain(tmp_path, a=whole, b=GOOD)
    kept = load_cases(source_to(out, source))[:]
    present = [part for part in ("history", "results", "diagnosis") if not missing(kept[0], (part,))]
    assert present and len(kept) == 2
    result = run("import", "medchain", source, "-o", out, "--require", ",".join(present))
    lacks = [case.id for case in kept if missing(case, tuple(present))]
    assert [case.id for case in load_cases(out)] == [case.id for case in kept if case.id not in lacks]
    assert lacks == ["b"] and "left out: b: no " in result.stderr and "1 left out as incomplete (" in result.stdout
    assert all(f"{part}: 1" in result.stdout for part in missing(kept[1], tuple(present)))
    result = run("import", "medchain", source, "-o", out, "--require", "all")
    assert result.exit_code == 2 and "nothing was written: no case" in result.stderr and "results: 2" in result.stderr
    result = run("import", "medchain", source, "-o", out, "--require", "taste")
    assert result.exit_code == 2 and "expected all, or some of history, results" in result.stderr


def source_to(out: Path, source: Path) -> Path:
    assert run("import", "medchain", source, "-o", out).exit_code == 0
    return out


def test_pictures_that_lie_elsewhere_are_copied_beside_the_output(tmp_path: Path) -> None:
    (tmp_path / "1.png").write_bytes(PNG)
    out = tmp_path / "elsewhere" / "out.jsonl"
    assert run("import", "medchain", medchain(tmp_path, a=GOOD), "-o", out).exit_code == 0
    (image,) = load_cases(out)[0].examinations.images
    assert image.file.startswith("out_pictures/") and (out.parent / image.file).read_bytes() == PNG


def test_a_faulty_record_names_itself_on_stderr_and_nothing_is_written(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    result = run("import", "medchain", medchain(tmp_path, a=GOOD, b=BAD), "-o", out)
    assert result.exit_code == 2 and not out.exists() and result.stdout == ""
    assert "b, tags.department: unknown first-level department 'Ward 9'" in result.stderr
    assert "nothing was written: 1 error" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "medqua", "absent.json", "-o", "out.jsonl"),
        ("import", "medqa", "absent.json", "-o", "out.jsonl"),
        ("import", "medqa", "absent.json", "-o", "out.jsonl", "--require", "taste"),
        ("check", "absent.jsonl"),
        ("check", "builtin", "-o", "file.txt/deep"),
        ("list", "--cases", "absent.jsonl"),
        ("show", "nobody"),
        ("split", "absent.jsonl"),
        ("split", "cases.jsonl", "--ratio", "7-1-2"),
        ("split", "cases.jsonl", "--out", "file.txt/deep/out.jsonl"),
        ("sample", "absent.jsonl"),
        ("sample", ""),
        ("sample", "cases.jsonl", "-o", "cases.jsonl"),
        ("sample", "cases.jsonl", "-o", "file.txt/deep/out.jsonl"),
        ("rate", "absent.jsonl"),
        ("confirm", "absent.jsonl", "absent.csv", "-o", "out.jsonl"),
        ("draft-tests", "builtin", "-o", "out.json", "--writer", "offline"),
        ("draft-tests", "builtin", "-o", "out.json", "--writer", "hf:absent", "--cache", "x" * 300),
        ("inject", "absent.jsonl", "-o", "out.jsonl"),
        ("inject", "cases.jsonl", "-o", "out.jsonl", "--case-id", "nobody"),
        ("inject", "cases.jsonl", "-o", "file.txt/deep/out.jsonl"),
    ],
    ids=lambda arguments: " ".join(arguments)[:80],
)
def test_every_subcommand_refuses_bad_input_alike_with_code_2_and_lines_that_begin_with_error(
    arguments: tuple[str, ...], file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    Path("file.txt").write_text("no folder", "utf-8")
    before = file.read_bytes()
    result = run(*arguments)
    lines = result.stderr.splitlines()
    assert result.exit_code == 2 and lines and all(line.startswith("error: ") for line in lines), result.stderr
    assert file.read_bytes() == before and not Path("out.jsonl").exists()


def test_an_earlier_output_survives_a_failed_import(tmp_path: Path, file: Path) -> None:
    before = file.read_bytes()
    assert run("import", "medchain", medchain(tmp_path, b=BAD), "-o", file).exit_code == 2
    assert file.read_bytes() == before


def test_an_unknown_format_is_bad_input(tmp_path: Path) -> None:
    result = run("import", "hl7", medchain(tmp_path, a=GOOD), "-o", tmp_path / "out.jsonl")
    assert result.exit_code == 2 and "agentclinic, ai_hospital, aie, medchain, medpmc, medqa" in result.stderr


def test_the_source_is_never_overwritten(tmp_path: Path) -> None:
    source = medchain(tmp_path, a=GOOD)
    assert run("import", "medchain", source, "-o", source).exit_code == 2
    assert json.loads(source.read_text("utf-8")) == {"a": GOOD}


def test_a_place_that_cannot_be_written_is_bad_input(tmp_path: Path) -> None:
    result = run("import", "medchain", medchain(tmp_path, a=GOOD), "-o", tmp_path / "source.json" / "out.jsonl")
    assert result.exit_code == 2 and "source.json: file exists" in result.stderr


def test_a_departments_file_is_passed_on(tmp_path: Path) -> None:
    listing = tmp_path / "departments.txt"
    listing.write_text("Surgery:\n- Urology\n", "utf-8")
    case = {**GOOD, "tags": {"department": ["Surgery", "Orthopaedics"]}}
    result = run("import", "medchain", medchain(tmp_path, a=case), "-o", tmp_path / "o.jsonl", "--departments", listing)
    assert result.exit_code == 0 and "'Orthopaedics' is not in the departments file" in result.stderr


def test_a_summary_counts_what_is_inferred_of_keys_apart(tmp_path: Path) -> None:
    key = AnswerKey(diagnosis=["Gout"], examination_items=["X-ray"], inferred=["examination_items"])
    case = Case(id="a", patient=PatientRecord(chief_complaint="Pain"), key=key, provenance=Provenance(source="a test"))
    save_cases([case], tmp_path / "cases.jsonl")
    lines = run("check", tmp_path / "cases.jsonl").stdout.splitlines()
    told = {stage: next(line for line in lines if stage in line) for stage in ("History-taking", "Diagnosis")}
    assert "0 (1 inferred)" in told["History-taking"] and " 1 " in told["Diagnosis"]


def test_a_sound_file_is_summed_up(file: Path) -> None:
    result = run("check", file)
    assert result.exit_code == 0 and result.stderr == ""
    assert all(
        word in result.stdout
        for word in ("2 cases", "en", "zh", "Surgery", "40 years", "none", "Referral, level 1", "Treatment")
    )
    assert "40 years to 40 years" not in result.stdout


def test_every_problem_of_a_file_is_listed(file: Path) -> None:
    file.write_text(file.read_text("utf-8") + '{"id": 1}\nnot json\n', "utf-8")
    result = run("check", file)
    assert result.exit_code == 2 and result.stdout == ""
    assert "line 3" in result.stderr and "line 4" in result.stderr


def test_cases_are_listed_a_line_each_without_their_keys(file: Path) -> None:
    result = run("list", "--cases", file)
    lines = [line.split("\t") for line in result.stdout.splitlines()]
    assert [line[:5] for line in lines] == [["alpha-1", "en", "", "40", ""], ["alpha-2", "zh", "", "40", ""]]
    assert lines[0][5] == "Pain [bold]here[/bold] [31mred" and "Sciatica" not in result.stdout
    assert run("list", "--cases", "absent.jsonl").exit_code == 2


def test_a_case_is_shown_without_its_key(file: Path) -> None:
    result = run("show", "alpha-1", "--cases", file)
    assert result.exit_code == 0 and "40" in result.stdout
    assert "Sciatica" not in result.stdout and "Surgery" not in result.stdout


def test_the_key_is_shown_when_asked_for(file: Path) -> None:
    result = run("show", "alpha-1", "--cases", file, "--with-key")
    assert "Sciatica" in result.stdout and "Surgery" in result.stdout


def test_case_text_is_shown_as_it_is_and_gives_the_terminal_no_orders(file: Path) -> None:
    shown = run("show", "alpha-1", "--cases", file).stdout
    assert "[bold]here[/bold]" in shown and "\x1b" not in shown


def test_an_unknown_id_names_the_nearest_ones(file: Path) -> None:
    result = run("show", "alpah-1", "--cases", file)
    assert result.exit_code == 2 and "did you mean 'alpha-1" in result.stderr


def test_a_faulty_file_is_not_shown(tmp_path: Path) -> None:
    result = run("show", "x", "--cases", tmp_path / "absent.jsonl")
    assert result.exit_code == 2 and "absent.jsonl: file not found" in result.stderr


def test_attacked_variants_are_written_as_cases_that_can_be_run_with_their_pictures(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "attacked.jsonl"
    told = run("inject", "builtin", "--case-id", "otolaryngology-01", "-o", out)
    assert told.exit_code == 0 and told.stdout == f"18 variants of 1 case written to {out}\n"
    variants = load_cases(out)
    assert {variant.id for variant in variants} >= {"otolaryngology-01-complaint-accept"}
    assert all((out.parent / image.file).is_file() for case in variants for image in case.examinations.images)


def test_attacked_earlier_cases_are_written_to_build_a_memory_from(tmp_path: Path, file: Path) -> None:
    told = run("inject", file, "--earlier", "-o", tmp_path / "earlier.jsonl")
    assert told.exit_code == 0 and "12 variants of 2 cases" in told.stdout
    assert {case.id for case in load_cases(tmp_path / "earlier.jsonl")} >= {"alpha-1-earlier-fence"}


def test_cases_to_attack_that_are_not_there_or_would_be_overwritten_are_bad_input(tmp_path: Path, file: Path) -> None:
    before = file.read_bytes()
    for arguments in ((file, "-o", file), (file, "--case-id", "beta", "-o", file), (tmp_path / "no", "-o", file)):
        told = run("inject", *arguments)
        assert told.exit_code == 2 and told.stdout == "" and "Traceback" not in told.stderr
    assert file.read_bytes() == before


@pytest.mark.slow
def test_a_file_is_split_in_place_once_and_says_how(tmp_path: Path) -> None:
    file = tmp_path / "cases.jsonl"
    save_cases([case.model_copy(update={"split": None}) for case in load_cases() if not case.examinations.images], file)
    done = run("split", file, "--ratio", "7:1:2", "--seed", 5)
    assert done.exit_code == 0 and "train" in done.stdout
    drawn = [case.split for case in load_cases(file)]
    again = run("split", file)
    assert again.exit_code == 2 and "already have a split" in again.stderr and "--anew" in again.stderr
    assert [case.split for case in load_cases(file)] == drawn
    assert run("split", file, "--seed", 6, "--anew", "-o", tmp_path / "other.jsonl").exit_code == 0
    assert [case.split for case in load_cases(tmp_path / "other.jsonl")] != drawn
    assert run("split", file, "--anew", "--ratio", "seven").exit_code == 2


@pytest.mark.parametrize(
    "record",
    [
        '{"OSCE_Examination": {}}',
        '{\n  "title": {"主诉": "头痛"}\n}',
        '[{"raw_data": {}}]',
        "Doctor: Hello.\nPatient: Hi.\n",
    ],
)
def test_a_file_of_another_format_is_to_be_imported_first(record: str, tmp_path: Path) -> None:
    (tmp_path / "foreign.json").write_text(record, "utf-8")
    done = run("split", tmp_path / "foreign.json")
    assert done.exit_code == 2 and "import it first: `wardround cases import FORMAT" in done.stderr


def test_a_file_of_ours_with_a_fault_is_not_taken_for_a_foreign_one(file: Path) -> None:
    file.write_text(file.read_text("utf-8").replace('"provenance"', '"origin"'), "utf-8")
    assert "import it first" not in run("check", file).stderr


def test_a_text_of_megabytes_is_refused_at_once_by_its_field(tmp_path: Path) -> None:
    case = {"id": "a", "patient": {"chief_complaint": "x" * 4_000_000}, "provenance": {"source": "a test"}}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n", "utf-8")
    done = run("check", tmp_path / "cases.jsonl")
    assert done.exit_code != 0 and len(done.output) < 500
    assert "line 1, patient.chief_complaint: String should have at most 200000 characters" in done.output


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (
            {"patient": {"chief_complaint": "x", "past_history": "y" * 150_000, "family_history": "z" * 60_000}},
            "patient",
        ),
        ({"examinations": {"physical": dict.fromkeys(PHYSICAL_ITEMS.names[:3], "y" * 70_000)}}, "examinations"),
    ],
)
def test_texts_that_a_chart_could_not_hold_together_are_refused_by_the_part_that_they_lie_in(
    record: dict[str, Any], field: str, tmp_path: Path
) -> None:
    case = {"id": "a", "patient": {"chief_complaint": "x"}, "provenance": {"source": "a test"}, **record}
    (tmp_path / "cases.jsonl").write_text(json.dumps(case) + "\n", "utf-8")
    done = run("check", tmp_path / "cases.jsonl")
    assert done.exit_code != 0 and f"line 1, {field}: its texts have 210,00" in done.output
    assert "together; at most 200,000 are allowed" in done.output and "import it first" not in done.output


def test_a_sample_names_what_each_note_lacks_and_keeps_what_a_reconstruction_of_it_would_keep(tmp_path: Path) -> None:
    whole = "Chief complaint: Cough.\nPast medical history: Asthma.\nPhysical examination: Crackles."
    notes = [{"id": f"n{number}", "text": whole if number % 2 else "Chief complaint: Cough."} for number in range(8)]
    source, out = tmp_path / "notes.jsonl", tmp_path / "sample.jsonl"
    source.write_text("".join(f"{json.dumps(note)}\n" for note in notes), "utf-8")
    listed = run("sample", source, "--shuffle", 0, "--limit", 5, "-o", out)
    rows = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert listed.exit_code == 0 and len(rows) == 5
    poor = [row["id"] for row in rows if row["lacks"]]
    assert poor and all(f"{name} lacks history, results" in listed.stdout for name in poor)
    assert f"{5 - len(poor)} of 5 notes have a complaint, a history and results" in listed.stdout
    kept = select(Data(notes=str(source), shuffle=0, limit=5, sufficient=True)).items
    assert [item.id for item in kept] == [row["id"] for row in rows if not row["lacks"]]
    over = run("sample", source, "-o", source)
    assert over.exit_code == 2 and "would be overwritten" in over.stderr
    missing = run("sample", tmp_path / "none.jsonl")
    assert missing.exit_code == 2 and "none.jsonl" in missing.stderr


def test_a_sample_of_a_folder_names_what_is_no_note(tmp_path: Path) -> None:
    for name in ("a.txt", "LICENSE.txt"):
        (tmp_path / name).write_text("Chief complaint: Cough.", "utf-8")
    told = run("sample", tmp_path)
    assert "0 of 1 notes" in told.stdout and "only .txt files of notes are read, not LICENSE.txt" in told.stderr


def test_a_check_names_ids_that_differ_by_letter_case_alone(file: Path) -> None:
    (first, *others) = load_cases(file)
    save_cases([first, *others, first.model_copy(update={"id": "Alpha-1"})], file)
    (told,) = [line for line in run("check", file).stdout.splitlines() if "letter case" in line]
    assert "'alpha-1' and 'Alpha-1'" in told


def test_a_check_names_what_is_no_fault_and_seldom_meant(file: Path) -> None:
    (case, _) = load_cases(file)
    told = case.patient.model_copy(update={"past_history": "Her doctor called it sciatica."})
    save_cases([case.model_copy(update={"patient": told})], file)
    result = run("check", file)
    assert result.exit_code == 0
    assert "to look at: the patient's record names the diagnosis, which the patient may tell: 1 case (alpha-1)" in (
        result.stdout
    )
