"""Small AIE and Med-PMC records, written for the tests."""

import json
from pathlib import Path
from typing import Any

from scoring.aie.transcripts import AieTranscript, SimulatorTest
from scoring.medpmc.transcripts import MedPmcTranscript


def turn(state: str, doctor: str, patient: str | None = None) -> dict[str, str]:
    return {"state": state, "doctor": doctor, **({} if patient is None else {"patient": patient})}


def aie_data(record: str, *history: dict[str, str], **fields: Any) -> dict[str, Any]:
    options = fields.pop("options", {"A": "Flu", "B": "Asthma", "C": "Gout", "D": "Sepsis", "E": "Anaemia"})
    raw = {"question": record, "options": options, "answer_idx": fields.pop("answer_idx", "A")}
    return {"id": 1, "raw_data": raw, "history": list(history), "diagnosis": "A", **fields}


def aie(record: str, *history: dict[str, str], **fields: Any) -> AieTranscript:
    return AieTranscript.model_validate(aie_data(record, *history, **fields))


ENGLISH = [
    aie_data(
        "A 40-year-old man has had a cough for 3 days. He smokes. Chest X-ray shows pneumonia. What is the diagnosis?",
        turn("O", "Hello,  how can I help?", "I have been coughing for 3 days."),
        turn("A-A-A", "Do you smoke?\n\nHow much?", "Yes, I smoke."),
        turn("A-A-B", "Any fever?", "No, I do not have a fever."),
        turn("A-B", "Anything else?", "What do you mean exactly?"),
        turn("B-A-A", "Please have a chest X-ray.", "The chest X-rays showed pneumonia."),
        turn("E", "You have pneumonia, take care."),
        id=1,
        dataset="MedQA",
        options="(A) Pneumonia (B) Asthma (C) Gout (D) Sepsis",
    ),
    aie_data(
        "A 7-year-old girl. Rash since 2 weeks; itching at night. Which treatment is best?",
        turn("O", "你好，请问哪里不舒服？", "I have a rash."),
        turn("B-B", "多休息。", "具体怎么做？"),
        turn("C", "请张开嘴。", "This is online."),
        id=2,
        dataset="MedQA",
        diagnosis="C",
        answer_idx="B",
    ),
]
CHINESE = [
    aie_data(
        "患者男，45岁。咳嗽三天，伴发热。\n\n既往高血压。胸片示肺炎。",
        turn("O", "您好，哪里不舒服？", "我咳嗽三天了。"),
        turn("A-A-A", "有发热吗？", "有，伴发热。"),
        turn("A-A-A", "还有什么病史？"),
        turn("B-A-B", "建议做胃镜。", "好的，我会按照您的建议去做。"),
        turn("D", "您喜欢什么电影？", "抱歉，我更关心我的病。"),
        turn("E", "诊断为肺炎。"),
        id=11,
    ),
    aie_data(
        "患者女，8岁，皮疹一周。",
        turn("O", "Hello", "皮疹一周。"),
        turn("A-B", "哪里不舒服？", "请您具体一些。"),
        id=12,
        diagnosis="",
    ),
]


def simulator_test(record: str, test_id: int = 1, **turns: dict[str, dict[str, str]]) -> SimulatorTest:
    tests = {number.removeprefix("t"): replies for number, replies in turns.items()}
    return SimulatorTest.model_validate({"id": test_id, "raw_data": {"question": record}, "patient_test": tests})


TEXT = {
    "Patient Information": "Male, 66 years old, farmer.",
    "Chief Complaint": "Upper abdominal pain for one day.",
    "Present Illness": "Sudden pain; vomiting 6 times (1.5 litres), no blood.",
    "Physical Condition": "T 36.5",
    "Past Medical History": "Gastric ulcers for three years.",
    "Examinations": "WBC 2.46*10^9/L, no free air. Upper abdominal CT: <\\image00001.jpg>.",
    "Diagnosis": "1. Upper gastrointestinal perforation",
    "Treatment": "Surgical repair of the perforation",
}
IMAGES = {"00001.jpg": "Free air in the abdominal cavity.", "00002.jpg": "Gallstones, 1.2 cm."}
REPORT = (
    "## Report\nA 66-year-old man with sudden upper abdominal pain, vomited 6 times; ulcers. "
    "WBC 2.46. Free air: perforation. Surgery."
)


def medpmc_data(*history: dict[str, str], **fields: Any) -> dict[str, Any]:
    text = {**TEXT, **fields.pop("text", {})}
    return {"id": 1, "Text": text, "Image": IMAGES, "history": list(history), "diagnosis_self": REPORT, **fields}


def medpmc(*history: dict[str, str], **fields: Any) -> MedPmcTranscript:
    return MedPmcTranscript.model_validate(medpmc_data(*history, **fields))


MEDPMC_HISTORY = (
    {**turn("0", "Hello, tell me your  discomfort.", "Doc, my belly!"), "standard_patient": "Upper abdominal pain."},
    {**turn("A-A-A", "Any vomiting?", "Six times, doc."), "standard_patient": "Vomiting 6 times."},
    turn("B-A-A", "Have a blood test and CT.", "WBC 2.46*10^9/L. CT: <\\image00001.jpg>"),
    turn("A-B", "I see free air, the cavity is perforated.", "Please be more specific."),
    turn("D", "You need surgery now."),
)


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content, ensure_ascii=False), "utf-8")
    return path
