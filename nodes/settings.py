"""Settings in small groups; the context of a graph combines the groups that it obeys (``graphs/contexts.py``)."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.json_schema import SkipJsonSchema

from cases.path_names import HomePathName, PathName, home_path
from cases.registry import NameIn
from cases.strict import NonEmpty
from llm import ModelSettings
from nodes.consultation.example import example_for
from nodes.patients.medpmc.personas import Profession
from nodes.patients.systems import PATIENTS
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

    case_source: HomePathName = _of_admission(
        "builtin", description="Where `case_id` is looked up: `builtin`, or the path of a case file."
    )


class CaseSettings(SourceSettings):
    """Which case is admitted, and as whom (every graph that starts from a case)."""

    patient_sex: Literal["record", "female", "male", "drawn"] = _of_admission(
        "record",
        description="The sex that the patient is played in; the whole record is changed to it. `record`: as recorded. "
        "`female`, `male`: a case that is only possible in the other sex fails. `drawn`: by case, seed and epoch; a "
        "case that is only possible in one sex keeps it.",
    )
    personalized: bool = _of_admission(
        True,
        description="Include the patient's age, sex, occupation and histories. If off, they are removed from the case, "
        "also inside its texts.",
    )
    send_pictures: bool = _shown_at("history_taking", "further_examination")(
        True, description="Send pictures to the models. If off, send their written findings instead."
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
                f"send_pictures: models.{refused} is {models[refused]!r}, which cannot see pictures (its block has "
                "pictures = false); leave send_pictures out, and all models get the written findings"
            )
        return {**given, "send_pictures": False} if roles and "send_pictures" not in given else given


class CourseSettings(Settings):
    """The course of the clinical workflow (MedChain, section 4 and the ablations of section 5.4)."""

    interactive: bool = _shown_at("admit", "history_taking")(
        True, description="Interview the patient. If off, the doctors read the patient's record instead."
    )
    orders: Literal["group", "dialogue"] = _of_history_taking(
        "group",
        description="How examinations are ordered: by the group of doctors (`group`), or as extracted from the "
        "dialogue (`dialogue`).",
    )
    order_groups: Literal["in_turn", "side_by_side"] = _of_history_taking(
        "in_turn",
        description="Order physical examinations first and auxiliary ones in view of them (`in_turn`), or both at once "
        "(`side_by_side`).",
    )
    sequential: bool = _of_admission(
        True,
        description="Each stage builds on what earlier stages found. If off, it is given their reference answers "
        "instead.",
    )
    all_pictures: bool = _shown_at("history_taking", "further_examination")(
        False,
        description="Report on every picture of the case (MedChain, A.2.3). If off, only on the pictures of "
        "examinations that were ordered.",
    )
    max_backtracks: int = _shown_at("review")(
        0,
        ge=0,
        le=5,
        description="Maximum number of times that the reviewer may send a case back for missing examinations.",
    )
    sub_departments: dict[str, list[str]] | None = _shown_at("referral")(
        None,
        description="Second-level departments to choose from, by first-level department. Default: the built-in list.",
    )
    strategy: Annotated[str, NameIn(STRATEGIES)] = _of_stages(
        "group",
        description="How every stage is decided: by MedChain's group of doctors (`group`), as in another paper, or by "
        "a plug-in.",
    )

    @model_validator(mode="after")
    def _orders_need_a_dialogue(self) -> Self:
        if self.orders == "dialogue" and not self.interactive:
            raise ValueError(
                "orders = 'dialogue' needs interactive = true: without a dialogue, there are no orders to extract"
            )
        return self


class SeatSettings(Settings):
    """What becomes of a member of a group whose answer cannot be read."""

    on_unreadable: Literal["drop_seat", "fail_case"] = _shown_at(*parts(), "consult", "discuss")(
        "drop_seat",
        description="What happens if the answer of a member of a group cannot be read even after repairs. `drop_seat`: "
        "the others go on; in place of a senior doctor's decision, the first doctor's view is taken, or the last "
        "decision. `fail_case`: the case fails. The last member of a group cannot be dropped.",
    )


class GroupSettings(SeatSettings):
    """The group of doctors of a stage, and who judges what it decides."""

    general_agents: int = _of_stages(3, ge=1, le=9, description="Number of doctors in a group; 1 is a single agent.")
    specialties: Literal["by_case", "recruited", "plain"] | Annotated[list[NonEmpty], Field(min_length=1)] = _of_stages(
        "by_case",
        description="Specialties of the doctors of a group. `by_case`: the second-level departments of the case, "
        "beginning with those that it is referred to; `recruited`: chosen for the task by a recruiter; `plain`: none; "
        "or a list of names, seat by seat.",
    )
    decider: Literal["senior", "generalist"] = _of_stages(
        "senior",
        description="Who makes the decision after a discussion: the senior doctor of the group (`senior`), or a "
        "primary care physician (`generalist`) (MedChain, B.1).",
    )
    discussion_rounds: int = _of_stages(
        2,
        ge=1,
        le=5,
        description="Number of rounds of a discussion. In the first, each doctor answers alone; in the others, each "
        "sees the views of all.",
    )
    feedback: Literal["downstream", "same_stage", "off"] = _of_stages(
        "downstream",
        description="Who judges a decision: a physician of each later stage (`downstream`), one of the same stage "
        "(`same_stage`), or nobody (`off`).",
    )
    max_feedback_rounds: int = _of_stages(
        4, ge=0, le=20, description="Maximum number of revisions of a decision after objections."
    )


class TurnSettings(Settings):
    """How long a dialogue may be."""

    max_turns: int = _of_history_taking(
        10, ge=1, le=100, description="Maximum number of the doctor's turns in a dialogue with the patient."
    )


class PatientSettings(Settings):
    """The patient's side of a dialogue."""

    patient: Annotated[str, NameIn(PATIENTS), BeforeValidator(lambda name: _FORMER_NAMES.get(str(name), name))] = (
        _of_dialogue(
            "medchain",
            description="Patient system that answers the doctor: that of MedChain, AI Hospital, AIE (`saps`), Med-PMC "
            "or CliniChat, or one of a plug-in. The doctor in a consultation also tells AI Hospital's and CliniChat's "
            "patients the diagnosis.",
        )
    )
    results_in_dialogue: bool = _of_admission(
        False, description="MedChain: the patient also knows the recorded results, and tells them when asked (A.2.2)."
    )
    absent_examinations: Literal["normal", "unknown", "unavailable"] = _of_dialogue(
        "normal",
        description="Reply to an order for an examination that the case has no result for: no abnormality (`normal`), "
        "no record (`unknown`), or not done here (`unavailable`).",
    )
    results_told_by: Literal["patient", "examiner"] = _of_dialogue(
        "patient",
        description="AI Hospital: who tells the doctor the results. `patient`: the patient repeats what the examiner "
        "said, as its prompt asks; `examiner`: the doctor hears the examiner, as in the authors' dialogues.",
    )
    result_gate: Literal["audit", "strict"] = _of_dialogue(
        "audit",
        description="SAPS and Med-PMC: which results an order releases. `audit`: those that the model finds in the "
        "order; any that no rule finds named there are counted. `strict`: only those that a rule finds named.",
    )
    tracker_context: Literal["dialogue", "words"] = _of_dialogue(
        "dialogue",
        description="SAPS and Med-PMC: what the tracker sees. `dialogue`: also what was said before the doctor's "
        "words, without which 'and the other one?' cannot be understood; `words`: only these words, as published.",
    )
    extraction: Literal["two_calls", "one_call"] = _of_dialogue(
        "two_calls",
        description="SAPS and Med-PMC: how the record is searched. `two_calls`: the tracker is asked whether the "
        "record has what the doctor wants, then the memory bank for the sentences. `one_call`: only the memory bank is "
        "asked, as published; if it chooses no sentence, the record is taken to have none.",
    )
    history_sentences: int = _of_dialogue(
        8,
        ge=0,
        description="SAPS and Med-PMC: maximum number of sentences of the histories that one turn releases; 0 means no "
        "limit, as published.",
    )
    tracker: bool = _of_dialogue(
        True,
        description="SAPS and Med-PMC: track the doctor's actions. If off, the same patient sees the whole record and "
        "answers without states.",
    )
    patient_profession: Literal["record", Profession, "drawn"] = _of_dialogue(
        "record",
        description="Med-PMC: the profession whose manner of speaking the actor takes on. `record`: the nearest to the "
        "recorded occupation. `drawn`: by case and seed, another one in each epoch; with patient_sex = 'drawn', ten "
        "epochs play all ten personas.",
    )
    rewriting: Literal["half_longer", "no_longer"] = _of_dialogue(
        "half_longer",
        description="Med-PMC: maximum length of the actor's words. `half_longer`: half as long again as the plain "
        "words, or a few words longer where this is more; `no_longer`: no longer than they are, as published. Longer "
        "words are rejected.",
    )
    actor: bool = _of_dialogue(
        True, description="Med-PMC: say the patient's words in a persona's manner. If off, say the plain words."
    )
    asks_back: Literal["patient", "technician"] = _of_dialogue(
        "patient",
        description="Med-PMC: who asks which examination is meant if the doctor's advice names none: the patient, in "
        "persona (`patient`), or the technician, as published (`technician`).",
    )
    pictures_in_dialogue: Literal["consultation", "none", "report"] = _of_dialogue(
        "consultation",
        description="Med-PMC: what the doctor gets from an examination with pictures: the pictures (`consultation`), "
        "the reply that it is unavailable (`none`), or the reference report (`report`).",
    )

    patient_context: Literal["dialogue", "words"] = _of_dialogue(
        "dialogue",
        description="CliniChat: what a model as the patient sees besides the note: the `dialogue`, or only the "
        "doctor's last `words`, as published.",
    )

    @model_validator(mode="after")
    def _reject_settings_of_other_patients(self) -> Self:
        for name in sorted(self.model_fields_set):
            owners = [repr(system.name) for system in PATIENTS.values() if name in system.settings]
            if owners and name not in PATIENTS[self.patient].settings:
                raise ValueError(
                    f"{name} is not a setting of patient {self.patient!r}; it needs patient = {' or '.join(owners)}"
                )
        return self


