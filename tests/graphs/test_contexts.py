"""Each graph has settings of its own, and refuses by name what it would ignore."""

from typing import Any

import pytest
from pydantic import ValidationError

from graphs import clinical_workflow, consultation, dispute_resolution, one_step, reconstruction
from graphs.catalogue import graph_by
from graphs.contexts import CONTEXTS
from nodes.context import Context
from nodes.patients.systems import PATIENTS
from nodes.strategies.registry import STRATEGIES
from tests.graphs.scripting import builtin

CASE = builtin("surgery-01")
GRAPHS: dict[str, Any] = {
    "clinical_workflow": clinical_workflow,
    "consultation": consultation,
    "one_step": one_step,
    "dispute_resolution": dispute_resolution,
    "reconstruction": reconstruction,
}
INTERNALS = {"epoch", "scope", "trace_file", "run", "position"}


@pytest.mark.parametrize("name", CONTEXTS)
def test_a_form_draws_the_settings_of_its_graph_and_nothing_of_the_runner(name: str) -> None:
    drawn = CONTEXTS[name].model_json_schema()["properties"].keys()
    assert drawn == CONTEXTS[name].model_fields.keys() - INTERNALS
    assert not drawn & INTERNALS and {"models", "language"} <= drawn


def test_no_graph_but_the_workflow_has_all_settings() -> None:
    counts = {name: len(context.model_fields) for name, context in CONTEXTS.items()}
    assert max(counts, key=lambda name: counts[name]) == "clinical_workflow"
    assert counts["clini_eval"] < counts["one_step"] < counts["consultation"] < counts["clinical_workflow"]


@pytest.mark.parametrize(
    ("graph", "context", "says"),
    [
        ("consultation", {"max_turn": 3}, r"'max_turn' is not a setting .*: did you mean 'max_turns'\?"),
        ("consultation", {"general_agents": 1}, "'general_agents' .*: it belongs to 'clinical_workflow'"),
        ("one_step", {"patient": "saps"}, "'patient' is not a setting of the graph 'one_step': it belongs to"),
        ("clinical_workflow", {"report_form": "case_report"}, "belongs to 'consultation', 'dispute_resolution'"),
        ("clinical_workflow", {"already_examined": True}, "belongs to 'consultation', 'dispute_resolution'"),
        ("reconstruction", {"retrieval": False}, "'retrieval' is not a setting of the graph 'reconstruction'"),
        ("clinical_workflow", {"patient": "medpmc", "pictures_in_dialogue": "report"}, "reveals the reference report"),
    ],
)  # fmt: skip
def test_a_setting_that_a_graph_would_ignore_or_that_tells_its_key_is_refused_in_a_sentence(
    graph: str, context: dict[str, Any], says: str
) -> None:
    with pytest.raises(ValidationError, match=says):
        GRAPHS[graph].invoke({"case": CASE}, context=context)


@pytest.mark.parametrize(
    ("graph", "settings", "key", "meant"),
    [
        ("consultation", {"patient": "clinichat"}, "consultation.doctor", "clinichat.doctor"),
        ("consultation", {}, "feedback", ""),
        ("consultation", {"patient": "saps"}, "actor", ""),
        ("clinical_workflow", {}, "expert", ""),
        ("clinical_workflow", {}, "diagnosis.intern", "diagnosis"),
        ("one_step", {}, "patient", ""),
        ("clinical_workflow", {}, "general4", "general"),
        ("clinical_workflow", {"general_agents": 1}, "diagnosis.general2", "diagnosis.general"),
        ("clinical_workflow", {}, "recruiter", ""),
        ("dispute_resolution", {"interns": 2}, "intern3", "intern"),
    ],
)
def test_a_model_for_a_role_that_is_never_asked_is_refused(
    graph: str, settings: dict[str, Any], key: str, meant: str
) -> None:
    with pytest.raises(ValidationError, match=f"models.{key} is never asked in the graph '{graph}'.*{meant}"):
        CONTEXTS[graph].model_validate({**settings, "models": {key: "offline"}})


