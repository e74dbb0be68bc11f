"""Who plays whom in the runs of a table."""

from pathlib import Path
from typing import Any

import pytest

from llm.specs import OFFLINE, model_of
from wardround.config.experiment import ConfigurationError
from wardround.config.experiment_file import Sweep, read_sweep
from wardround.config.role_models import model_keys_of
from wardround.library import find_file, library_files

DOCTOR, OTHER = "openai:doctor@http://localhost:1/v1", "openai:other@http://localhost:1/v1"
SIMULATOR = frozenset({"state_tracker", "memory_bank", "response_generator"})
# Who is the same in every row of a ready file, besides the judges.
FIXED: dict[str, frozenset[str]] = {
    **dict.fromkeys(("aie_table_2", "aie_table_3", *(f"aie_figure_{number}" for number in (3, 4, 5, 6))), SIMULATOR),
    "clinichat_table_2": frozenset(),  # the rows are ways of writing both sides
    "clinichat_table_4": frozenset({"patient"}),
    **dict.fromkeys(
        (
            "medchain_growth",
            "medchain_table_2",
            "medchain_table_2_models",
            "medchain_table_3",
            "medchain_table_4",
            "medchain_table_4_models",
        ),
        frozenset({"patient", "extraction"}),
    ),
    **dict.fromkeys(
        (
            *(f"medpmc_table_{number}" for number in (2, 3, 4, 5)),
            *(f"medpmc_figure_{number}" for number in (2, 3, 4, 5)),
        ),
        SIMULATOR | {"technician", "actor"},
    ),
    **dict.fromkeys(
        ("mvme_table_2", "mvme_table_2_models"), frozenset({"patient", "examiner", "patient_profile", "director"})
    ),
}
NAMES_DOCTORS = {
    *("mvme_table_2_models", "medchain_table_2_models", "medchain_table_4_models"),
    *(f"aie_figure_{number}" for number in (4, 5, 6)),
}


def ready(name: str, models: dict[str, str] | None = None, **overrides: Any) -> Sweep:
    return read_sweep(find_file(Path(name)), overrides, models)


def written(folder: Path, text: str, models: dict[str, str] | None = None, **overrides: Any) -> Sweep:
    file = folder / "table.toml"
    file.write_text(text)
    return read_sweep(file, overrides, models)


def test_the_full_workflow_of_medchains_table_3_is_the_last_row_of_its_table_2() -> None:
    full = ready("medchain_table_3").runs["full"]
    assert full.context == ready("medchain_table_2").runs["medchain_agent"].context


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(library_files()))
def test_in_a_ready_file_the_doctors_model_plays_no_patient_and_judges_nothing(name: str) -> None:
    own = {} if name in NAMES_DOCTORS else {"default": DOCTOR}
    for run in ready(name, own).runs.values():
        asked = {key.rpartition(".")[2] for key in model_keys_of(run)}
        doctor = run.models["default"]
        assert {role for role in FIXED[name] & asked if model_of(role, "", run.models) == doctor} == set()
        assert run.judges["default"] != doctor and model_of("doctor", "", run.models) == doctor


@pytest.mark.parametrize("name", sorted({*library_files()} - NAMES_DOCTORS))
def test_a_ready_file_goes_by_rules_alone_where_no_model_is_named(name: str) -> None:
    for run in ready(name).runs.values():
        assert {*run.models.values(), *run.judges.values()} == {OFFLINE}


def test_a_row_for_each_interviewer_of_clinichats_table_4_leaves_patient_judges_and_report_as_they_are(
    tmp_path: Path,
) -> None:
    one = ready("clinichat_table_4", {"clinichat.doctor": DOCTOR}).runs
    grid = f'extends = "clinichat_table_4"\n[grid]\n"models.clinichat.doctor" = ["{DOCTOR}", "{OTHER}"]\n'
    rows = {**one, **written(tmp_path, grid).runs}
    assert [model_of("doctor", "clinichat", run.models) for run in rows.values()] == [DOCTOR, DOCTOR, OTHER]
    for run in rows.values():
        assert model_of("patient", "clinichat", run.models) == run.judges["default"] == "openai:gpt-4o"
        assert model_of("doctor", "consultation", run.models) == OFFLINE


