"""Experiment files, what they extend and sweep over, and the command line's options laid over them."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from graphs.contexts import CONTEXTS
from llm import role
from llm.specs import model_of
from scoring.clini_eval.demonstration import senior_physician
from scoring.clini_eval.instructor import comparing, scoring, summing_up
from scoring.suite import SUITES
from wardround import plugins
from wardround.config.command_line import parse_models, parse_settings
from wardround.config.experiment import ConfigurationError, Experiment
from wardround.config.experiment_file import Sweep, check_experiment, read_experiment, read_sweep
from wardround.config.sweeping import experiment_schema
from wardround.library import find_file, library_files

EVERY_SECTION = """
name = "ablation-1"
epochs = 2
seed = 7

[data]
cases = "builtin"
split = "train"
limit = 3

[models]
default = "openai:gpt-4o-mini@http://localhost:1/v1"
patient = "offline"
"diagnosis.feedback" = "offline"

[workflow]
feedback = "off"
general_agents = 1

[workflow.prices]
"openai:gpt-4o-mini@http://localhost:1/v1" = [0.15, 0.6]

[run]
concurrency = 2
"""


def read(file: Path, text: str, *options: str, models: tuple[str, ...] = ()) -> Experiment:
    file.write_text(text, "utf-8")
    return read_experiment(file, parse_settings(options), parse_models(models))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "experiment.toml"


def test_a_file_as_a_windows_editor_saves_it_is_read(file: Path) -> None:
    plain = read(file, EVERY_SECTION)
    file.write_text(EVERY_SECTION, "utf-8-sig", newline="\r\n")
    assert read_experiment(file, {}) == plain


def test_without_a_file_the_built_in_cases_are_run_offline() -> None:
    experiment = read_experiment(None, {})
    assert experiment.data.cases == "builtin" and experiment.models == {"default": "offline"}


def test_every_section_of_a_file_is_read(file: Path) -> None:
    experiment = read(file, EVERY_SECTION)
    assert (experiment.name, experiment.epochs, experiment.run.concurrency) == ("ablation-1", 2, 2)
    assert (experiment.data.split, experiment.data.limit) == ("train", 3)
    context = experiment.context
    assert (context.feedback, context.general_agents, context.seed) == ("off", 1, 7)
    assert context.models["diagnosis.feedback"] == "offline"
    assert context.prices["openai:gpt-4o-mini@http://localhost:1/v1"] == (0.15, 0.6)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (
            "colour = 1",
            "colour: unknown key; expected one of alternative_plans, data, epochs, extends, fixed, graph, grid, ",
        ),
        ("[context]\nretrieval = true", "context: unknown key; settings of the graph belong in [workflow]"),
        ("retrieval = true", "retrieval: unknown key; it belongs in [workflow]"),
        ("[data]\nconcurrency = 3", "data.concurrency: unknown key; it belongs in [run]"),
        ("[data]\nlimits = 3", "data.limits: unknown key; did you mean 'limit'?"),
        (
            "[run]\nthreads = 3",
            "run.threads: unknown key; expected one of address, cache, checkpoints, concurrency, engine, ",
        ),
        (
            "[workflow]\nfeed_back = 3",
            "workflow.feed_back: not a setting of the graph 'clinical_workflow': did you mean 'feedback'?",
        ),
        (
            "[workflow]\ninferred_key = true",
            "workflow.inferred_key: not a setting of the graph 'clinical_workflow': did you mean 'inferred_keys', "
            "which",
        ),
        (
            "[workflow]\nsplitt = 'test'",
            "workflow.splitt: not a setting of the graph 'clinical_workflow': did you mean 'split', of [data]?",
        ),
        (
            "[workflow]\nlimit = 2",
            "workflow.limit: not a setting of the graph 'clinical_workflow': it belongs in [data]",
        ),
        ("[data]\nfeed_back = 'off'", "data.feed_back: unknown key; did you mean 'feedback', of [workflow]?"),
        ("[data]\nlimit = 0", "data.limit: Input should be greater than or equal to 1"),
        ("[workflow]\nfeedback = 'upstream'", "workflow.feedback: Input should be 'downstream'"),
        ("[workflow]\norders = 'dialogue'\ninteractive = false", "workflow: orders = 'dialogue' needs"),
        ("[workflow]\nplain_words = 'perhaps'", "workflow.plain_words: expected true or false"),
        ("graph = 'reconstruction'\n[workflow]\nentailment = 3", "workflow.entailment: expected true or false"),
        ("epochs = 'many'", "epochs: Input should be a valid integer"),
        ("[workflow]\ntemperature = 'none'", "workflow.temperature: Input should be a valid number or 'default'"),
        ("[workflow]\nspecialties = 3", "workflow.specialties: Input should be 'by_case', 'recruited' or 'plain' or a"),
        (
            "[model.m]\nspec = 'openai:m'\ntemperature = 3",
            "model.m.temperature: Input should be less than or equal to 2",
        ),
        (
            "graph = 'reconstructio'",
            "graph: Input should be 'clinical_workflow', 'consultation', 'one_step', 'dispute_resolution' or "
            "'reconstruction'; did you mean 'reconstruction'?",
        ),
        ("graph = 'mdagents'", "graph: Input should be 'clinical_workflow'"),
        (
            "published_reference = true",
            "published_reference needs suite 'mvme'; this run has suite 'medchain'",
        ),
        ("suite = 'aie'", "suite 'aie' cannot score graph 'clinical_workflow'; expected one of medchain"),
        ("graph = 'consultation'\nsuite = 'aie'", "suite 'aie' counts tracked actions; it needs workflow.patient"),
        (
            "graph = 'consultation'\nsuite = 'aie'\n[workflow]\npatient = 'saps'\ntracker = false",
            "suite 'aie' counts tracked actions",
        ),
        (
            "graph = 'one_step'\n[workflow]\ngrow = 'in_order'",
            "workflow.grow: not a setting of the graph 'one_step': it belongs to 'clinical_workflow'",
        ),
        ("[data]\nnotes = 'n'", "data.notes: graph 'clinical_workflow' runs cases, not notes; set data.cases"),
        ("[limits.roles.docter]\ncalls = 3", "limits.roles: unknown role docter; expected one of "),
        ("[limits.roles.diagnosis_judge]\ncalls = 3", "limits.roles: diagnosis_judge: judges do not count"),
        (
            "[limits.roles.intern2]\ncalls = 3",
            "limits.roles: intern2: each seat has the limits of its role; use",
        ),
        ("[limits.case]\ncalls = -1", "limits.case.calls: Input should be greater than"),
        ("[limits.case]\nturns = 3", "limits.case.turns: unknown key; expected one of calls, cost, seconds, tokens"),
        ("[judges]\npatient = 'offline'", "judges: patient: not a judging role; set its model in [models]"),
        ("name = '../elsewhere'", "name: String should match"),
        ("[models]\npatiant = 'offline'", "models: unknown role 'patiant'; did you mean 'patient'"),
        ("[models]\npatient = 'opnai:gpt'", "models.patient: 'opnai:gpt': unknown provider 'opnai'"),
        ("[models]\npatient = 'gpt'", "models.patient: 'gpt' is not a model"),
        ("[models]\npatient = 3", "models.patient: Input should be a valid string"),
        ("models = 'offline'", "models: Input should be a valid dictionary"),
        ("[data\n", "invalid TOML: "),
        ("name = “对照”", 'invalid TOML: Invalid value (at line 1, column 8); write " instead of “'),
        ("[run]\nconcurrency = ８", "invalid TOML: Invalid value (at line 2, column 15); write 8 instead of ８"),
        (
            "[data]\ncases = ['a.jsonl'，'b.jsonl']",
            "invalid TOML: Unclosed array (at line 2, column 19); write , instead of ，",
        ),
    ],
)
def test_a_fault_in_a_file_is_refused_by_file_and_key(file: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(file, text)
    assert str(refused.value).startswith(f"{file}: {named}")


@pytest.mark.parametrize("text", ["", '{"id": "one"}'])
def test_a_file_of_cases_in_place_of_an_experiment_is_told_where_it_belongs(text: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"mine\.jsonl: is no experiment file \(\.toml\); .* --cases .*mine"):
        read(tmp_path / "mine.jsonl", text)


@pytest.mark.parametrize("graph", get_args(Experiment.model_fields["graph"].annotation))
def test_only_settings_that_the_graph_obeys_are_suggested(graph: str, file: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(file, f"graph = '{graph}'\n[workflow]\nqqqq = 1")
    suggested = re.split("expected one of (?:.*such as )?", str(refused.value))[-1].split(", ")
    assert suggested and set(suggested) <= set(CONTEXTS[graph].model_fields)


@pytest.mark.parametrize(
    ("sections", "named"),
    [
        ({"workflw": {}}, "workflw: unknown key; did you mean 'workflow'?"),
        ({"data": {"splt": {}}}, "data.splt: unknown key; did you mean 'split'?"),
        ({"grid": {"seed": [1, 2]}}, "grid: unknown key; it belongs in a file, for `wardround run FILE`"),
        ({"model": {"big": {}}}, "model.big.spec: Field required"),
    ],
)
def test_a_misspelt_section_is_refused_from_python_even_if_it_is_empty(sections: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(named)):
        check_experiment(sections)


def test_an_empty_section_sets_nothing() -> None:
    empty = {"workflow": {}, "models": {}, "limits": {"case": {}}, "data": {}}
    assert check_experiment(empty) == check_experiment({})


def test_every_fault_of_a_file_is_listed(file: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(file, "epochs = 0\ncolour = 1\n[data]\nlimit = -1")
    assert len(str(refused.value).splitlines()) == 3


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.toml: file not found"):
        read_experiment(tmp_path / "absent.toml", {})


def test_a_fault_of_the_command_line_does_not_blame_the_file(file: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^command line: workflow\.feedback"):
        read(file, EVERY_SECTION, "feedback=upstream")
    with pytest.raises(ConfigurationError, match=r"^command line: models: unknown role 'patiant'"):
        read(file, EVERY_SECTION, models=("patiant=offline",))


@pytest.mark.parametrize("key", ["cache", "max_connections"])
def test_what_is_set_for_the_run_is_told_as_the_command_line_takes_it(key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"--set run.{key}="):
        read_experiment(None, {f"workflow.{key}": 1})


@pytest.mark.parametrize("key", ["run", "position", "trace_file", "models", "seed", "case_source"])
def test_a_setting_that_the_workflow_would_ignore_is_refused(key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"'{key}' cannot be set in"):
        read_experiment(None, {f"workflow.{key}": 1})


@pytest.mark.parametrize(
    ("setting", "key", "value"),
    [
        ("feedback=off", "workflow.feedback", "off"),
        ("retrieval=false", "workflow.retrieval", False),
        ("max_turns=3", "workflow.max_turns", 3),
        ("temperature=0.5", "workflow.temperature", 0.5),
        ('memory="a=b"', "workflow.memory", "a=b"),
        ("memory=./store=1", "workflow.memory", "./store=1"),
        ("seed=3", "seed", 3),
        ("inferred_keys=true", "inferred_keys", True),
        ("epochs=2", "epochs", 2),
        ("name=mine", "name", "mine"),
        ("data.split=train", "data.split", "train"),
        ('data.case_ids=["a", "b"]', "data.case_ids", ["a", "b"]),
        ("run.concurrency=2", "run.concurrency", 2),
        ("models.patient=offline", "models.patient", "offline"),
        ("workflow.sub_departments={Surgery = ['Urology']}", "workflow.sub_departments", {"Surgery": ["Urology"]}),
    ],
)
def test_a_bare_setting_is_the_workflows_and_values_are_toml_or_plain_text(setting: str, key: str, value: Any) -> None:
    assert parse_settings([setting]) == {key: value}


@pytest.mark.parametrize("setting", ["feedback", "=off", ""])
def test_a_setting_without_key_and_value_is_refused(setting: str) -> None:
    with pytest.raises(ConfigurationError, match="expected KEY=VALUE"):
        parse_settings([setting])


def test_settings_are_laid_over_the_file(file: Path) -> None:
    experiment = read(file, EVERY_SECTION, "feedback=same_stage", "data.limit=5", "seed=1")
    assert experiment.context.feedback == "same_stage" and experiment.context.general_agents == 1
    assert (experiment.data.limit, experiment.data.split, experiment.seed) == (5, "train", 1)


@pytest.mark.parametrize("text", ["data = 3", "models = 'offline'", "run = [1]"])
def test_a_value_where_a_section_belongs_is_one_clear_error(file: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match="expected a section"):
        read(file, text, "data.limit=3", "models.patient=offline", "run.concurrency=2")


def test_a_setting_inside_of_a_value_is_one_clear_error() -> None:
    with pytest.raises(ConfigurationError, match="epochs"):
        read_experiment(None, parse_settings(["epochs=1", "epochs.more=2"]))


@pytest.mark.parametrize(
    ("entry", "parsed"),
    [
        ("patient=offline", {"patient": "offline"}),
        ("offline", {"default": "offline"}),
        ("diagnosis.feedback=openai:a@http://b/v1", {"diagnosis.feedback": "openai:a@http://b/v1"}),
        ("patient=openai:a@http://b/v1?x=y", {"patient": "openai:a@http://b/v1?x=y"}),
    ],
)
def test_a_model_is_given_by_role_or_for_all(entry: str, parsed: dict[str, str]) -> None:
    assert parse_models([entry]) == parsed


@pytest.mark.parametrize("entry", ["=offline", "patient=", "="])
def test_a_model_without_role_or_spec_is_refused(entry: str) -> None:
    with pytest.raises(ConfigurationError, match="expected ROLE=SPEC"):
        parse_models([entry])


@pytest.mark.parametrize("role", ["patient", "diagnosis.feedback", "referral.level1.general", "claim_judge"])
def test_every_role_of_the_cast_can_be_given_a_model(role: str) -> None:
    assert read_experiment(None, {}, {role: "offline"}).models[role] == "offline"


def test_models_of_the_command_line_are_laid_over_the_files(file: Path) -> None:
    models = read(file, EVERY_SECTION, models=("patient=openai:other", "diagnosis.feedback=openai:third")).models
    assert models["default"] == "openai:gpt-4o-mini@http://localhost:1/v1"
    assert (models["patient"], models["diagnosis.feedback"]) == ("openai:other", "openai:third")


def test_a_role_at_a_stage_may_be_spelt_in_any_way_that_toml_has_for_it(file: Path) -> None:
    spellings = ['"diagnosis.feedback" = "offline"', 'diagnosis.feedback = "offline"']
    read_ones = [read(file, f"[models]\n{spelling}") for spelling in spellings]
    read_ones.append(read(file, '[models.diagnosis]\nfeedback = "offline"'))
    read_ones.append(read_experiment(None, parse_settings(["models.diagnosis.feedback=offline"])))
    assert all(one.models["diagnosis.feedback"] == "offline" for one in read_ones)


def test_a_person_is_no_model_of_a_run_of_many_cases(file: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot wait for a person"):
        read(file, "[models]\npatient = 'human'")


def test_how_a_run_is_run_is_no_part_of_its_identity_and_all_else_is() -> None:
    base = read_experiment(None, {})
    for key in ("run.concurrency", "workflow.timeout", "workflow.max_attempts"):
        assert read_experiment(None, {key: 9}).identity == base.identity
    for key, value in {"data.limit": 1, "seed": 1, "epochs": 2, "workflow.feedback": "off", "name": "b"}.items():
        assert read_experiment(None, {key: value}).identity != base.identity


def sweep(file: Path, text: str, *options: str) -> Sweep:
    file.write_text(text, "utf-8")
    return read_sweep(file, parse_settings(options))


def test_a_judge_of_default_is_every_judge_and_nobody_else(file: Path) -> None:
    models = read(file, "[judges]\ndefault = 'openai:m'\ndiagnosis_judge = 'offline'").context.models
    assert models["claim_judge"] == models["mvme_director"] == "openai:m" and models["diagnosis_judge"] == "offline"
    assert models["default"] == "offline" and "patient" not in models


def test_a_judge_that_is_named_among_the_models_goes_before_the_model_of_all_judges(file: Path) -> None:
    named = "[models]\ndiagnosis_judge = 'openai:k'\n[judges]\ndefault = 'openai:m'"
    models = read(file, named).context.models
    assert models["diagnosis_judge"] == "openai:k" and models["claim_judge"] == "openai:m"
    models = read(file, f"{named}\ndiagnosis_judge = 'offline'").context.models
    assert models["diagnosis_judge"] == "offline", "the section of judges goes before"


def test_who_judges_interviews_is_no_doctors_model(file: Path) -> None:
    cast = "graph = 'reconstruction'\nmodels.default = 'openai:d'\njudges.default = 'openai:j'"
    models = read(file, cast).context.models
    asked = (senior_physician, comparing, scoring, summing_up)
    assert {model_of(role.name, role.stage, models) for role in asked} == {"openai:j"}
    named = read(file, f"{cast}\njudges.clinical_instructor = 'openai:k'").context.models
    assert (named["senior_physician"], named["clinical_instructor"]) == ("openai:j", "openai:k")


def test_a_judge_whom_the_suite_asks_nothing_needs_no_key(file: Path) -> None:
    unjudged = "graph = 'consultation'\nsuite = 'aie'\nworkflow.patient = 'saps'\n[judges]\ndefault = 'openai:m'"
    assert set(read(file, unjudged).context.models.values()) == {"offline"}


def test_a_grid_is_a_named_run_for_every_combination(file: Path) -> None:
    found = sweep(
        file, """name = 'x'\n[grid]\n"workflow.feedback" = ["off", "same_stage"]\nworkflow.neighbours = [1, 2]"""
    )
    assert list(found.runs) == [
        f"feedback={feedback},neighbours={number}" for feedback in ("off", "same_stage") for number in (1, 2)
    ]
    last = found.runs["feedback=same_stage,neighbours=2"]
    assert (last.context.feedback, last.context.neighbours, last.name) == (
        "same_stage",
        2,
        "feedback=same_stage,neighbours=2",
    )
    assert found.name == "x" and not found.single


def test_models_of_a_grid_name_their_runs_without_an_address_that_tells_nothing_apart(file: Path) -> None:
    specs = ["openai:gemma2:9b@http://a.example.org:8000/v1", "openai:qwen3@http://b.example.org:8000/v1"]
    found = sweep(file, f'[grid]\n"models.default" = {specs}').runs
    assert list(found) == ["default=openai-gemma2-9b", "default=openai-qwen3"]
    assert [one.models["default"] for one in found.values()] == specs
    alike = [spec.replace("gemma2:9b", "qwen3") for spec in specs]
    assert "a.example.org" in next(iter(sweep(file, f'[grid]\n"models.default" = {alike}').runs))


@pytest.mark.parametrize(
    ("seeds", "epochs", "shared"), [([1, 2], 1, []), ([1, 2], 2, [2]), ([3, 1], 3, [3]), ([1, 4, 7], 3, [])]
)
def test_seeds_that_epochs_of_several_runs_share_are_known(
    file: Path, seeds: list[int], epochs: int, shared: list[int]
) -> None:
    text = f'epochs = {epochs}\n[grid]\nseed = {seeds}\n"workflow.feedback" = ["off", "same_stage"]'
    assert sweep(file, text).shared_seeds == shared


def test_variants_are_named_runs_and_the_grid_runs_over_each(file: Path) -> None:
    text = """