class DialogueSettings(TurnSettings, PatientSettings):
    """The dialogue of doctor and patient."""

    doctor_knows: Literal["nothing", "complaint"] | None = _of_dialogue(
        None,
        description="SAPS, Med-PMC, CliniChat and AI Hospital: what the doctor knows before the first question. "
        "`nothing`: only the dialogue counts, also for the report, as in the papers. `complaint`: age, sex, occupation "
        "and chief complaint. Default: `nothing` with CliniChat's patient, else `complaint`.",
    )
    greeting: Literal["own", "fixed"] = _of_dialogue(
        "own",
        description="CliniChat: the doctor's `own` words open the dialogue, or a `fixed` greeting does, as published.",
    )
    doctor_mode: Literal["direct", "zero_shot_cot", "one_shot_cot"] = _of_dialogue(
        "direct",
        description="How the doctor in the dialogue reasons: not before answering (`direct`), step by step "
        "(`zero_shot_cot`), or step by step after an example (`one_shot_cot`).",
    )
    thoughts: Literal["silent", "spoken"] = _of_dialogue(
        "silent",
        description="What happens to the thoughts of a doctor who reasons step by step: they are a field of their own "
        "that nobody hears (`silent`), or part of what is said and remembered, as in Med-PMC (`spoken`).",
    )
    example: str = _of_dialogue(
        "",
        description="Text file with the example consultation for `one_shot_cot`; `![finding](FILE)` marks where a "
        "picture is handed over. Default: the built-in example.",
    )
    list_examinations: bool = _of_dialogue(
        True,
        description="Show the doctor in the dialogue the names of common examinations. If off, the doctor names them "
        "unaided.",
    )

    @model_validator(mode="after")
    def _greeting_leaves_a_turn(self) -> Self:
        if self.greeting == "fixed" and self.max_turns == 1:
            raise ValueError("greeting = 'fixed' needs max_turns of at least 2: the greeting counts as a turn")
        return self

    @field_validator("example")
    @classmethod
    def _check_example(cls, example: str) -> str:
        if example:
            example = home_path(example)
            example_for(example, "en", True)
        return example