def test_the_eight_rows_of_medchain_stand_in_its_order_and_each_strategy_decides_every_column() -> None:
    runs = ready("medchain_table_2_models").runs
    single = ["gpt_4o_mini", "claude_3_5_sonnet", "llava", "qwen2", "internvl2"]
    strategies = {"medagents": "medagents", "mdagents": "mdagents", "medchain_agent": "group"}
    assert list(runs) == [*single, *strategies]
    for name, run in runs.items():
        context = run.context
        assert context.strategy == strategies.get(name, "single") and run.models["default"] in (name, "internvl2")
        assert (context.feedback == "off") == (not context.retrieval) == (name != "medchain_agent")
        assert (context.orders == "dialogue") == (name in single)
        assert context.results_in_dialogue and context.all_pictures and context.send_pictures == (name != "qwen2")


@pytest.mark.slow
def test_the_sixteen_rows_of_medchains_ablations_are_four_bare_agents_by_four_settings() -> None:
    runs = ready("medchain_table_4_models").runs
    rows = [
        (
            run.context.strategy,
            run.models["default"],
            run.context.personalized,
            run.context.sequential,
            run.context.interactive,
        )
        for run in runs.values()
    ]
    agents = [
        ("medagents", "internvl2"),
        ("mdagents", "internvl2"),
        ("single", "gpt_4o_mini"),
        ("single", "internvl2"),
    ]
    settings = [(True, True, True), (False, True, True), (True, False, True), (True, True, False)]
    assert rows == [(*agent, *setting) for setting in settings for agent in agents]
    assert {(run.context.feedback, run.context.retrieval) for run in runs.values()} == {("off", False)}
    assert len(ready("medchain_table_4").runs) == 12


def test_the_eleven_rows_of_ai_hospital_stand_in_its_order_each_with_its_own_doctors_and_all_with_one_patient() -> None:
    server = "openai:other@http://localhost:9/v1"
    runs = ready("mvme_table_2_models", **{"model.qwen_max.spec": server}).runs
    single = ["baichuan_13b", "huatuogpt_ii_13b", "huatuogpt_ii_34b", "gpt_35", "wenxin_4", "qwen_max", "gpt_4"]
    assert list(runs) == [*single, "two_doctors_without", "two_doctors", "three_doctors", "one_step"]
    seats = {name: [model_of("intern", "", run.models, seat) for seat in (1, 2, 3)] for name, run in runs.items()}
    assert seats["three_doctors"] == ["gpt_35", "gpt_4", "wenxin_4"] and seats["two_doctors"][:2] == ["gpt_35", "gpt_4"]
    assert [seats[name][0] for name in single] == single
    assert [runs[name].context.interns for name in ("gpt_4", "two_doctors", "three_doctors")] == [1, 2, 3]
    assert len({run.models.get("patient") for name, run in runs.items() if name != "one_step"}) == 1
    assert runs["qwen_max"].model["qwen_max"].spec == server


def test_a_grid_over_the_doctors_leaves_patient_and_judges_as_they_are(tmp_path: Path) -> None:
    found = written(tmp_path, f"extends = 'medchain_table_3'\n[grid]\n'models.default' = ['{DOCTOR}', '{OTHER}']")
    assert len(found.runs) == 8
    assert len({(run.models["patient"], run.judges["default"]) for run in found.runs.values()}) == 1
    assert {run.models["default"] for run in found.runs.values()} == {DOCTOR, OTHER}


@pytest.mark.parametrize(
    "swept",
    [
        "models.patient",
        "models.history_taking.extraction",
        "judges.default",
        "models.diagnosis_judge",
        "models.evaluation.claim_judge",
    ],
)
def test_who_is_fixed_cannot_be_swept_over(swept: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"\[fixed\] sets the same .* for every run"):
        written(tmp_path, f"extends = 'medchain_table_3'\n[grid]\n'{swept}' = ['{DOCTOR}', '{OTHER}']")


@pytest.mark.parametrize(
    ("name", "side"), [("aie_table_2", SIMULATOR), ("medpmc_table_4", SIMULATOR | {"technician", "actor"})]
)
def test_one_model_for_the_patient_is_that_of_each_role_that_answers_for_it(name: str, side: set[str]) -> None:
    def models(**given: str) -> dict[str, str]:
        return next(iter(ready(name, {"default": DOCTOR, **given}).runs.values())).models

    assert {role for role, spec in models().items() if spec != DOCTOR} == side, "those of [fixed]"
    assert models(patient=OTHER) == {"default": DOCTOR} | dict.fromkeys(side, OTHER)
    assert models(patient=OTHER, state_tracker="openai:own")["state_tracker"] == "openai:own", "who is named goes first"


