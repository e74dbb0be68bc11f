"""Settings in small groups; the context of a graph combines the groups that it obeys (``graphs/contexts.py``)."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from cases.registry import NameIn
from llm import ModelSettings
from nodes.consultation.example import example_for
from nodes.patients.medpmc.personas import Profession
from nodes.patients.systems import PATIENTS
from nodes.state.decisions import NonEmpty
from nodes.strategies.registry import STRATEGIES
from nodes.workflow.stages import parts


def _shown_at(*nodes: str) -> partial[Any]:
    """Return a `Field` that Studio shows at these nodes of the clinical workflow, as well as in the full form."""
    return partial(Field, json_schema_extra={"langgraph_nodes": list(nodes)})


_of_admission = _shown_at("admit")
_of_history_taking = _shown_at("history_taking")
_of_dialogue = _shown_at("history_taking", "interview")
_of_stages = _shown_at(*parts())
_of_discussion = _shown_at("discuss", "diagnosis", "treatment")
_of_follow_up = _shown_at("follow_up")

# Roles that are never given pictures, so that their models need not see any.
_WITHOUT_PICTURES = ("patient", "actor")

_FORMER_NAMES = {"patient_actor": "medpmc"}  # in older experiment files


def with_made_defaults(form: dict[str, Any], settings: type[BaseModel]) -> None:
    """Add the defaults of fields with a ``default_factory`` to the form."""
    for name, field in settings.model_fields.items():
        if field.default_factory is not None:
            form["properties"][name]["default"] = field.get_default(call_default_factory=True)


class Settings(ModelSettings):
    """Base of the groups: the models, and the defaults of all fields in the form."""

    model_config = ConfigDict(json_schema_extra=with_made_defaults)


class SourceSettings(Settings):
    """Where a case is looked up that is named by its id."""

    case_source: str = _of_admission("builtin", description="Where `case_id` is looked up: `builtin` or a case file.")


class CaseSettings(SourceSettings):
    """Which case is admitted, and as whom (every graph that starts from a case)."""

    patient_sex: Literal["record", "female", "male", "drawn"] = _of_admission(
        "record",
        description="Change the record to this sex, all through; a case that turns on the other is refused. `drawn`: "
        "by case, seed and epoch; what turns on one sex keeps it.",
    )
    personalized: bool = _of_admission(
        True, description="Age, sex, occupation and histories are known; if off, they are taken out of texts too."
    )
    send_pictures: bool = _shown_at("history_taking", "further_examination")(
        True, description="Pictures go to the models; if off, their written findings do."
    )

    @model_validator(mode="before")
    @classmethod
    def _no_pictures_for_blind_models(cls, given: Any) -> Any:
        """Turn ``send_pictures`` off if a model in the map cannot see pictures, or refuse it if it was set.

        A default model that cannot see pictures is accepted if other roles have models of their own.
        """
        if not isinstance(given, dict) or given.get("send_pictures") is False or not given.get("model"):
            return given
        if not isinstance(given["model"], Mapping) or not isinstance(given.get("models", {}), Mapping):
            return given  # left to the type check of these two fields
        blind = [
            name
            for name, block in given["model"].items()
            if (block.get("pictures") if isinstance(block, Mapping) else getattr(block, "pictures", None)) is False
        ]
        models = {role: model for role, model in given.get("models", {}).items() if role not in _WITHOUT_PICTURES}
        roles = [role for role, model in models.items() if model in blind]
        refused = next((role for role in roles if role != "default" or len(models) == 1), None)
        if refused is not None and "send_pictures" in given:
            raise ValueError(
                f"send_pictures: models.{refused} is {models[refused]!r}, which sees none (pictures = false of its "
                "block); leave send_pictures out, and all are given the written findings"
            )
        return {**given, "send_pictures": False} if roles and "send_pictures" not in given else given


class CourseSettings(Settings):
    """The course of the clinical workflow (MedChain, section 4 and the ablations of section 5.4)."""

    interactive: bool = _shown_at("admit", "history_taking")(
        True, description="Ask the patient; if off, the patient's record is read instead."
    )
    orders: Literal["group", "dialogue"] = _of_history_taking(
        "group", description="Examinations as the group orders them, or as extracted from the dialogue."
    )
    order_groups: Literal["in_turn", "side_by_side"] = _of_history_taking(
        "in_turn",
        description="Physical examinations are ordered first and auxiliary ones in view of them, or both at once.",
    )
    sequential: bool = _of_admission(
        True, description="Stages build on each other; if off, each gets the reference of earlier ones."
    )
    all_pictures: bool = _shown_at("history_taking", "further_examination")(
        False,
        description="Every picture of the case is reported on (MedChain, A.2.3); if off, those of what was ordered.",
    )
    max_backtracks: int = _shown_at("review")(
        0, ge=0, le=5, description="How often a later stage may ask for a missing examination."
    )
    sub_departments: dict[str, list[str]] | None = _shown_at("referral")(
        None, description="Second-level departments to choose from, by department; our own list if not set."
    )
    strategy: Annotated[str, NameIn(STRATEGIES)] = _of_stages(
        "group", description="How every stage is decided: by MedChain's group, or as another paper does it."
    )

    @model_validator(mode="after")
    def _orders_need_a_dialogue(self) -> Self:
        if self.orders == "dialogue" and not self.interactive:
            raise ValueError(
                "orders = 'dialogue' needs interactive = true: without a dialogue there is nothing to extract"
            )
        return self


class SeatSettings(Settings):
    """What becomes of a member of a group whose answer cannot be read."""

    on_unreadable: Literal["drop_seat", "fail_case"] = _shown_at(*parts(), "consult", "discuss")(
        "drop_seat",
        description="Where no repair makes the answer of a member of a group readable: the others go on (without a "
        "senior doctor with the first doctor's view, or the last decision), or the case fails. The last member cannot "
        "be dropped.",
    )


class GroupSettings(SeatSettings):
    """The group of doctors of a stage, and who judges what it decides."""

    general_agents: int = _of_stages(3, ge=1, le=9, description="Doctors who discuss; 1 is a single agent.")
    specialties: Literal["by_case", "recruited", "plain"] | Annotated[list[NonEmpty], Field(min_length=1)] = _of_stages(
        "by_case",
        description="What the doctors of a group are: specialists of the second-level departments of the case, first "
        "those it is referred to; whom a recruiter names for the task; nothing in particular; or the named "
        "specialties, seat by seat.",
    )
    decider: Literal["senior", "generalist"] = _of_stages(
        "senior",
        description="Who closes a discussion: the senior doctor of the group, or a primary care physician (MedChain, "
        "B.1).",
    )
    discussion_rounds: int = _of_stages(
        2, ge=1, le=5, description="How often they speak: alone, then seeing each other."
    )
    feedback: Literal["downstream", "same_stage", "off"] = _of_stages(
        "downstream", description="Who judges a decision: physicians of all later stages, one of its own, nobody."
    )
    max_feedback_rounds: int = _of_stages(4, ge=0, le=20, description="Revisions at most after objections.")


class TurnSettings(Settings):
    """How long a dialogue may be."""

    max_turns: int = _of_history_taking(
        10, ge=1, le=100, description="Questions at most in the dialogue with the patient."
    )


class PatientSettings(Settings):
    """The patient's side of a dialogue."""

    patient: Annotated[str, NameIn(PATIENTS), BeforeValidator(lambda name: _FORMER_NAMES.get(str(name), name))] = (
        _of_dialogue(
            "medchain",
            description="Which patient system answers: MedChain's, AI Hospital's, SAPS (AIE), Med-PMC's actor, or "
            "CliniChat's, whose doctor also tells the patient the diagnosis; or one of a plug-in.",
        )
    )
    results_in_dialogue: bool = _of_admission(
        False, description="MedChain's patient also knows the recorded results and tells them when asked (A.2.2)."
    )
    absent_examinations: Literal["normal", "unknown", "unavailable"] = _of_dialogue(
        "normal",
        description="What is told of an examination that is not on record: no abnormality, no record, not done here.",
    )
    result_gate: Literal["audit", "strict"] = _of_dialogue(
        "audit",
        description="SAPS and Med-PMC: an order opens the results that the model reads in it, and those that no rule "
        "finds named there are counted; or it opens only what a rule finds named.",
    )
    tracker_context: Literal["dialogue", "words"] = _of_dialogue(
        "dialogue",
        description="SAPS and Med-PMC: the tracker sees what was said before the doctor's words, without which 'and "
        "the other one?' means nothing; or the words alone, as published.",
    )
    extraction: Literal["two_calls", "one_call"] = _of_dialogue(
        "two_calls",
        description="SAPS and Med-PMC: the tracker is asked whether the record has what the doctor wants, then the "
        "memory for the sentences; or the memory alone, as published: where it picks none, the record has none.",
    )
    history_sentences: int = _of_dialogue(
        8,
        ge=0,
        description="SAPS and Med-PMC: the most sentences of the histories that one turn opens; 0: no limit, as "
        "published.",
    )
    tracker: bool = _of_dialogue(
        True,
        description="SAPS and Med-PMC: track the doctor's actions; if off, the same patient holds the whole record and "
        "answers without states.",
    )
    patient_profession: Literal["record", Profession, "drawn"] = _of_dialogue(
        "record",
        description="Whose manner Med-PMC's actor speaks in; by the recorded occupation if not set. `drawn`: by case "
        "and seed, each epoch another; with patient_sex = 'drawn' ten epochs play all ten personas.",
    )
    rewriting: Literal["half_longer", "no_longer"] = _of_dialogue(
        "half_longer",
        description="Med-PMC: how long the actor's words may be: half as long again as the plain ones and a few words "
        "at least, or no longer, as published; what is longer is refused.",
    )
    actor: bool = _of_dialogue(
        True, description="Med-PMC: say the patient's words in a persona's manner; if off, plainly."
    )
    asks_back: Literal["patient", "technician"] = _of_dialogue(
        "patient",
        description="Med-PMC: who asks which examination is meant where the doctor advises some or other: the patient, "
        "in persona, or the technician, as published.",
    )
    pictures_in_dialogue: Literal["consultation", "none", "report"] = _of_dialogue(
        "consultation",
        description="Med-PMC: what an examination with pictures yields: them, nothing, or the reference report.",
    )

    @model_validator(mode="after")
    def _reject_settings_of_other_patients(self) -> Self:
        for name in self.model_fields_set:
            owners = [repr(system.name) for system in PATIENTS.values() if name in system.settings]
            if owners and name not in PATIENTS[self.patient].settings:
                raise ValueError(f"{name} is no setting of patient {self.patient!r}; it needs {' or '.join(owners)}")
        return self


