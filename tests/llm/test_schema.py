import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import jsonschema
import pytest
from pydantic import BaseModel, Field, TypeAdapter

from cases.text.words import has_chinese
from cases.vocabulary import (
    AUXILIARY_ITEMS,
    DEPARTMENTS,
    EXAMINATION_ITEMS,
    PHYSICAL_ITEMS,
    TREATMENT_ITEMS,
    AuxiliaryItem,
    Department,
    ExaminationItem,
    PhysicalItem,
    TreatmentItem,
    Vocabulary,
)
from graphs import roles as roles  # declares them all
from llm.repetition import undescribed
from llm.replies import each_value
from llm.role import declared_roles
from llm.schema import answer_schema, outline
from nodes.collaboration.director import ReportDisputes
from nodes.collaboration.intern import Revision
from nodes.consultation.doctor import ReasonedTurn
from nodes.consultation.final_report import CaseReport, FinalReport
from nodes.patients.ai_hospital.patient import WordsToDoctor
from nodes.patients.saps.state_tracker import KindInOneRoom
from nodes.reconstruction.knowledge import MedChainKnowledge
from nodes.state.chart import Turn
from nodes.state.decisions import Decision
from nodes.workflow.general_agent import Proposal
from nodes.workflow.stages import STAGES
from nodes.workflow.summarizing_agent import Revised
from prompts import laid_over, load_descriptions
from scoring.mvme.judges import _form as graded_parts


class Step(BaseModel):
    what: str = Field("rest", title="The step")
    items: list[TreatmentItem] = []
    then: "Step | None" = None


class Plan(BaseModel):
    """What is planned."""

    title: str = Field("untitled", description="A heading.")
    default: bool = True
    properties: dict[str, int] = {}
    department: Department
    urgency: Literal["routine", "urgent"] = "routine"
    steps: list[Step] = Field(min_length=1)


def objects(node: Any) -> list[dict[str, Any]]:
    """Every object schema in a schema."""
    match node:
        case dict():
            here = [node] if isinstance(node.get("required"), list) else []
            return here + [found for value in node.values() for found in objects(value)]
        case list():
            return [found for value in node for found in objects(value)]
    return []


def test_every_property_is_required_and_no_other_is_allowed_at_any_depth() -> None:
    schema = answer_schema(Plan, "en")
    assert schema["required"] == ["title", "default", "properties", "department", "urgency", "steps"]
    assert schema["$defs"]["Step"]["required"] == ["what", "items", "then"]
    assert len(objects(schema)) == 2
    assert all(found["additionalProperties"] is False for found in objects(schema))


def test_properties_named_like_keywords_survive_and_the_keywords_go() -> None:
    schema = answer_schema(Plan, "en")
    assert schema["properties"]["title"] == {"type": "string", "description": "A heading."}
    assert schema["properties"]["default"] == {"type": "boolean"}
    assert schema["properties"]["properties"]["additionalProperties"] == {"type": "integer"}
    assert "title" not in schema and "title" not in schema["$defs"]["Step"]["properties"]["what"]


def test_descriptions_and_limits_are_kept() -> None:
    schema = answer_schema(Plan, "zh")
    assert schema["description"] == "What is planned."
    assert schema["properties"]["steps"]["minItems"] == 1


def test_references_lead_to_definitions_in_strict_form_also_where_they_are_recursive() -> None:
    schema = answer_schema(Plan, "en")
    step = {"what": "rest", "items": ["Surgery"], "then": None}
    plan = {"title": "x", "default": False, "properties": {}, "department": "Surgery", "urgency": "urgent"}
    assert "Surgery" in TREATMENT_ITEMS.names
    jsonschema.validate({**plan, "steps": [{**step, "then": step}]}, schema)
    for wrong in ({**step, "extra": 1}, {"what": "rest", "items": []}, {**step, "items": ["Prayer"]}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**plan, "steps": [{**step, "then": wrong}]}, schema)


@pytest.mark.parametrize(
    ("term", "vocabulary"),
    [
        (Department, DEPARTMENTS),
        (PhysicalItem, PHYSICAL_ITEMS),
        (AuxiliaryItem, AUXILIARY_ITEMS),
        (ExaminationItem, EXAMINATION_ITEMS),
        (TreatmentItem, TREATMENT_ITEMS),
    ],
)
def test_terms_stand_in_the_language_of_the_prompt_and_are_understood_in_it(term: Any, vocabulary: Vocabulary) -> None:
    class Chosen(BaseModel):
        terms: list[term]

    for language in ("en", "zh"):
        shown = answer_schema(Chosen, language)["properties"]["terms"]["items"]["enum"]
        assert shown == list(vocabulary.labels(language))
        assert len(set(shown)) == len(vocabulary.terms)
        assert TypeAdapter(list[term]).validate_python(shown) == list(vocabulary.names)