@pytest.mark.parametrize(
    ("graph", "settings", "keys"),
    [
        ("consultation", {"patient": "clinichat"}, ["clinichat.doctor", "patient", "doctor"]),
        ("consultation", {"patient": "medpmc"}, ["actor", "technician", "response_generator"]),
        ("clinical_workflow", {"strategy": "mdagents"}, ["expert2", "referral.level1.expert", "leader"]),
        ("clinical_workflow", {"strategy": "dispute_resolution"}, ["intern2", "treatment.director", "feedback"]),
        ("clinical_workflow", {}, ["referral.general", "referral.level1.general", "evaluation.claim_judge"]),
        ("dispute_resolution", {}, ["intern", "intern3", "director", "examiner"]),
    ],
)  # fmt: skip
def test_a_model_for_a_role_that_can_be_asked_or_that_judges_is_taken(
    graph: str, settings: dict[str, Any], keys: list[str]
) -> None:
    CONTEXTS[graph].model_validate({**settings, "models": dict.fromkeys(keys, "offline")})


def courses() -> list[Any]:
    found: list[Any] = [("one_step", {}), ("dispute_resolution", {}), ("clinical_workflow", {"max_backtracks": 1})]
    found += [("consultation", {"patient": patient, "max_turns": 12}) for patient in PATIENTS]
    found += [("consultation", {"doctor_mode": "one_shot_cot"}), ("clinical_workflow", {"orders": "dialogue"})]
    found += [("clinical_workflow", {"strategy": strategy}) for strategy in STRATEGIES]
    found += [("reconstruction", {"reconstruction": way}) for way in ("clini_recon", "direct", "interactive")]
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("graph", "settings"), courses(), ids=str)
def test_every_role_that_is_asked_in_a_run_was_known_before_it(graph: str, settings: dict[str, Any]) -> None:
    context = CONTEXTS[graph].model_validate({"case_source": "builtin", **settings})
    assert context.asks is not None
    known = set(context.asks(context.whole))
    for call in (
        graph_by(graph, settings.get("strategy", "group")).invoke({"case": CASE}, context=context)["trace"].calls
    ):
        assert {call.role, f"{call.stage}.{call.role}"} <= known, call.id


@pytest.mark.parametrize("key", ["max_turns", "max_turn"])
def test_settings_in_configurable_are_refused_and_not_passed_over(key: str) -> None:
    with pytest.raises(ValueError, match=rf"\['{key}'\] would be ignored; pass it as context=\{{'max_turns'"):
        consultation.invoke({"case": CASE}, config={"configurable": {key: 3}})


def test_what_a_server_puts_into_configurable_beside_the_context_is_no_fault() -> None:
    config: Any = {"configurable": {"max_turns": 2, "thread_id": "one", "user_id": "somebody"}}
    result = consultation.invoke({"case": CASE}, config=config, context={"max_turns": 2, "retrieval": False})
    assert sum(turn.speaker == "doctor" for turn in result["dialogue"]) == 2


def test_a_default_that_a_form_shows_is_no_fault_in_configurable() -> None:
    shown: Any = {"actor": True, "max_turns": 2}
    consultation.invoke({"case": CASE}, config={"configurable": shown}, context={"max_turns": 2, "retrieval": False})


def test_without_a_context_every_setting_has_its_default() -> None:
    assert {name: getattr(CONTEXTS["consultation"]().whole, name) for name in ("patient", "max_turns")} == {
        "patient": Context().patient,
        "max_turns": Context().max_turns,
    }


@pytest.mark.parametrize(
    ("graph", "settings", "needed"),
    [
        ("consultation", {"patient": "clinichat", "greeting": "fixed", "max_turns": 1}, "max_turns of at least 2"),
        ("reconstruction", {"reply_context": "words"}, "reconstruction = 'interactive'"),
        ("reconstruction", {"reply_context": "words", "reconstruction": "direct"}, "reconstruction = 'interactive'"),
    ],
)
def test_a_setting_without_effect_under_the_others_is_refused(
    graph: str, settings: dict[str, Any], needed: str
) -> None:
    with pytest.raises(ValidationError, match=needed):
        CONTEXTS[graph].model_validate(settings)