class DialogueSettings(TurnSettings, PatientSettings):
    """The dialogue of doctor and patient."""

    doctor_knows: Literal["nothing", "complaint"] | None = _of_dialogue(
        None,
        description="What the doctor knows before the first question: nothing, so that the dialogue is all, for "
        "the report too, as in AIE, Med-PMC and CliniChat, or age, sex, occupation and the complaint. If not set, as "
        "CliniChat has it with its patient, else the complaint.",
    )
    doctor_mode: Literal["direct", "zero_shot_cot", "one_shot_cot"] = _of_dialogue(
        "direct",
        description="How the doctor in the dialogue thinks: at once, step by step, or so and after an example.",
    )
    thoughts: Literal["silent", "spoken"] = _of_dialogue(
        "silent",
        description="Thoughts of a doctor who thinks step by step: a field of their own that nobody hears, or part of "
        "what is said and remembered, as in Med-PMC.",
    )
    example: str = _of_dialogue(
        "",
        description="`one_shot_cot`: a text file with a consultation as example, `![finding](FILE)` where a picture is "
        "handed over; ours if not set.",
    )
    report_form: Literal["five_parts", "case_report"] = _shown_at("report")(
        "five_parts",
        description="What the doctor's report is asked for as: AI Hospital's five parts, or Med-PMC's six (person, "
        "present illness, history, examinations, diagnosis, treatment), filed as the five, without a basis.",
    )
    already_examined: bool = _shown_at("interview")(
        False,
        description="The doctor in a consultation is told that all examinations have been done and only their results "
        "are to be asked for, and to be brief and warm (Med-PMC, Table 14); if off, orders them.",
    )
    list_examinations: bool = _of_dialogue(
        True,
        description="The doctor in the dialogue is shown the names of common examinations; if off, calls them unaided.",
    )

    @field_validator("example")
    @classmethod
    def _check_example(cls, example: str) -> str:
        if example:
            example_for(example, "en", True)
        return example