def test_a_grid_over_the_patients_model_is_one_over_all_that_answer_for_it(tmp_path: Path) -> None:
    head = f"graph = 'consultation'\ntables = ['scores']\njudges.default = '{OTHER}'\nmodels.default = '{DOCTOR}'\n"
    swept = f"workflow.patient = 'saps'\n[grid]\n'models.patient' = ['{DOCTOR}', '{OTHER}']"
    runs = written(tmp_path, head + swept).runs.values()
    assert [{run.models[role] for role in SIMULATOR} for run in runs] == [{DOCTOR}, {OTHER}]
    with pytest.raises(ConfigurationError, match=r"models\.patient is never asked in the graph 'one_step'"):
        written(tmp_path, f"graph = 'one_step'\nmodels.patient = '{OTHER}'")


def test_a_seat_that_only_some_rows_ask_is_given_to_those_and_the_bound_row_has_its_doctor() -> None:
    found = ready("mvme_table_2", {"default": DOCTOR, "intern2": OTHER}).runs
    assert found["three_doctors"].models["intern2"] == OTHER
    assert found["one_step"].models == {"default": DOCTOR}


@pytest.mark.slow
def test_a_table_of_rules_beside_models_is_refused_unless_it_is_asked_for() -> None:
    interns = {f"intern{seat}": DOCTOR for seat in (1, 2, 3)}
    with pytest.raises(ConfigurationError, match=r"tables: doctor, .*would use offline rules in a table with models"):
        ready("mvme_table_2", interns)
    assert ready("mvme_table_2", interns, mixed=True).runs["one_step"].models["default"] == OFFLINE
    assert ready("mvme_table_2", {**interns, "default": OTHER})


def test_a_table_of_ones_own_is_refused_where_patient_or_judges_change_with_the_doctors(tmp_path: Path) -> None:
    swept = f"tables = ['scores']\n[grid]\n'models.default' = ['{DOCTOR}', '{OTHER}']\n"
    with pytest.raises(ConfigurationError, match="patient, judges would change with the doctors' model") as all_at_once:
        written(tmp_path, swept)
    assert "in [fixed]: patient = 'SPEC', judges = 'SPEC' (in [models], or as" in str(all_at_once.value)
    with pytest.raises(ConfigurationError, match="judges would change with the doctors' model"):
        written(tmp_path, f"{swept}[fixed]\npatient = '{OTHER}'")
    assert written(tmp_path, f"{swept}[fixed]\npatient = '{OTHER}'\njudges = '{OTHER}'").runs
    assert written(tmp_path, f"mixed = true\n{swept}").runs
    assert written(tmp_path, swept.partition("\n")[2]).runs, "without a table, rows are not laid side by side"


@pytest.mark.parametrize(
    ("named", "left"),
    [
        ("", "patient, patient_profile, judges"),
        (f"models.patient = '{DOCTOR}'\njudges.default = '{DOCTOR}'", "patient_profile"),
        (f"models.patient = '{DOCTOR}'\nmodels.patient_profile = '{DOCTOR}'", "judges"),
        (f"models.patient = '{DOCTOR}'\nmodels.patient_profile = '{DOCTOR}'\njudges.default = '{DOCTOR}'", ""),
    ],
)
def test_a_row_with_another_patient_or_judge_does_not_let_those_of_other_rows_change_with_the_doctors(
    named: str, left: str, tmp_path: Path
) -> None:
    head = "graph = 'consultation'\ntables = ['scores']\nworkflow.patient = 'ai_hospital'\n"
    swaps = f"patient.models.patient = '{OTHER}'\njudge.judges.default = '{OTHER}'\ndoctor.models.default = '{OTHER}'"
    text = f"{head}models.default = '{DOCTOR}'\nmodels.examiner = '{DOCTOR}'\n{named}\n[variants]\nbase = {{}}\n{swaps}"
    if left:
        with pytest.raises(
            ConfigurationError, match=f"tables: {left} would change with the doctors' model \\(in run 'd"
        ):
            written(tmp_path, text)
    else:
        assert len(written(tmp_path, text).runs) == 4


def test_an_unknown_role_among_those_who_are_fixed_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"models: unknown role 'patent'; did you mean 'patient'"):
        written(tmp_path, f"[fixed]\npatent = '{DOCTOR}'")