def test_other_enumerations_are_left_as_they_are_in_chinese() -> None:
    assert answer_schema(Plan, "zh")["properties"]["urgency"]["enum"] == ["routine", "urgent"]
    assert "内科" in json.dumps(answer_schema(Plan, "zh"), ensure_ascii=False)
    assert "内科" not in json.dumps(answer_schema(Plan, "en"), ensure_ascii=False)


def answers_at_work() -> list[type[BaseModel]]:
    """The answer type of every role, also where it depends on the stage, the settings or the case."""
    ours = {
        role.answer for role in declared_roles().values() if role.answer.__module__.startswith(("nodes", "scoring"))
    }
    declared = ours - {Decision, Proposal, Revision, Turn}  # others take the place of three; tests' own roles say turns
    decisions = {stage.decision for stage in STAGES.values()}
    of_stages = [kind[decision] for kind in (Proposal, Revised, Revision) for decision in decisions]
    others = [
        Revision[FinalReport],
        ReportDisputes,
        ReasonedTurn,
        CaseReport,
        WordsToDoctor,
        MedChainKnowledge,
        KindInOneRoom,
    ]
    return [*declared, *decisions, *of_stages, *others, graded_parts(("symptoms", "diagnosis"))]


def described(schema: Any) -> set[str]:
    nodes = (node for node in each_value(schema) if isinstance(node, dict))
    return {text for node in nodes if isinstance(text := node.get("description"), str)}


def test_chinese_models_read_every_description_of_an_answer_in_chinese() -> None:
    kinds = answers_at_work()
    english = set().union(*(described(answer_schema(kind, "en")) for kind in kinds))
    assert english == set(load_descriptions("zh")) and len(english) > 150
    for kind in kinds:
        shown = answer_schema(kind, "zh")
        assert all(map(has_chinese, described(shown))), kind
        assert undescribed(answer_schema(kind, "en")).keys() == undescribed(shown).keys()


def test_a_language_without_descriptions_has_them_in_english_and_a_plug_in_may_add_its_own(tmp_path: Path) -> None:
    (tmp_path / "zh/ask").mkdir(parents=True)
    (tmp_path / "zh/ask/answers.toml").write_text(
        '"A heading." = "标题。"\n"What is said in a turn." = "话。"\n', "utf-8"
    )
    assert answer_schema(Plan, "de") == answer_schema(Plan, "en")
    with laid_over(tmp_path):
        assert answer_schema(Plan, "zh")["properties"]["title"]["description"] == "标题。"
        assert described(answer_schema(WordsToDoctor, "zh")) == {
            "患者从检查员那里回来后对医生说的话。",
            "检查员所说的内容。",
        }
    assert answer_schema(Plan, "zh")["properties"]["title"]["description"] == "A heading."


def test_no_model_reads_where_an_answer_s_form_comes_from() -> None:
    source = re.compile(
        r"\((?:MedChain|Med-PMC|AI Hospital|AIE|CliniChat|MDAgents)\b|\bFigures? \d|\bTable \d|\bsection \d"
    )
    kinds = answers_at_work()
    assert len(kinds) > 60
    for kind in kinds:
        assert not source.search(json.dumps(kind.model_json_schema())), kind


def test_python_without_docstrings_is_refused_as_models_would_not_be_told_what_an_answer_is() -> None:
    command = [sys.executable, "-OO", "-c", "import llm.schema"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "(PYTHONOPTIMIZE=2) removes the descriptions of answers" in ended.stderr.splitlines()[-1]


def test_an_outline_names_the_fields_their_fields_and_the_terms_of_short_lists_and_nothing_else() -> None:
    class Dispute(BaseModel):
        part: Literal["diagnosis", "treatment"] = Field(description="What it is about.")
        department: Department | None

    class Answer(BaseModel):
        """How it ended."""

        accepted: bool
        reason: str = Field("", description="Why.")
        disputes: list[Dispute]

    told = "accepted: true | false, reason, disputes [] (part: diagnosis | treatment, department)"
    assert outline(Answer.model_json_schema()) == told