class CollaborationSettings(SeatSettings):
    """Discussion among doctors: dispute resolution (AI Hospital), and the rounds of MDAgents."""

    interns: int = _shown_at("consult", "diagnosis", "treatment")(
        3,
        ge=1,
        le=5,
        description="Dispute resolution: doctors, each with its own consultation; 1 is without discussion.",
    )
    max_rounds: int = _of_discussion(
        4, ge=0, le=20, description="Rounds of discussion at most, in dispute resolution and in a group of MDAgents."
    )
    talk_turns: int = _of_stages(
        5,
        ge=0,
        le=20,
        description="MDAgents: turns at most in which the members of a group talk one to one, in each round.",
    )
    dispute_resolution: bool = _of_discussion(
        True,
        description="The director names the disputes; if off, the doctors discuss without (AI Hospital's ablation).",
    )
    turn_taking: bool = _of_discussion(
        False, description="Interns speak one after the other and hear what was just said; if off, all at once."
    )


class RecallSettings(Settings):
    """Similar cases (MedCase-RAG)."""

    retrieval: bool = _of_stages(True, description="Recall similar cases (MedCase-RAG).")
    neighbours: int = _of_stages(3, ge=1, le=10, description="How many similar cases.")
    recall_language: Literal["any", "case"] = _of_stages(
        "any", description="Recall cases in any language, or in the case's own alone, fewer if there are no more."
    )
    memory: str = _of_stages(
        "builtin", description="`builtin`, the directory of a built memory, or a Chroma server's URL."
    )
    embedding: str = _of_stages(
        "all-MiniLM-L6-v2",
        description="all-MiniLM-L6-v2 (English), use-multilingual-v3, or a sentence-transformers name or path.",
    )


