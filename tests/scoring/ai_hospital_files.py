"""Where AI Hospital's released files lie, for the tests that read them in place."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "datasets" / "ai_hospital"
EVALUATIONS = FOLDER / "evaluation_iiyi_gpt4_onestep.jsonl"
DIALOGUES = FOLDER / "dialog_history_gpt4.jsonl"
COLLABORATIONS = FOLDER / "collaboration_history_gpt3_gpt4.jsonl"
TERMS = FOLDER / "icd10_beijing_v601.xls"

released = pytest.mark.skipif(not FOLDER.is_dir(), reason="AI Hospital's files are not at ../shared/datasets")
