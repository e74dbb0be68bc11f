"""``wardround cases import --reader`` and ``cases confirm``: what a model proposes, and what a person makes of it."""

import csv
import json
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from cases import load_cases
from tests.support.commands import wardround
from tests.support.fake_server import ChatRequest, FakeServer

RECORD = {
    "OSCE_Examination": {
        "Patient_Actor": {"Demographics": "40-year-old male", "Symptoms": {"Primary_Symptom": "Pain"}},
        "Physical_Examination_Findings": {"Vital_Signs": {"Temperature": "38.2 C"}, "Abdomen": "=Soft, tender."},
        "Test_Results": {"Imaging": {"Findings": "A stone is seen on the abdominal CT."}},
        "Correct_Diagnosis": "Renal colic",
    }
}
READ = [
    {"item": "CT", "words": "stone is seen on the  abdominal CT"},
    {"item": "General Examination", "words": "38.2 C"},
]


def run(*arguments: object) -> Result:
    return wardround("cases", *arguments)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "osce.jsonl"
    path.write_text(json.dumps(RECORD) + "\n" + json.dumps(RECORD) + "\n", "utf-8")
    return path


def reading(*answers: Mapping[str, Any]) -> Callable[[ChatRequest], Mapping[str, Any]]:
    """Answers in turn, the last for ever."""
    left = list(answers)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:  # with the mark that Excel needs
        return list(csv.DictReader(file))


def decide(path: Path, decision: Callable[[dict[str, str]], str], *added: Mapping[str, str]) -> None:
    lines = [{**line, "keep": decision(line)} for line in table(path)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]))
        writer.writeheader()
        writer.writerows([*lines, *added])


def imported(
    source: Path, out: Path, *answers: Mapping[str, Any], options: Sequence[str] = ()
) -> tuple[Result, list[ChatRequest]]:
    with FakeServer(answer=reading(*answers)) as server:
        reader = ("--reader", f"openai:fake-model@{server.base_url}", *options)
        done = run("import", "agentclinic", source, "-o", out, *reader)
        return done, server.requests


def test_a_model_reads_items_with_their_words_and_a_person_makes_them_the_key(source: Path, tmp_path: Path) -> None:
    out, checklist = tmp_path / "out.jsonl", tmp_path / "out.jsonl.checklist.csv"
    invented = {"examinations": [{"item": "MRI", "words": "a mass in the MRI"}], "treatments": []}
    done, asked = imported(source, out, invented, {"examinations": READ, "treatments": []})
    assert done.exit_code == 0 and "2 cases to check" in done.stdout
    assert len(asked) == 3 and "not in that part of the record" in asked[-1].text + asked[1].text
    assert "Renal colic" not in "".join(request.text for request in asked)  # nothing of the key is read
    first, _ = load_cases(out)
    assert first.key.examination_items == ["General Examination", "CT"] and first.key.inferred == ["examination_items"]
    lines = [line for line in table(checklist) if line["case"] == first.id]
    by_rule = [line["item"] for line in lines if line["found_by"] == "rule"]
    assert [line["item"] for line in lines] == ["General Examination", "Abdominal Examination", "CT"]
    assert by_rule == ["Abdominal Examination"] and lines[2]["words"] == "stone is seen on the  abdominal CT"
    assert all(line["keep"] == "" for line in lines)

    added = {"case": first.id, "part": "examination_items", "item": "血液学检查", "keep": "是"}
    decide(checklist, lambda line: {"CT": "yes"}.get(line["item"], "no") if line["case"] == first.id else "", added)
    checked = tmp_path / "checked.jsonl"
    done = run("confirm", out, checklist, "-o", checked, "--by", "A. B.")
    assert done.exit_code == 0 and "1 part checked, 1 open" in done.stdout and "added by a person: 1" in done.stdout
    first, second = load_cases(checked)
    assert first.key.examination_items == ["CT", "Blood Test"] and first.key.stated.examination_items
    assert "checked by A. B." in first.provenance.note
    assert second.key.inferred == ["examination_items"]


def test_proposals_whose_line_is_lost_are_named_and_doubled_lines_count_once(source: Path, tmp_path: Path) -> None:
    out, checklist = tmp_path / "out.jsonl", tmp_path / "out.jsonl.checklist.csv"
    imported(source, out, {"examinations": READ, "treatments": []})
    assert checklist.read_bytes().startswith(BOM_UTF8), "else Excel garbles what is not ASCII"
    heading, *lines = checklist.read_text("utf-8").splitlines()
    examined = next(line for line in lines if ",General Examination," in line)
    case_id = examined.partition(",")[0]
    checklist.write_text("\n".join([heading, f"{examined}yes", f"{examined}yes", ""]), "utf-8")
    done = run("confirm", out, checklist, "-o", tmp_path / "checked.jsonl")
    assert done.exit_code == 0 and "1 of 1 kept" in done.stdout, done.output
    assert f"1 proposed item without a line left out of the key: {case_id}: CT" in done.stderr


