"""Experiment files, the command line's options laid over them, and the cases they select."""

from pathlib import Path
from typing import Any

import pytest

from cases import CaseFileError, ExaminationRecord, load_cases, save_cases
from experiments.configuration import (
    ConfigurationError,
    Data,
    Experiment,
    own_sub_departments,
    parse_models,
    parse_settings,
    read_experiment,
    select_cases,
)

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


def read(file: Path, text: str, *settings: str, models: tuple[str, ...] = ()) -> Experiment:
    file.write_text(text, "utf-8")
    return read_experiment(file, parse_settings(settings), parse_models(models))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "experiment.toml"


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
        ("colour = 1", "colour: unknown key; known are data, epochs, graph, models, name, run, seed, workflow"),
        ("[data]\nlimits = 3", "data.limits: unknown key; known are case_ids, cases, limit, split"),
        ("[run]\nthreads = 3", "run.threads: unknown key; known are concurrency, engine"),
        ("[workflow]\nfeed_back = 3", "workflow.feed_back: unknown key; known are "),
        ("[data]\nlimit = 0", "data.limit: Input should be greater than or equal to 1"),
        ("[workflow]\nfeedback = 'upstream'", "workflow.feedback: Input should be 'downstream'"),
        ("[workflow]\norders = 'dialogue'\ninteractive = false", "workflow: orders = 'dialogue' needs"),
        ("epochs = 'many'", "epochs: Input should be a valid integer"),
        ("graph = 'mdagents'", "graph: Input should be 'clinical_workflow'"),
        ("name = '../elsewhere'", "name: String should match"),
        ("[models]\npatiant = 'offline'", "models: unknown role 'patiant'; did you mean 'patient'"),
        ("[models]\npatient = 'opnai:gpt'", "models.patient: 'opnai:gpt': unknown provider 'opnai'"),
        ("[models]\npatient = 'gpt'", "models.patient: 'gpt' is not a model"),
        ("[models]\npatient = 3", "models.patient: Input should be a valid string"),
        ("models = 'offline'", "models: Input should be a valid dictionary"),
        ("[data\n", "cannot be read as TOML"),
    ],
)
def test_a_fault_in_a_file_is_refused_by_file_and_key(file: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(file, text)
    assert str(refused.value).startswith(f"{file}: {named}")


def test_every_fault_of_a_file_is_listed(file: Path) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read(file, "epochs = 0\ncolour = 1\n[data]\nlimit = -1")
    assert len(str(refused.value).splitlines()) == 3


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"absent\.toml: cannot be read"):
        read_experiment(tmp_path / "absent.toml", {})


def test_a_fault_of_the_command_line_does_not_blame_the_file(file: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"^command line: workflow\.feedback"):
        read(file, EVERY_SECTION, "feedback=upstream")
    with pytest.raises(ConfigurationError, match=r"^command line: models: unknown role 'patiant'"):
        read(file, EVERY_SECTION, models=("patiant=offline",))


@pytest.mark.parametrize("key", ["run", "position", "trace_file", "models", "seed", "case_source"])
def test_a_setting_that_the_workflow_would_ignore_is_refused(key: str) -> None:
    with pytest.raises(ConfigurationError, match=f"'{key}' is no setting of the workflow"):
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
    assert read_experiment(None, {"run.concurrency": 9}).identity == base.identity
    for key, value in {"data.limit": 1, "seed": 1, "epochs": 2, "workflow.feedback": "off", "name": "b"}.items():
        assert read_experiment(None, {key: value}).identity != base.identity


def test_of_the_built_in_cases_the_test_split_is_taken() -> None:
    assert {case.split for case in select_cases(Data())} == {"test"}


def test_a_split_that_is_named_is_taken() -> None:
    assert {case.split for case in select_cases(Data(split="validation"))} == {"validation"}


def test_a_file_is_taken_whole_and_a_limit_takes_its_first_cases(tmp_path: Path) -> None:
    chosen = load_cases()[:4]
    save_cases([case.model_copy(update={"examinations": type(case.examinations)()}) for case in chosen], tmp_path / "c")
    assert [case.id for case in select_cases(Data(cases=str(tmp_path / "c")))] == [case.id for case in chosen]
    assert [case.id for case in select_cases(Data(cases=str(tmp_path / "c"), limit=2))] == [
        case.id for case in chosen[:2]
    ]


def test_case_ids_are_taken_from_any_split_in_their_order_and_once() -> None:
    ids = [next(case.id for case in load_cases() if case.split == split) for split in ("train", "test")]
    assert [case.id for case in select_cases(Data(case_ids=[*ids, ids[0]]))] == ids


def test_an_unknown_case_id_is_named_with_its_like() -> None:
    with pytest.raises(ConfigurationError, match=r"case_ids: surgery-001 not in builtin; did you mean surgery-01"):
        select_cases(Data(case_ids=["surgery-001"]))


def test_a_case_id_outside_the_named_split_is_refused() -> None:
    train = next(case.id for case in load_cases() if case.split == "train")
    with pytest.raises(ConfigurationError, match=f"{train} not in builtin of split 'test'"):
        select_cases(Data(split="test", case_ids=[train]))


def test_a_split_without_cases_is_refused(tmp_path: Path) -> None:
    case = next(case for case in load_cases() if not case.examinations.images and case.split == "train")
    save_cases([case], tmp_path / "cases.jsonl")
    with pytest.raises(ConfigurationError, match="has no case of split 'test'"):
        select_cases(Data(cases=str(tmp_path / "cases.jsonl"), split="test"))


def test_a_case_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CaseFileError, match=r"absent\.jsonl"):
        select_cases(Data(cases=str(tmp_path / "absent.jsonl")))


def test_a_data_set_with_departments_of_its_own_brings_its_list(tmp_path: Path) -> None:
    cases = load_cases()[:2]
    keys = [
        case.key.model_copy(update={"department": "Surgery", "sub_departments": names})
        for case, names in zip(cases, (["Tropical Surgery", "Urology"], ["Aviation Surgery"]), strict=True)
    ]
    file = tmp_path / "own.jsonl"
    save_cases(
        [
            case.model_copy(update={"key": key, "examinations": ExaminationRecord()})
            for case, key in zip(cases, keys, strict=True)
        ],
        file,
    )
    assert own_sub_departments(Data(cases=str(file))) == {
        "Surgery": ["Aviation Surgery", "Tropical Surgery", "Urology"]
    }


def test_a_data_set_with_our_departments_keeps_our_list() -> None:
    assert own_sub_departments(Data()) is None