class ConsultingSettings(DialogueSettings):
    """A consultation: one dialogue that ends with a report."""

    report_form: Literal["five_parts", "case_report"] = _shown_at("report")(
        "five_parts",
        description="Form in which the doctor's report is requested: AI Hospital's five parts (`five_parts`), or "
        "Med-PMC's six (`case_report`: person, present illness, history, examinations, diagnosis, treatment), which "
        "are stored as the five with an empty basis.",
    )
    already_examined: bool = _shown_at("interview")(
        False,
        description="Tell the doctor in a consultation that all examinations have been done, to ask only for their "
        "results, and to be brief and warm (Med-PMC, Table 14). If off, the doctor orders examinations.",
    )


class CollaborationSettings(SeatSettings):
    """Discussion among doctors: dispute resolution (AI Hospital), and the rounds of MDAgents."""

    interns: int = _shown_at("consult", "diagnosis", "treatment")(
        3,
        ge=1,
        le=5,
        description="Dispute resolution: number of doctors, each with its own consultation; with 1, there is no "
        "discussion.",
    )
    max_rounds: int = _of_discussion(
        4,
        ge=0,
        le=20,
        description="Maximum number of rounds of discussion, in dispute resolution and in a group of MDAgents.",
    )
    talk_turns: int = _of_stages(
        5,
        ge=0,
        le=20,
        description="MDAgents: maximum number of turns per round in which the members of a group talk one to one.",
    )
    dispute_resolution: bool = _of_discussion(
        True,
        description="Let the director name the disputes. If off, the doctors discuss without a list of disputes (AI "
        "Hospital's ablation).",
    )
    turn_taking: bool = _of_discussion(
        False,
        description="Let the interns speak one after the other, each hearing what was just said. If off, they all "
        "speak at once.",
    )