def test_a_case_that_the_reader_fails_on_keeps_what_rules_found(source: Path, tmp_path: Path) -> None:
    by_rule = tmp_path / "rule.jsonl"
    assert run("import", "agentclinic", source, "-o", by_rule).exit_code == 0
    options = ("--set", "repairs=0")
    done, asked = imported(source, tmp_path / "out.jsonl", {"examinations": "none"}, options=options)
    assert len(asked) == len(load_cases(by_rule))  # once each, as --set says
    assert done.exit_code == 1 and "items found by rule, as the reader gave no answer" in done.stderr
    assert [case.key for case in load_cases(tmp_path / "out.jsonl")] == [case.key for case in load_cases(by_rule)]


def test_what_the_source_states_is_not_read_and_cannot_be_confirmed(tmp_path: Path) -> None:
    source, out = tmp_path / "source.json", tmp_path / "out.jsonl"
    source.write_text(json.dumps({"a": {"Chief Complaint": "Pain", "Physical Examination": "Soft abdomen."}}), "utf-8")
    with FakeServer() as server:
        spec = f"openai:fake-model@{server.base_url}"
        assert run("import", "medchain", source, "-o", out, "--reader", spec).exit_code == 0
        assert not server.requests
    assert load_cases(out)[0].key.stated.examination_items and not table(tmp_path / "out.jsonl.checklist.csv")
    (tmp_path / "list.csv").write_text("case;part;item;keep\na;examination_items;CT;yes\n", "utf-8")
    refused = run("confirm", out, tmp_path / "list.csv", "-o", tmp_path / "checked.jsonl")
    assert refused.exit_code == 2 and "the source states this part" in refused.stderr


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("nobody,examination_items,CT,yes", "line 2 case: there is no case 'nobody'"),
        ("osce-001,examination_items,Horoscope,yes", "line 2 item: 'Horoscope' is not in the list"),
        ("osce-001,examination_items,CT,perhaps", "line 2 keep: expected yes, no or nothing"),
        ("osce-001,diagnosis,CT,yes", "line 2 part: "),
        ("osce-001,treatment_items,Surgery,yes", "line 2 part: osce-001: the source states this part, or has nothing"),
        (
            "osce-001,examination_items,CT,yes\nosce-001,examination_items,CT,no",
            "line 3 keep: CT has a different decision",
        ),
    ],
)
def test_a_line_that_fits_nothing_is_named(line: str, named: str, source: Path, tmp_path: Path) -> None:
    assert run("import", "agentclinic", source, "-o", tmp_path / "out.jsonl").exit_code == 0
    (tmp_path / "list.csv").write_text(f"case,part,item,keep\n{line}\n", "utf-8")
    done = run("confirm", tmp_path / "out.jsonl", tmp_path / "list.csv", "-o", tmp_path / "checked.jsonl")
    assert done.exit_code == 2 and not (tmp_path / "checked.jsonl").exists()
    told = " ".join(done.stderr.replace(":", " ").split())
    assert all(word in told for word in named.replace(":", " ").split()), done.stderr


def test_bad_options_and_files_are_refused_before_anybody_is_asked(source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    for arguments, reason in (
        (("--reader", "human"), "a person cannot answer here"),
        (("--reader", "openay:x"), "--reader: models.item_reader: 'openay:x': unknown provider"),
        (("--cache", tmp_path / "cache"), "--cache needs --reader"),
        (("--set", "repairs=0"), "--set needs --reader"),
        (("--reader", "openai:x", "-o", tmp_path), "is a directory"),
        (("--reader", "openai:x", "-o", source / "out.jsonl"), "file exists where a folder is needed"),
        (("--reader", "openai:x", "-o", source), "is an input file"),
    ):
        refused = run("import", "agentclinic", source, "-o", out, *arguments)
        assert refused.exit_code == 2 and reason in refused.stderr and not out.exists()
    (tmp_path / "out.jsonl.checklist.csv").write_text("case\n", "utf-8")
    refused = run("import", "agentclinic", source, "-o", out, "--reader", "offline")
    assert refused.exit_code == 2 and "may hold decisions of a person" in refused.stderr
    assert run("import", "agentclinic", source, "-o", out).exit_code == 0
    refused = run("confirm", out, tmp_path / "out.jsonl.checklist.csv", "-o", tmp_path / "checked.jsonl")
    assert refused.exit_code == 2 and "part: expected a header with case, part, item" in refused.stderr
