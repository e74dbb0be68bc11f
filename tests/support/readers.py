"""All readers of external files and texts; each returns a value, reports named problems, or raises its own error."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from cases import CaseFileError, check_cases, load_cases
from cases.dialogue_files import read_dialogues
from cases.importers import import_cases
from cases.note_files import read_notes
from llm.replies import find_json
from scoring.aie.transcripts import AieTranscript, SimulatorTest, read_aie, read_simulator_tests
from scoring.human_scores import read_human_scores
from scoring.medpmc.transcripts import MedPmcTranscript, read_medpmc
from scoring.mvme.transcripts import Collaboration, read_collaborations, read_evaluations, read_references, read_reports
from tests.support.schema_sampler import sample
from wardround.config.experiment import ConfigurationError
from wardround.config.experiment_file import read_sweep
from wardround.rating.marks import read_marks
from wardround.store.manifest import read_manifest
from wardround.store.run_directory import RunDirectory
from wardround.store.traces import read_trace


@dataclass(frozen=True)
class Reader:
    """A reader to test.

    Attributes:
        read: reads the file.
        seed: valid content for a fuzzer to start from.
        refusal: the only error that it may raise.
        name: the file's name.
    """

    read: Callable[[Path], object]
    seed: str
    refusal: type[Exception] = CaseFileError
    name: str = "file.jsonl"

    def try_on(self, data: bytes, folder: Path) -> None:
        """Let it read the data; errors other than its refusal propagate."""
        file = folder / self.name
        file.write_bytes(data)
        try:
            self.read(file)
        except self.refusal:
            pass
        finally:
            file.unlink()


def _sampled(kind: type[BaseModel]) -> str:
    record = sample(kind.model_json_schema(), random.Random(0))
    return json.dumps([record])


_CASE = next(case for case in load_cases() if not case.examinations.images).model_dump_json(exclude_defaults=True)
_MEDCHAIN = {"1": {"Chief Complaint": "Pain", "tags": {"department": ["Surgery"]}, "Diagnosis": "Gastritis"}}
_PATIENT = {"Demographics": "35-year-old female", "History": "A cough.", "Symptoms": {"Primary_Symptom": "Cough"}}
_AGENTCLINIC = {"OSCE_Examination": {"Patient_Actor": _PATIENT, "Correct_Diagnosis": "Flu"}}
_MEDQA = {"question": "A man has a cough.", "options": {"A": "Flu", "B": "Gout"}, "answer_idx": "A", "answer": "Flu"}
_DIALOGUE = {"id": "a", "messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]}
_RESULT = {"case_id": "a", "epoch": 0, "termination": "completed", "scores": {"diagnosis": 0.5}, "answers": None}
_AI_HOSPITAL = {"id": 1, "medical_record": {"主诉": "腹痛3年。", "一般资料": "男，52岁", "诊断结果": "1. 胃炎\n2. 痔"}}
_AIE = {
    "id": 3,
    "raw_data": {"question": "主诉：腹痛。", "options": {"A": "胃炎", "B": "痔"}, "answer_idx": "A"},
    "history": [{"doctor": "您好。", "state": "O", "patient": "我腹痛。"}],
}
_MEDPMC = {
    "id": 4,
    "Text": {"Chief Complaint": "Pain.", "Examinations": "White cells 9.1.", "Diagnosis": "Gout."},
    "Image": {},
}
_MARK = {"rater": "Ann", "scale": "mvme", "question": "basis", "value": 2, "run": "one", "case_id": "a", "epoch": 0}
_CALL = {
    "id": "a", "role": "r", "stage": "s", "model": "m", "prompt": "p", "prompt_hash": "h", "started": 0.0, "seconds": 1,
}  # fmt: skip
_EXPERIMENT = (
    '[data]\nlimit = 1\n[models]\ndefault = "offline"\n[grid]\nseed = [1, 2]\n[variants.a.workflow]\nfeedback = "off"\n'
)

READERS: Mapping[str, Reader] = {
    "cases": Reader(check_cases, _CASE),
    "notes": Reader(read_notes, json.dumps({"id": "a", "note": "History: cough.\nDiagnosis: flu."})),
    "dialogues": Reader(read_dialogues, json.dumps(_DIALOGUE)),
    "medchain": Reader(lambda file: import_cases("medchain", file), json.dumps(_MEDCHAIN)),
    "agentclinic": Reader(lambda file: import_cases("agentclinic", file), json.dumps(_AGENTCLINIC)),
    "medqa": Reader(lambda file: import_cases("medqa", file), json.dumps(_MEDQA)),
    "ai_hospital cases": Reader(lambda file: import_cases("ai_hospital", file), json.dumps([_AI_HOSPITAL])),
    "aie cases": Reader(lambda file: import_cases("aie", file), json.dumps([_AIE])),
    "medpmc cases": Reader(lambda file: import_cases("medpmc", file), json.dumps([_MEDPMC])),
    "aie": Reader(read_aie, _sampled(AieTranscript)),
    "simulator": Reader(read_simulator_tests, _sampled(SimulatorTest).replace('"key"', '"0"')),  # a round is a number
    "medpmc": Reader(read_medpmc, _sampled(MedPmcTranscript)),
    "evaluations": Reader(read_evaluations, _sampled(Collaboration)),
    "collaborations": Reader(read_collaborations, _sampled(Collaboration)),
    "reports": Reader(read_reports, _sampled(Collaboration)),
    "references": Reader(read_references, _sampled(Collaboration)),
    "experiment": Reader(
        lambda file: read_sweep(file, {}), _EXPERIMENT, refusal=ConfigurationError, name="experiment.toml"
    ),
    "results": Reader(
        lambda file: RunDirectory(file.parent).results(),
        json.dumps(_RESULT) + "\n",
        refusal=ConfigurationError,
        name="results.jsonl",
    ),
    "trace": Reader(read_trace, json.dumps(_CALL)),
    "manifest": Reader(
        read_manifest, json.dumps({"run": "a", "configuration": {}}), refusal=ValueError, name="manifest.json"
    ),
    "ratings": Reader(read_marks, json.dumps(_MARK) + "\n", refusal=ConfigurationError),
    "human scores": Reader(read_human_scores, "case,diagnosis\na,1\nb,0.5\n", name="scores.csv"),
    "reply": Reader(
        lambda file: find_json(file.read_text("utf-8", "replace")),
        'Here:\n```json\n{"a": [1]}\n```',
        refusal=ValueError,
    ),
}

_ODD: tuple[object, ...] = (None, True, -1, 1e308, 10**30, "", "\x00", "\u2028", [], {}, [[]], {"": ""}, "x" * 5_000)


def changed(seed: str, draw: random.Random) -> bytes:
    """Return the seed with a few changes to characters, bytes or one value of its JSON."""
    data = seed.encode()
    for _ in range(draw.randint(1, 4)):
        place = draw.randrange(len(data) + 1)
        match draw.randrange(6):
            case 0:
                data = data[:place]
            case 1:
                data = data[:place] + bytes([draw.randrange(256)]) + data[place + 1 :]
            case 2:
                data = data[:place] + draw.randbytes(8) + data[place:]
            case 3:
                data = data + b"\n" + data
            case _:
                data = _with_odd_value(data, draw)
    return data


def _with_odd_value(data: bytes, draw: random.Random) -> bytes:
    try:
        value = json.loads(data)
    except ValueError:
        return data
    here = value
    while isinstance(here, dict | list) and here:
        key = draw.choice(list(here)) if isinstance(here, dict) else draw.randrange(len(here))
        if not isinstance(here[key], dict | list) or draw.random() < 0.3:  # type: ignore[index]
            here[key] = draw.choice(_ODD)  # type: ignore[index]
            break
        here = here[key]  # type: ignore[index]
    return json.dumps(value).encode() + b"\n"