[variants.full]
[variants.bare]
"workflow.feedback" = "off"
[variants.bare.workflow]
retrieval = false
[grid]
"models.doctor" = ["offline", "openai:a/b"]
"""
    found = sweep(file, text)
    assert list(found.runs) == [
        f"{variant},doctor={doctor}" for variant in ("full", "bare") for doctor in ("offline", "openai-a-b")
    ]
    bare = found.runs["bare,doctor=openai-a-b"]
    assert (bare.context.feedback, bare.context.retrieval, bare.models["doctor"]) == ("off", False, "openai:a/b")
    assert found.runs["full,doctor=offline"].context.retrieval


def test_runs_of_a_sweep_differ_in_identity(file: Path) -> None:
    found = sweep(file, '[grid]\nseed = [1, 2]\n"models.diagnosis.feedback" = ["offline", "openai:m"]')
    identities = [str(one.identity) for one in found.runs.values()]
    assert len(set(identities)) == 4
    assert {one.models.get("diagnosis.feedback") for one in found.runs.values()} == {"offline", "openai:m"}


def test_options_are_laid_over_every_run_and_never_over_the_grid(file: Path) -> None:
    text = "[grid]\nworkflow.neighbours = [1, 2]"
    assert all(one.context.feedback == "off" for one in sweep(file, text, "feedback=off").runs.values())
    with pytest.raises(ConfigurationError, match=r"command line: workflow\.neighbours: .* varies this setting"):
        sweep(file, text, "neighbours=3")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("grid = 3", "grid: Input should be a valid dictionary"),
        ("[grid]\nseed = 3", "grid.seed: expected a list of values, not 3"),
        ("[grid]\nseed = []", "grid.seed: expected a list of values"),
        ("seed = 3\n[grid]\nseed = [1, 2]", "seed: without effect, as grid.seed sets it for every run"),
        ("[variants.a]\nseed = 3\n[grid]\nseed = [1, 2]", "variants.a.seed: without effect, as grid.seed sets it"),
        ("[grid]\nworkflow.feedback = ['off', 'on']", "grid: workflow.feedback: Input should be"),
        ("[grid]\ncolour = ['off']", "grid: colour: unknown key"),
        ("[grid]\nname = ['a/b', 'a-b']", "two runs would be named"),
        ("[variants.a]\nseed = 1\n[variants.b]\nseed = 1", "a and b are the same run; remove one of the two"),
        ("variants = ['a']", "variants: Input should be a valid dictionary"),
        ("[variants.'a/b']\nseed = 1", "variants: 'a/b' cannot be used as a directory name"),
        ("[variants.a]\nworkflow.neighbours = 0", "variants.a: workflow.neighbours: Input should be greater"),
        ("tables = 'one'", "tables: Input should be a valid list"),
        ("extends = 3", "extends: Input should be a valid string"),
        ("extends = 'absent.toml'", ""),
    ],
)
def test_a_fault_in_what_is_swept_over_is_refused_by_file_and_key(file: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        sweep(file, text)
    assert named in str(refused.value) and str(file.parent) in str(refused.value)


def test_a_file_extends_another_and_its_own_settings_win(tmp_path: Path, file: Path) -> None:
    (tmp_path / "base.toml").write_text(
        "epochs = 3\n[workflow]\nfeedback = 'off'\nneighbours = 2\n"
        "[models]\ndefault = 'openai:m'\npatient = 'openai:p'\n"
        '[workflow.prices]\n"openai:m-1.5" = [1, 2]',
        "utf-8",
    )
    found = read(file, "extends = 'base.toml'\n[workflow]\nneighbours = 5\n[models]\npatient = 'offline'")
    assert (found.epochs, found.context.feedback, found.context.neighbours) == (3, "off", 5)
    assert found.models == {"default": "openai:m", "patient": "offline"}
    assert found.context.prices == {"openai:m-1.5": (1, 2)}


def test_a_setting_gives_way_to_a_grid_only_where_another_file_set_it(tmp_path: Path, file: Path) -> None:
    (tmp_path / "base.toml").write_text("seed = 3", "utf-8")
    assert [one.seed for one in sweep(file, "extends = 'base.toml'\n[grid]\nseed = [1, 2]").runs.values()] == [1, 2]
    (tmp_path / "base.toml").write_text("[grid]\nseed = [1, 2]", "utf-8")
    with pytest.raises(ConfigurationError, match="seed: without effect, as grid"):
        sweep(file, "extends = 'base.toml'\nseed = 3")


def test_a_fault_of_an_extended_file_is_told_by_that_file(tmp_path: Path, file: Path) -> None:
    (tmp_path / "base.toml").write_text("[workflow]\nneighbours = 0", "utf-8")
    with pytest.raises(ConfigurationError) as refused:
        read(file, "extends = 'base.toml'")
    assert str(refused.value).startswith(f"{tmp_path / 'base.toml'}: workflow.neighbours")


def test_files_that_extend_each_other_are_refused(tmp_path: Path, file: Path) -> None:
    (tmp_path / "base.toml").write_text(f"extends = '{file.name}'", "utf-8")
    with pytest.raises(ConfigurationError, match="circle"):
        read(file, "extends = 'base.toml'")


def test_an_empty_variant_is_a_run_also_in_a_file_that_extends_another(tmp_path: Path, file: Path) -> None:
    (tmp_path / "base.toml").write_text("[workflow]\nfeedback = 'off'", "utf-8")
    found = sweep(
        file, "extends = 'base.toml'\n[workflow]\n[variants.full]\n[variants.bare.workflow]\nretrieval = false"
    )
    assert list(found.runs) == ["full", "bare"] and found.runs["full"].context.feedback == "off"


@pytest.mark.parametrize(
    ("extends", "why"),
    [
        ("absent.toml", "absent.toml: file not found, and no built-in experiment has this name"),
        ("base.toml", "base.toml: invalid TOML"),
        ("/dev/zero", "/dev/zero: cannot be read (is a device; give a file)"),
    ],
)
def test_a_file_that_cannot_be_extended_is_named_with_the_file_that_extends_it(
    tmp_path: Path, file: Path, extends: str, why: str
) -> None:
    (tmp_path / "base.toml").write_text("= 3", "utf-8")
    with pytest.raises(ConfigurationError) as refused:
        read(file, f"extends = '{extends}'")
    assert str(refused.value).startswith(f"{file}: extends: ") and why in str(refused.value)


@pytest.mark.parametrize("given", ["studi.toml", "study"])
def test_a_misspelt_file_suggests_the_one_that_lies_there(tmp_path: Path, given: str) -> None:
    (tmp_path / "study.toml").write_text("seed = 1", "utf-8")
    with pytest.raises(ConfigurationError) as refused:
        read_experiment(tmp_path / given, {})
    assert str(refused.value).endswith(f"did you mean {tmp_path / 'study.toml'}?")


def test_a_file_extends_one_that_comes_along_by_its_name(file: Path) -> None:
    assert len(sweep(file, "extends = 'medchain_table_3'\nepochs = 2").runs) == 4


@pytest.mark.parametrize(
    ("text", "models", "said"),
    [
        ('extends = "\\u0000"', {}, "no path may contain"),
        ("model = 1\nvariants.a.models.default = 'offline'", {"default": "offline"}, "varies this setting; remove it"),
    ],
)
def test_odd_values_are_refused_like_others(file: Path, text: str, models: dict[str, str], said: str) -> None:
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigurationError, match=said):
        read_sweep(file, {}, models)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("data.cases = 'gone.jsonl'", "data.cases: gone.jsonl"),
        ("graph = 'reconstruction'\ndata.notes = ['mts.csv', 'gone.csv']", "data.notes: gone.csv"),
        ("data.terms = 'gone.xls'", "data.terms: gone.xls"),
        ("[grid]\ndata.cases = ['builtin', 'gone.jsonl']", "grid: data.cases: gone.jsonl"),
    ],
)
def test_a_missing_file_of_data_is_told_with_the_file_and_the_key_that_name_it(
    tmp_path: Path, file: Path, text: str, named: str
) -> None:
    (tmp_path / "mts.csv").touch()
    with pytest.raises(ConfigurationError) as refused:
        sweep(file, text.replace("mts.csv", str(tmp_path / "mts.csv")))
    assert str(refused.value) == f"{file}: {named}: file not found"


@pytest.mark.parametrize("path", ["a\0b", "x" * 300, "/".join(["y" * 100] * 60)], ids=["NUL", "name", "path"])
@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("extends", "extends = {}"),
        ("data.cases", "data.cases = {}"),
        ("data.notes", "graph = 'reconstruction'\ndata.notes = {}"),
        ("data.notes", "graph = 'reconstruction'\ndata.notes = [{}]"),
        ("data.terms", "data.terms = {}"),
        ("plugins", "plugins = [{}]"),
        ("prompts", "prompts = {}"),
        ("run.cache", "run.cache = {}"),
        ("workflow.memory", "workflow.memory = {}"),
        ("workflow.embedding", "workflow.embedding = {}"),
        ("workflow.example", "graph = 'consultation'\nworkflow.doctor_mode = 'one_shot_cot'\nworkflow.example = {}"),
        ("models.default", "models.default = {hf}"),
        ("model.m", "models.default = 'm'\nmodel.m.spec = {hf}"),
        ("model.m.batch", "models.default = 'm'\nmodel.m.spec = 'openai:gpt-4o'\nmodel.m.batch = {}"),
    ],
)
def test_a_path_that_no_file_can_have_is_refused_by_its_key(file: Path, key: str, text: str, path: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        sweep(file, text.format(json.dumps(path), hf=json.dumps(f"hf:{path}")))
    (line,) = str(refused.value).splitlines()
    assert line.startswith(f"{file}: {key}: ")
    assert re.search("no path|too long|null byte|not found|no such file", line)


@pytest.mark.parametrize("key", ["data.cases", "data.notes", "data.terms", "run.cache", "workflow.memory"])
def test_an_empty_path_is_refused_by_its_key(file: Path, key: str) -> None:
    with pytest.raises(ConfigurationError, match=f": {key}: is empty; expected a path$"):
        sweep(file, "graph = 'reconstruction'\n" * (key == "data.notes") + f"{key} = ''")


def test_the_command_line_sets_nothing_that_variants_or_the_grid_sweep_over(file: Path) -> None:
    file.write_text(
        "[grid]\n'models.doctor' = ['offline', 'openai:m']\n[variants.a]\n'workflow.feedback' = 'off'", "utf-8"
    )
    with pytest.raises(ConfigurationError, match=r"models\.doctor: .* varies this setting"):
        read_sweep(file, {}, {"doctor": "offline"})
    with pytest.raises(ConfigurationError, match=r"workflow\.feedback: .* varies this setting"):
        read_sweep(file, {"workflow.feedback": "same_stage"})
    with pytest.raises(
        ConfigurationError, match=r"models\.default: .* varies this setting; .* --set model\.baichuan\.spec="
    ):
        read_sweep(find_file(Path("aie_figure_4")), {}, {"default": "offline"})


def test_what_stands_in_a_file_alone_is_refused_of_the_command_line_with_the_other_way(file: Path) -> None:
    file.write_text("[fixed]\npatient = 'offline'", "utf-8")
    with pytest.raises(
        ConfigurationError, match=r"command line: fixed\.judges: can only be set in an experiment file; --models ROLE"
    ):
        read_sweep(file, {"fixed.judges": "offline"})


@pytest.mark.parametrize("text", ["name = '../x'\n[grid]\nseed = [1, 2]", "[variants.'..']", "[variants.tables]"])
def test_a_name_that_is_no_directory_of_its_own_is_refused(file: Path, text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be used as a directory name|is a reserved name"):
        sweep(file, text)


def test_a_name_of_the_command_line_names_the_directory(file: Path) -> None:
    assert sweep(file, "seed = 1", "name=mine").name == "mine"


def test_a_mistyped_name_of_the_library_is_told_its_like() -> None:
    with pytest.raises(ConfigurationError, match="did you mean medchain_table_3"):
        read_sweep(Path("medchain_table_33"), {})


def test_a_name_like_none_of_the_library_is_told_where_they_are_listed() -> None:
    with pytest.raises(ConfigurationError, match=r"^nosuch: file not found, .*`wardround experiments list`"):
        read_sweep(Path("nosuch"), {})


BLOCKS = """
models = {default = "careful", patient = "quick"}
[model.careful]
spec = "openai:o3-mini"
temperature = "default"
reasoning_effort = "high"
extra_body = {metadata = {ward = "3"}}
[model.quick]
spec = "openai:gemma2:9b"
base_url = "http://localhost:11434/v1"
api_key_env = ""
context_length = 8192
"""


def test_a_block_is_a_model_that_roles_are_given_by_its_name(file: Path) -> None:
    experiment = read(file, BLOCKS, "model.quick.temperature=0.3", models=("feedback=quick",))
    context = experiment.context
    assert (context.models["patient"], context.models["feedback"]) == ("quick", "quick")
    assert context.block("quick").parsed.base_url == "http://localhost:11434/v1"
    assert context.block("quick").temperature == 0.3 and context.block("careful").temperature == "default"
    assert context.block("careful").extra_body == {"metadata": {"ward": "3"}}
    assert experiment.identity["model"]["careful"]["reasoning_effort"] == "high"


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("reasoning_effort =", "reasoning_efort =", "model.careful.reasoning_efort: unknown key; did you mean 'reas"),
        (
            'patient = "quick"',
            'patient = "quik"',
            "models.patient: there is no block [model.quik]; did you mean 'quick'?",
        ),
        (', patient = "quick"', "", "model.quick: not used in [models] or [judges]"),
        (
            "[model.quick]",
            '[model."org/quick 2"]',
            "model.org/quick 2.[key]: expected a name of letters, digits, '-' and '_'",
        ),
        ('temperature = "default"', "temperature = 3.0", "model.careful.temperature"),
        ('spec = "openai:o3-mini"', 'spec = "opnai:o3-mini"', "unknown provider 'opnai'; did you mean 'openai'?"),
        ('spec = "openai:o3-mini"', 'spec = "offline"', "'offline' takes no parameters"),
        ('spec = "openai:gemma2:9b"', 'spec = "openai:a@http://b/v1"', "base_url: the spec already names a server"),
        ('api_key_env = ""', 'api_key_env = "sk-1234"', "model.quick.api_key_env: expected the name of"),
        ('api_key_env = ""', 'api_key = "sk-1234"', "model.quick.api_key: unknown key; did you mean 'api_key_env'?"),
        (
            'api_key_env = ""',
            'headers = {X-Api-Key = "sk-1234"}',
            "secrets are read from the environment: write '$NAME'",
        ),
        (
            'api_key_env = ""',
            'headers = {X-Ward = "sk-12345678901234567890"}',
            "model.quick.headers: X-Ward: secrets are read from the environment",
        ),
        ("metadata = {", "api_key = {", "model.careful.extra_body: api_key: secrets are read from the environment"),
        ("[model.quick]", '[model."a b"]', "model.a b"),
    ],
)
def test_a_fault_of_a_block_is_refused_by_name_and_shows_no_key(file: Path, old: str, new: str, named: str) -> None:
    assert old in BLOCKS
    with pytest.raises(ConfigurationError) as refused:
        read(file, BLOCKS.replace(old, new))
    assert named in str(refused.value) and str(file) in str(refused.value)
    assert "sk-1234" not in str(refused.value)


def test_a_model_of_the_command_line_may_be_a_block_and_an_unknown_one_is_told_its_like(file: Path) -> None:
    assert read(file, BLOCKS, models=("default=quick",)).context.models["default"] == "quick"
    with pytest.raises(ConfigurationError, match=r"command line: models.patient: there is no block \[model.carefull\]"):
        read(file, BLOCKS, models=("patient=carefull",))


WARD = """\
from pydantic import BaseModel
import wardround as wr
from scoring.suite import SUITES, Suite

