import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cases import Case
from cases.case import Image
from cases.vocabulary import EXAMINATION_ITEMS, label
from nodes.consultation.final_report import FinalReport
from nodes.state.chart import Picture, Turn
from scoring.medpmc.export import medpmc_transcript
from scoring.medpmc.metrics import METRICS, score_medpmc
from scoring.medpmc.transcripts import read_medpmc
from tests.graphs.scripting import builtin
from wardround.commands.score import score_app

CASE = builtin("dentistry-01")
REPORT = FinalReport(
    symptoms="Pain on biting.",
    examinations="X-ray: a dark spot.",
    diagnosis=["Chronic apical periodontitis", "Deep dental caries"],
    basis="The film.",
    treatment="A root canal treatment.",
)
DIALOGUE = [
    Turn(speaker="doctor", text="What is it?", action="Initialization"),
    Turn(speaker="patient", text="Oh, doc. It hurts.", plain="It hurts.", facts=["It hurts."]),
    Turn(speaker="doctor", text="An X-ray, please.", action="Effective Advice"),
    Turn(
        speaker="examiner",
        addressee="doctor",
        text="Enclosed.",
        pictures=[Picture(item="X-ray", file="/somewhere/dentistry-01.png")],
    ),
    Turn(speaker="doctor", text="Do you smoke?", action="Effective Inquiry"),
    Turn(speaker="patient", text="Yes.", facts=["He smokes."]),
    Turn(speaker="doctor", text="Goodbye."),
]


EXAMINATIONS_ZH = {label(item, "zh") for item in EXAMINATION_ITEMS.names}


def test_a_consultation_is_read_back_as_a_transcript_of_med_pmc(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text(json.dumps([medpmc_transcript(CASE, DIALOGUE, REPORT)]), "utf-8")
    reading = read_medpmc(path)
    assert reading.problems == []
    (read,) = reading.records
    assert (read.id, read.chief_complaint) == (CASE.id, CASE.patient.chief_complaint)
    assert read.patient_information == "Age: 33 years. Sex: male. Occupation: delivery van driver."
    assert [turn.state for turn in read.history] == ["0", "B-A-A", "A-A-A", "D"]
    assert [turn.ends for turn in read.history] == [False, False, False, True]
    assert (read.history[0].patient, read.history[0].standard_patient) == ("Oh, doc. It hurts.", "It hurts.")
    assert (read.history[1].images, read.history[1].standard_patient) == (["dentistry-01.png"], None)
    assert read.history[2].told == "Yes."
    assert read.images == {"dentistry-01.png": CASE.key.imaging_reports["X-ray"]}
    assert "<\\imagedentistry-01.png>" in read.examinations
    assert CASE.examinations.auxiliary["X-ray"] not in read.examinations, "the reading is the doctor's"
    assert CASE.examinations.physical["Neck Examination"] in read.examinations
    assert "Chronic apical periodontitis; Deep dental caries" in read.report and "## Basis" in read.report
    case_report = REPORT.model_copy(update={"basis": ""})
    assert "## Basis" not in medpmc_transcript(CASE, DIALOGUE, case_report)["diagnosis_self"], "it has no such part"


def test_every_column_can_be_scored_and_the_command_reads_the_file(tmp_path: Path) -> None:
    path, out = tmp_path / "t.json", tmp_path / "out.json"
    path.write_text(json.dumps([medpmc_transcript(CASE, DIALOGUE, REPORT)]), "utf-8")
    samples = score_medpmc(read_medpmc(path).records)
    assert {name for name in METRICS if samples[name]} == set(METRICS)
    assert samples["Turns"][0].value == 4.0
    result = CliRunner().invoke(score_app, ["medpmc", str(path), "--json", str(out)])
    assert result.exit_code == 0, result.output
    assert json.loads(out.read_text("utf-8"))["n"] == 1


def test_an_unanswered_last_question_and_an_untracked_turn_are_no_error() -> None:
    untracked = [Turn(speaker="doctor", text="Hello?"), Turn(speaker="patient", text="Yes?")]
    history: Any = medpmc_transcript(CASE, [*untracked, Turn(speaker="doctor", text="And?")], REPORT)["history"]
    assert [entry["state"] for entry in history] == ["", "D"]
    assert "patient" not in history[1]


@pytest.mark.parametrize("case", [builtin("surgery-06"), builtin("pediatrics-05")], ids=lambda case: case.id)
def test_a_chinese_case_has_chinese_headings_and_marks(case: Case) -> None:
    made = medpmc_transcript(case, [], REPORT)
    assert "## 诊断依据" in made["diagnosis_self"] and "；".join(REPORT.diagnosis) in made["diagnosis_self"]
    assert made["Text"]["Diagnosis"] == "；".join(case.key.diagnosis)
    assert all(line.partition("：")[0] in EXAMINATIONS_ZH for line in made["Text"]["Examinations"].splitlines())
    person, past = made["Text"]["Patient Information"], made["Text"]["Past Medical History"]
    assert "。 " not in person + past and "。" in person


def test_a_picture_without_a_reference_report_has_the_finding_as_its_report() -> None:
    record = CASE.examinations.model_copy(update={"images": [Image(file="p/x.png", item="X-ray")]})
    key = CASE.key.model_copy(update={"imaging_reports": {}})
    made = medpmc_transcript(CASE.model_copy(update={"examinations": record, "key": key}), [], REPORT)
    assert made["Image"] == {"x.png": CASE.examinations.auxiliary["X-ray"]}


def test_two_pictures_of_one_class_keep_their_own_reports() -> None:
    images = [Image(file="p/x.png", item="X-ray"), Image(file="p/y.png", item="X-ray")]
    reports = {"p/x.png": "The foot is whole.", "p/y.png": "The ankle is broken."}
    record = CASE.examinations.model_copy(update={"images": images})
    key = CASE.key.model_copy(update={"picture_reports": reports})
    made = medpmc_transcript(CASE.model_copy(update={"examinations": record, "key": key}), [], REPORT)
    assert made["Image"] == {"x.png": "The foot is whole.", "y.png": "The ankle is broken."}