class GrowthSettings(Settings):
    """How a run remembers its own finished cases."""

    grow: Literal["off", "in_order", "as_finished"] = _of_follow_up(
        "off", description="Remember finished cases as pseudo-cases: not, in the order of the run, or as they finish."
    )
    run: SkipJsonSchema[str] = _of_follow_up("", description="Name of the run; a run sees its own pseudo-cases only.")
    position: SkipJsonSchema[int | None] = _of_follow_up(
        None, ge=0, description="The case's place in its run; `in_order` sees earlier ones."
    )


class ReconstructionSettings(Settings):
    """How a note becomes a dialogue (CliniChat)."""

    reconstruction: Literal["clini_recon", "direct", "interactive"] = _shown_at("set_roles")(
        "clini_recon",
        description="How a note becomes a dialogue: planned with prepared knowledge, or by one of the two role-plays.",
    )
    whole_dialogue: bool = _shown_at("plan_interview")(
        False,
        description="Clini-Recon: write the whole dialogue in one call, as in the paper; if off, section by section.",
    )
    answer_key: Literal["withheld", "told"] = _shown_at("take_note")(
        "withheld",
        description="Whether who writes sees what the source's answer key says, or has to infer it, as in the paper.",
    )
    departments: Literal["clinichat", "medchain"] = _shown_at("prepare_knowledge")(
        "clinichat",
        description="Whose departments a model files a note under: CliniChat's 19 or MedChain's; one that a note names "
        "is kept as it is.",
    )
    plan: Literal["ours", "paper"] = _shown_at("plan_interview")(
        "ours",
        description="Clini-Recon: whether occupation, usual habits and nine organ systems are asked after always, or "
        "only what the prepared knowledge names, as in the paper.",
    )
    section_revisions: int = _shown_at("write_section")(
        1, ge=0, le=5, description="Clini-Recon: how often a section is written again after objections."
    )
    entailment: bool = _shown_at("file_dialogue")(
        False,
        description="A reader holds the finished dialogue against its note; what contradicts it or goes beyond it "
        "fails the dialogue.",
    )