async def kind(case, answers, settings):
    return wr.CaseScores({"kind": 1.0})

wr.Role("kindness_judge", "evaluation", "judges/kindness", BaseModel, offline=lambda view: BaseModel())
SUITES.add("kindness", Suite("kindness", {"kind": "Kind"}, kind, needs=frozenset({"decisions"})))
"""


def test_the_command_line_gives_a_model_to_a_role_of_the_files_plug_in(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugins, "_loaded", {})
    monkeypatch.setattr(role, "_declared", dict(role._declared))
    monkeypatch.setattr(SUITES, "_entries", dict(SUITES))
    file.with_name("kind_ward.py").write_text(WARD, "utf-8")
    text = 'plugins = ["kind_ward"]\nsuite = "kindness"\n'
    assert read(file, text, models=("kindness_judge=offline",)).models["kindness_judge"] == "offline"
    assert read(file, f'{text}[fixed]\nkindness_judge = "offline"\n').suite == "kindness"
    with pytest.raises(ConfigurationError, match="command line: models: unknown role 'kindnes_judge'; did you mean"):
        read(file, text, models=("kindnes_judge=offline",))


def test_a_sweep_names_blocks_and_each_run_keeps_its_own(file: Path) -> None:
    swept = BLOCKS.replace(
        'patient = "quick"}', 'patient = "offline"}\ngrid = {"models.doctor" = ["careful", "quick"]}'
    )
    runs = sweep(file, swept).runs
    assert [set(run.model) for run in runs.values()] == [{"careful"}, {"careful", "quick"}]
    assert [run.models["doctor"] for run in runs.values()] == ["careful", "quick"]


def test_a_grid_sweeps_over_a_parameter_of_a_block(file: Path) -> None:
    runs = sweep(file, BLOCKS + '[grid]\n"model.quick.temperature" = [0, 0.7]').runs
    assert [run.model["quick"].temperature for run in runs.values()] == [0, 0.7]


def test_blocks_of_an_extended_file_need_not_all_be_used(tmp_path: Path, file: Path) -> None:
    (tmp_path / "catalogue.toml").write_text(BLOCKS.split("\n", 2)[2], "utf-8")
    experiment = read(file, 'extends = "catalogue.toml"\n[models]\ndefault = "quick"')
    assert set(experiment.model) == {"quick"}


def test_a_shared_model_of_a_role_goes_to_the_graphs_that_ask_it_and_is_refused_where_none_does(file: Path) -> None:
    shared = """