class RecallSettings(Settings):
    """Similar cases (MedCase-RAG)."""

    retrieval: bool = _of_stages(True, description="Recall similar cases (MedCase-RAG).")
    neighbours: int = _of_stages(3, ge=1, le=10, description="Number of similar cases to recall.")
    recall_language: Literal["any", "case"] = _of_stages(
        "any",
        description="Recall cases in any language (`any`), or only in the case's own (`case`), which may give fewer.",
    )
    memory: PathName = _of_stages(
        "builtin",
        description="Case memory: `builtin`, the directory of a memory that you built, or the URL of a Chroma server.",
    )
    embedding: PathName = _of_stages(
        "all-MiniLM-L6-v2",
        description="Embedding model of the case memory: all-MiniLM-L6-v2 (English), use-multilingual-v3, or the name "
        "or path of a sentence-transformers model.",
    )


class GrowthSettings(Settings):
    """How a run remembers its own finished cases."""

    grow: Literal["off", "in_order", "as_finished"] = _of_follow_up(
        "off",
        description="Add finished cases to the memory as pseudo-cases: never (`off`), in the order of the run "
        "(`in_order`), or as they finish (`as_finished`).",
    )
    run: SkipJsonSchema[str] = _of_follow_up("", description="Name of the run; it sees only its own pseudo-cases.")
    position: SkipJsonSchema[int | None] = _of_follow_up(
        None, ge=0, description="Position of the case in its run; with `in_order`, it sees only earlier cases."
    )


class ReconstructionSettings(Settings):
    """How a note becomes a dialogue (CliniChat)."""

    reconstruction: Literal["clini_recon", "direct", "interactive"] = _shown_at("set_roles")(
        "clini_recon",
        description="How a note is turned into a dialogue: by a plan filled with prepared knowledge (`clini_recon`), "
        "by one author in one call (`direct`), or by a physician and a patient who speak in turn (`interactive`).",
    )
    whole_dialogue: bool = _shown_at("plan_interview")(
        False,
        description="Clini-Recon: write the whole dialogue in one call, as in the paper. If off, write it section by "
        "section.",
    )
    answer_key: Literal["withheld", "told"] = _shown_at("take_note")(
        "withheld",
        description="Whether the writers see the answer key of the note's source (`told`), or have to infer it, as in "
        "the paper (`withheld`).",
    )
    departments: Literal["clinichat", "medchain"] = _shown_at("prepare_knowledge")(
        "clinichat",
        description="Departments under which a model files a note: CliniChat's 19 or MedChain's. A department that the "
        "note itself names is kept.",
    )
    plan: Literal["ours", "paper"] = _shown_at("plan_interview")(
        "ours",
        description="Clini-Recon: interview plan. `ours`: always ask about occupation, usual habits, nine organ "
        "systems and anything else; `paper`: ask only the paper's questions and what the prepared knowledge names.",
    )
    reply_context: Literal["dialogue", "words"] = _shown_at("patient_replies")(
        "dialogue",
        description="Interactive role-play: what a model as the patient sees besides the note: the `dialogue`, or only "
        "the physician's last `words`, as published.",
    )
    section_revisions: int = _shown_at("write_section")(
        1, ge=0, le=5, description="Clini-Recon: maximum number of times that a section is rewritten after objections."
    )
    entailment: bool = _shown_at("file_dialogue")(
        False,
        description="Let a reader compare the finished dialogue with its note; a dialogue that contradicts the note or "
        "goes beyond it fails.",
    )

    @model_validator(mode="after")
    def _replies_need_a_role_play(self) -> Self:
        if self.reply_context != "dialogue" and self.reconstruction != "interactive":
            raise ValueError(
                f"reply_context = {self.reply_context!r} needs reconstruction = 'interactive': elsewhere nobody replies"
            )
        return self