[models]
intern = "openai:one"
general = "openai:two"
[variants.dispute]
graph = "dispute_resolution"
[variants.workflow]
graph = "clinical_workflow"
"""
    runs = sweep(file, shared).runs
    assert {name: set(run.models) for name, run in runs.items()} == {"dispute": {"intern"}, "workflow": {"general"}}
    alone = shared.replace("[variants.workflow]", "[variants.consultation]").replace(
        "clinical_workflow", "consultation"
    )
    with pytest.raises(ConfigurationError, match=r"models\.general is never asked in the graph 'dispute_resolution'"):
        sweep(file, alone)


def test_a_sweep_is_no_single_experiment(file: Path) -> None:
    with pytest.raises(ConfigurationError, match="defines 2 runs"):
        read(file, "[grid]\nseed = [1, 2]")


_VALUES = st.sampled_from([0, 1, -1, 2.5, "", "off", "offline", True, None, [], [1], {}, {"a": 1}])
_SWEEPING = ["grid", "variants", "tables", "extends"]
_INNER = ["case", "roles", "cases", "feedback", "neighbours", "calls", "default", "patient", "a.b", "x"]
_KEYS = st.sampled_from([*Experiment.model_fields, *_SWEEPING, *_INNER])
_TREES = st.recursive(_VALUES, lambda inner: st.dictionaries(_KEYS, inner, max_size=4), max_leaves=12)


@pytest.mark.slow
@given(st.dictionaries(_KEYS, _TREES, max_size=6))
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_any_experiment_file_is_read_or_refused_in_words(tmp_path: Path, tree: dict[str, Any]) -> None:
    file = tmp_path / "random.toml"
    file.write_text(_toml(tree), "utf-8")
    try:
        found = read_sweep(file, {})
    except ConfigurationError as error:
        assert str(tmp_path) in str(error) or "command line" in str(error)
    else:
        assert all(one.context is not None and one.identity for one in found.runs.values())


def _toml(tree: Any) -> str:
    """A tree as inline TOML; what TOML has no word for is left out."""
    lines = [f"{json.dumps(key)} = {_inline(value)}" for key, value in tree.items() if value is not None]
    return "\n".join(lines)


def _inline(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(k)} = {_inline(v)}" for k, v in value.items() if v is not None) + "}"
    return json.dumps(value)


def test_the_schema_takes_what_is_read_and_refuses_an_unknown_key() -> None:
    schema = experiment_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    assert validator.is_valid(tomllib.loads(EVERY_SECTION))
    assert not validator.is_valid({"colour": 1}) and not validator.is_valid({"workflow": {"feed_back": "off"}})
    for file in library_files().values():
        assert list(validator.iter_errors(tomllib.loads(file.read_text("utf-8")))) == [], file.name


@pytest.mark.parametrize("name", sorted(library_files()))
def test_every_file_that_comes_along_can_be_read(name: str) -> None:
    found = read_sweep(find_file(Path(name)), {})
    assert found.runs and found.name


def test_judges_in_the_model_map_are_told_where_they_belong() -> None:
    with pytest.raises(ConfigurationError, match=r"^command line: judges are set by `--set judges\.default=SPEC`"):
        read_experiment(None, {}, {"default": "offline", "judges": "openai:gpt-4o"})


def test_a_run_directory_named_like_a_built_in_experiment_is_not_taken_for_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "aie_table_2").mkdir()
    assert find_file(Path("aie_table_2")) != Path("aie_table_2")
