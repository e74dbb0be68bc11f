"""What each kind of table counts."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from cases import ExaminationRecord, load_cases, save_cases
from cases.vocabulary import PHYSICAL_ITEMS
from llm.trace import Call, kept_at
from nodes.state.chart import Turn
from scoring.consultation import ConsultationAnswers
from scoring.medchain.answers import Answers
from scoring.metrics.statistics import Estimate
from scoring.suite import SUITES, metric
from tests.support.metrics import suites_given_back
from tests.support.recorded_runs import call, discussed, graded, write_run
from wardround.analysis.summary import summarise_results
from wardround.commands.summary_table import summary_table
from wardround.config.experiment import Data
from wardround.config.selection import select_cases
from wardround.report.pages import scores_table
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.store.result import Result
from wardround.store.traces import pack
from wardround.tables import ai_hospital, contrasts, ends, figures, leakage, medchain, medpmc, models, scores
from wardround.tables.differences import brief_tables, differences_table
from wardround.tables.drawing import as_svg
from wardround.tables.latex import as_latex
from wardround.tables.making import make_tables
from wardround.tables.table import DoesNotFitError, Shown, Table


def shown(table: Table, row: int) -> dict[str, Shown]:
    return {column.name: cell for column, cell in zip(table.columns, table.lines[row], strict=True)}


def runs_of(folder: Path, **results: list[Result]) -> list[RecordedRun]:
    return find_runs([write_run(folder / name, found) for name, found in results.items()])


def test_scores_mark_the_best_and_what_differs_from_the_first_run(tmp_path: Path) -> None:
    names = [f"c{number}" for number in range(20)]
    runs = runs_of(tmp_path, low=[graded(name, 1.0) for name in names], high=[graded(name, 3.0) for name in names])
    (table,) = scores.build(runs)
    low, high = shown(table, 0)["diagnosis"], shown(table, 1)["diagnosis"]
    assert (low.best, low.mark, high.best, high.mark) == (False, "", True, "**")
    assert any("low with p < 0.05" in note for note in table.notes)


def test_grades_have_three_decimals_as_printed_and_percentages_two(tmp_path: Path) -> None:
    graded_run = write_run(tmp_path / "graded", [graded("a", 2.0), graded("b", 3.0), graded("c", 3.0)])
    recalled = Result(case_id="a", epoch=0, termination="completed", scores={"Diagnosis": 200 / 3})
    in_percent = write_run(tmp_path / "percent", [recalled], graph="consultation", suite="medpmc")
    grades, percentages = (scores.build(find_runs([run]))[0] for run in (graded_run, in_percent))
    assert (shown(grades, 0)["diagnosis"].text, shown(percentages, 0)["Diagnosis"].text) == ("2.667", "66.67")


def test_scores_name_the_cases_that_their_stars_leave_out(tmp_path: Path) -> None:
    failed = Result(case_id="c", epoch=0, termination="model_error")
    one, other = [graded(name) for name in "abc"], [graded("b"), failed, graded("d")]
    (table,) = scores.build(runs_of(tmp_path, one=one, other=other))
    assert [note for note in table.notes if note.startswith("Stars: ")] == [
        "Stars: other and one did not run the same cases: 1 of one and 1 of other are left out.",
        "Stars: other and one: without 1 case that failed in one of them.",
    ]


def test_every_table_says_that_a_run_is_not_finished_and_what_its_epochs_are(tmp_path: Path) -> None:
    case = "dentistry-05"
    found = [discussed(case, 1), discussed(case, 1, epoch=1)]
    run = write_run(tmp_path / "run", found, {(case, 0): [call()]}, data={"limit": 3}, epochs=2)
    made = {one.name: one.tables for one in make_tables(find_runs([run])) if one.tables}
    assert made.keys() >= {"scores", "error_types", "consensus", "ends", "roles"}
    for name, tables in made.items():
        for table in tables:
            assert "run is not finished: 2 of 6 cases so far." in table.notes, name
            assert len([note for note in table.notes if note.startswith("Each epoch of a case counts;")]) == 1, name


def test_med_pmcs_table_says_which_cases_a_column_lacks_and_of_what_its_averages_are_made(tmp_path: Path) -> None:
    whole = {"Inquiry": 40.0, "Examination": 20.0, "MMA": 30.0, "Diagnosis": 10.0, "Treatment": 30.0}
    without = {name: score for name, score in whole.items() if name != "MMA"}
    results = [
        Result(case_id="a", epoch=0, termination="completed", scores=whole),
        Result(case_id="b", epoch=0, termination="completed", scores=without, unscored={"MMA": "no picture"}),
    ]
    run = write_run(tmp_path / "run", results, graph="consultation", suite="medpmc", workflow={"patient": "medpmc"})
    (table,) = medpmc.build_doctors(find_runs([run]))
    assert "Multi-modal analysis: 1 of 2 not scored (no picture)." in table.notes
    uneven = "Average of gathering: the mean of the columns' means, which do not all cover the same cases."
    assert uneven in table.notes
    assert "ROUGE-L for Diagnosis, and MMA read in the next turn alone). Ours: ROUGE-1" in as_latex(table)


@pytest.mark.parametrize("cases", ["abc", "abcdef"])
@pytest.mark.parametrize("total", [60.0, None])
def test_a_column_that_stands_for_a_missing_one_is_left_out_where_none_is(
    total: float | None, cases: str, tmp_path: Path
) -> None:
    def scored(case: str, points: float) -> Result:
        scores = {"Medical History": points, "Total Score": total and total + points, "Assessed Points": 60.0 + points}
        known = {name: score for name, score in {**scores, "Avg. Turns": 9.0 + points}.items() if score is not None}
        lacking = {"Assessed Maximum": "not counted"}
        return Result(case_id=case, epoch=0, termination="completed", scores=known, unscored=lacking)

    runs = [
        write_run(
            tmp_path / name,
            [scored(case, points + place / 7) for place, case in enumerate(cases)],
            graph="consultation",
            suite="clini_eval_paper",
        )
        for name, points in (("one", 1.0), ("two", 2.0))
    ]
    found = find_runs(runs)
    (table,) = scores.build(found)
    assert ("Assessed Points" in [column.name for column in table.columns]) is (total is None)
    means, differences = brief_tables(found, differences_table(found))
    for other in (scores_table(found[0]), means, differences):
        assert ("Assessed Points" in [row["score"] for row in other.rows]) is (total is None), other.title
    (console := Console(width=200, record=True)).print(
        summary_table(summarise_results(found[0].results, found[0].suite), found[0].suite)
    )
    printed = console.export_text()
    assert "Medical History" in printed and ("Assessed" in printed) is (total is None)
    assert not any("not scored" in note for note in table.notes), "no reader misses a column that is left out"
    assert table.rows[1]["Medical History_p"] == pytest.approx(min(1, 3 * 2 / 2 ** len(cases))), "corrected over three"
    warned = [note for note in table.footnotes if note.endswith("interval is too narrow.")]
    assert bool(warned) is (len(cases) == 3)
    assert all(("Assessed Points" in note) is (total is None) for note in warned)


@pytest.mark.parametrize(
    ("suite", "column", "title"),
    [
        ("aie", "AVG_LEN", "Length of a turn"),
        ("medpmc", "Lens", "Length of a turn"),
        ("clini_eval", "Avg. Words Pt.", "Avg. Words Phys., Avg. Words Pt."),
    ],
)
def test_lengths_over_cases_in_chinese_and_english_are_said_to_mix_words_and_characters(
    suite: str, column: str, title: str, tmp_path: Path
) -> None:
    patient = {"aie": "saps", "medpmc": "medpmc", "clini_eval": "clinichat"}[suite]
    for languages in (["en", "zh"], ["zh", "zh"], ["en", "en"]):
        results = [
            Result(
                case_id=str(place), epoch=0, termination="completed", scores={column: 9.0 + place}, language=language
            )
            for place, language in enumerate(languages)
        ]
        path = tmp_path / "-".join(languages)
        run = write_run(path, results, graph="consultation", suite=suite, workflow={"patient": patient})
        (table,) = scores.build(find_runs([run]))
        mixed = [note for note in table.notes if note.startswith(f"{title}: of words and characters")]
        assert len(mixed) == (languages == ["en", "zh"])


def test_a_metric_of_ones_own_is_unmarked_as_lower_may_be_better(tmp_path: Path) -> None:
    one, other = (graded("a", grade) for grade in (1.0, 3.0))
    for result in (one, other):
        result.scores["needless"] = result.scores["diagnosis"]
    runs = runs_of(tmp_path, low=[one], high=[other])
    with suites_given_back():
        metric("needless", suite="mvme")(lambda case, answers: None)
        (table,) = scores.build(runs)
        best = [shown(table, place)["needless"].best for place in (0, 1)]
    assert best == [False, False] and shown(table, 1)["diagnosis"].best
    assert any("Needless: unmarked, as lower may be better" in note for note in table.notes)


def test_the_second_of_three_is_underlined_and_neither_the_lower_of_two_nor_a_bound(tmp_path: Path) -> None:
    failed = Result(case_id="b", epoch=0, termination="internal_error", scores={})
    three = {"one": [graded("a", 1.0)], "two": [graded("a", 2.0)], "three": [graded("a", 4.0), failed]}
    runs = runs_of(tmp_path, **three)
    (table,) = scores.build(runs)
    names = [row["run"] for row in table.rows]
    cells = {name: shown(table, place)["diagnosis"] for place, name in enumerate(names)}
    assert [name for name, cell in cells.items() if cell.best] == ["three"]
    assert [name for name, cell in cells.items() if cell.second] == ["two"]
    assert any(name.endswith("failed as wrong") for name in names)
    assert rf"\underline{{{cells['two'].text}}}" in as_latex(table)
    (pair,) = scores.build(runs[:2])
    assert not any(cell.second for line in pair.lines for cell in line)


def test_what_a_column_lacks_is_counted_with_its_reason(tmp_path: Path) -> None:
    def bare(name: str, reason: str = "no reference in the key") -> Result:
        one = graded(name)
        reasons = {"unscored": {"diagnosis": reason}}
        return one.model_copy(update={"scores": {**one.scores, "diagnosis": None}, **reasons})

    none = [bare("a", "no text"), bare("b"), bare("c")]
    runs = runs_of(tmp_path, all=[graded("a"), graded("b")], none=none, some=[graded("a"), bare("b")])
    (table,) = scores.build(runs)
    assert [note for note in table.notes if "not scored" in note] == [
        "Diagnosis: not scored in none (no reference in the key; no text).",
        "Diagnosis: 1 of 2 not scored in some (no reference in the key).",
    ]


def test_an_average_over_columns_of_other_cases_says_so(tmp_path: Path) -> None:
    told = {"Inquiry": 50.0, "Examination": 40.0, "Diagnosis": 20.0, "Treatment": 10.0}
    ones = [graded("a", scores={**told, "MMA": 30.0}), graded("b", scores=told)]
    folders = [
        write_run(tmp_path / str(n), found, graph="consultation", suite="medpmc")
        for n, found in enumerate((ones, ones[:1]))
    ]
    uneven, even = (scores.build(find_runs([folder]))[0].notes for folder in folders)
    said = "Average of gathering: the mean of the columns' means, which do not all cover the same cases."
    assert said in uneven and said not in even


def test_nothing_is_best_where_all_are_the_same_or_alone(tmp_path: Path) -> None:
    same = runs_of(tmp_path, one=[graded("a")], two=[graded("a")])
    for found in (same, same[:1]):
        (table,) = scores.build(found)
        assert not any(cell.best for line in table.lines for cell in line)


def test_neither_long_nor_short_is_best(tmp_path: Path) -> None:
    found = [
        Result(case_id="a", epoch=0, termination="completed", scores={"Lens": value, "Inquiry": value})
        for value in (1.0, 2.0)
    ]
    runs = find_runs(
        [write_run(tmp_path / str(n), [one], graph="consultation", suite="medpmc") for n, one in enumerate(found)]
    )
    (table,) = scores.build(runs)
    assert {name for name, cell in shown(table, 1).items() if cell.best} == {"Inquiry"}


@pytest.mark.slow
def test_a_metric_of_ones_own_is_a_column_after_the_average_which_it_does_not_move(tmp_path: Path) -> None:
    stages = dict.fromkeys(SUITES["medchain"].published, 0.5)
    found = [
        Result(case_id=name, epoch=0, termination="completed", scores={**stages, "urgency": value})
        for name, value in {"a": 1.0, "b": None, "c": 0.0}.items()
    ]
    path = write_run(tmp_path / "one", found, graph="clinical_workflow")
    (without,) = scores.build(find_runs([path]))
    with suites_given_back():
        metric("urgency", suite="medchain")(lambda case, answers: None)
        (table,) = scores.build(find_runs([path]))
    assert [column.title for column in table.columns if column not in without.columns] == ["Urgency"]
    assert (table.rows[0]["urgency_mean"], table.rows[0]["urgency_n"]) == (0.5, 2)
    assert table.rows[0]["average_mean"] == without.rows[0]["average_mean"] == 0.5


def test_runs_of_several_suites_have_a_table_for_each(tmp_path: Path) -> None:
    one = write_run(tmp_path / "one", [graded("a")])
    two = write_run(tmp_path / "two", [graded("a", scores={"Info": 5.0})], graph="consultation", suite="medpmc")
    assert [table.name for table in scores.build(find_runs([one, two]))] == ["scores-mvme", "scores-medpmc"]


def test_roles_that_were_rules_are_named(tmp_path: Path) -> None:
    (table,) = scores.build(
        runs_of(tmp_path, one=[graded("a", models={"doctor": ["offline"], "patient": ["openai:m"]})])
    )
    assert "Answered by offline rules, not by a model: doctor." in table.notes


def test_a_role_that_a_model_played_too_is_said_to_be_rules_in_part(tmp_path: Path) -> None:
    """A tuned model interviews, and a rule writes the report: both are the role `doctor`."""
    played = {"doctor": ["hf:tuned", "offline"], "patient": ["offline"], "refiner": ["hf:tuned"]}
    (table,) = scores.build(runs_of(tmp_path, one=[graded("a", models=played)]))
    assert "Answered by offline rules, not by a model: doctor (in part), patient." in table.notes


def test_runs_that_swap_one_role_each_name_it_with_the_run_that_has_it(tmp_path: Path) -> None:
    """A sweep of twelve such runs had ten notes of a dozen names, and all of them in each row of its CSV file."""

    def played(own: str) -> dict[str, list[str]]:
        return {role: ["openai:m" if role == own else "offline"] for role in ("patient", "doctor", "intern")}

    (table,) = scores.build(
        runs_of(tmp_path, **{f"with_{own}": [graded("a", models=played(own))] for own in ("none", "patient", "doctor")})
    )
    by_rules = "Answered by offline rules, not by a model"
    assert [note for note in table.notes if note.startswith(by_rules)] == [
        f"{by_rules} in all but with_doctor: doctor.",
        f"{by_rules}: intern.",
        f"{by_rules} in all but with_patient: patient.",
    ]


def test_a_run_without_a_role_is_none_in_which_a_model_played_it(tmp_path: Path) -> None:
    alone, group = {"doctor": ["offline"]}, {"doctor": ["openai:m"], "intern": ["offline"]}
    found = {name: [graded("a", models=each)] for name, each in {"one": alone, "two": group, "three": group}.items()}
    (table,) = scores.build(runs_of(tmp_path, **found))
    by_rules = "Answered by offline rules, not by a model"
    told = [note for note in table.notes if note.startswith(by_rules)]
    assert told == [f"{by_rules} in one: doctor.", f"{by_rules}: intern."]


def test_roles_that_rules_played_wherever_they_occur_share_one_note(tmp_path: Path) -> None:
    """A sweep of ways to write dialogues, each with roles of its own, had a note for each."""
    roles = {"one": ["writer"], "two": ["writer", "reviser"], "three": ["patient"]}
    found = {name: [graded("a", models={role: ["offline"] for role in each})] for name, each in roles.items()}
    (table,) = scores.build(runs_of(tmp_path, **found))
    told = [note for note in table.notes if note.startswith("Answered by offline rules")]
    assert told == ["Answered by offline rules, not by a model: writer, reviser, patient."]


def test_a_floor_counts_as_scored_the_cases_of_its_fullest_column() -> None:
    found = {"diagnosis": Estimate(mean=0.5, n=3), "treatment": Estimate(mean=0.5, n=2)}
    table = scores.floors_table({"constant": found}, SUITES["medchain"])
    assert [(row["run"], row["scored"]) for row in table.rows] == [("constant", 3)]


def test_a_table_of_one_suite_says_nothing_of_the_rules_in_runs_of_another(tmp_path: Path) -> None:
    """Every row of its CSV file named the roles of all runs."""
    graded_run = write_run(tmp_path / "graded", [graded("a", models={"mvme_director": ["offline"]})])
    flow = Result(
        case_id="a", epoch=0, termination="completed", scores={"diagnosis": 1.0}, models={"patient": ["offline"]}
    )
    flow_run = write_run(tmp_path / "flow", [flow], graph="clinical_workflow")
    [made] = make_tables(find_runs([graded_run, flow_run]), ["scores"])
    told = {table.name: (" ".join(table.notes), " ".join(table.by_rules), table.csv) for table in made.tables}
    assert all("mvme_director" in one and "patient" not in one for one in told["scores-mvme"])
    assert all("patient" in one and "mvme_director" not in one for one in told["scores-medchain"])


def test_modes_of_a_doctor_by_rules_are_said_to_be_the_same(tmp_path: Path) -> None:
    made = [
        write_run(
            tmp_path / f"{mode}-{doctor}", [graded("a", models={"doctor": [doctor]})], workflow={"doctor_mode": mode}
        )
        for doctor in ("offline", "openai:m")
        for mode in ("direct", "one_shot_cot")
    ]
    said = "Rules have no thoughts, so the doctor's modes do not differ offline."
    by_rules, by_model = (scores.build(find_runs(made[place : place + 2]))[0].notes for place in (0, 2))
    assert said in by_rules and said not in by_model
    (alone,) = scores.build(find_runs(made[:1]))
    assert said not in alone.notes and not any("Bold: " in note for note in alone.notes), "it alone"
    assert any("Bold: " in note for note in by_rules)


@pytest.mark.parametrize("name", ["scores", "consensus", "ends"])
def test_each_table_of_runs_that_rules_played_says_so_once(name: str, tmp_path: Path) -> None:
    played = discussed("a", 1, models={"intern": ["offline"], "patient": ["openai:m"]})
    one = write_run(tmp_path / "one", [played], graph="dispute_resolution")
    (made,) = make_tables(find_runs([one]), [name])
    said = "Answered by offline rules, not by a model: intern."
    assert [list(table.notes).count(said) for table in made.tables] == [1]
    assert all(said in line for table in made.tables for line in table.csv.splitlines()[1:])


def test_every_table_says_which_doctors_and_judges_were_rules(tmp_path: Path) -> None:
    scored = {"scores": dict.fromkeys(SUITES["medchain"].published, 0.5)}
    by_rules, by_model = (
        Result(
            case_id="a",
            epoch=0,
            termination="completed",
            models={"decider": [model], "diagnosis_judge": [model]},
            **scored,
        )
        for model in ("offline", "openai:m")
    )
    one = write_run(tmp_path / "one", [by_rules], graph="clinical_workflow")
    other = write_run(tmp_path / "other", [by_model], graph="clinical_workflow")
    runs = find_runs([one, other])
    (made,) = make_tables(runs, ["error_propagation"])
    said = "Answered by offline rules, not by a model in one: decider, diagnosis_judge."
    assert said in made.tables[0].notes and said in differences_table(runs, None).notes
    assert said in made.tables[0].csv and said in differences_table(runs, None).csv
    (made,) = make_tables(runs[1:], ["error_propagation"])
    assert not any("by offline rules" in note for note in made.tables[0].notes) and "by_rules" not in made.tables[0].csv


@pytest.mark.parametrize("name", ["consensus", "error_types", "icd10"])
def test_tables_that_leave_failed_cases_out_say_how_many(name: str, tmp_path: Path) -> None:
    first, second, third = [case.id for case in load_cases("builtin") if case.language == "en"][:3]
    failed = Result(case_id=third, epoch=0, termination="model_error")
    found = [*(discussed(case, 1) for case in (first, second)), failed]
    path = write_run(tmp_path / "run", found, data={"case_ids": [first, second, third], "split": None})
    (made,) = make_tables(find_runs([path]), [name])
    assert "run: 1 of 3 cases failed, and are not scored." in made.tables[0].notes


def test_consensus_keeps_agreed_and_gave_up_apart_and_counts_cases_without_discussion(tmp_path: Path) -> None:
    found = [discussed("a", 0), discussed("b", 2), discussed("c", 4), discussed("d", 4, "rounds_used_up")]
    (table,) = ai_hospital.build_consensus(
        runs_of(tmp_path, one=[*found, discussed("e", 0, "no_discussion"), graded("f")])
    )
    (row,) = table.rows
    assert [row[f"after_{number}_mean"] for number in range(5)] == [0.25, 0.25, 0.5, 0.5, 0.75]
    assert (row["agreed_mean"], row["gave_up_mean"], row["discussed"], row["without"]) == (0.75, 0.25, 4, 2)


def test_the_epochs_of_a_case_count_as_one_case_in_the_intervals_of_consensus(tmp_path: Path) -> None:
    ends_of = {"a": "agreed", "b": "agreed", "c": "agreed", "d": "rounds_used_up"}
    found = [discussed(case, 4, end, epoch=epoch) for case, end in ends_of.items() for epoch in (0, 1, 2)]
    (table,) = ai_hospital.build_consensus(runs_of(tmp_path, one=[one for one in found if not one.epoch], three=found))
    once, thrice = table.rows
    assert (thrice["agreed_mean"], thrice["agreed_n"]) == (0.75, 12)
    assert thrice["agreed_low"] <= once["agreed_low"] and thrice["agreed_high"] >= once["agreed_high"]
    assert (thrice["after_0_mean"], thrice["after_0_low"]) == (0.0, 0.0)
    assert thrice["after_0_high"] >= once["after_0_high"]


def test_orders_are_held_against_the_key_physical_and_auxiliary_apart(tmp_path: Path) -> None:
    case = next(case for case in load_cases("builtin") if len(case.key.examination_items) > 2)
    physical = [item for item in case.key.examination_items if item in PHYSICAL_ITEMS.names]
    ids = {"data": {"case_ids": [case.id], "split": case.split}, "graph": "clinical_workflow"}
    found = {}
    for name, ordered in {"physical": physical, "odd": [*case.key.examination_items, "Tea leaves"]}.items():
        result = Result(case_id=case.id, epoch=0, termination="completed", answers=Answers(orders=ordered))
        found[name] = write_run(tmp_path / name, [result], **ids)
    (table,) = medchain.build_orders(find_runs(found.values()))
    both, all_of_it = len(case.key.examination_items), len(physical)
    first, second = table.rows
    assert (first["physical_mean"], first["auxiliary_mean"]) == (1.0, 0.0)
    assert first["both_mean"] == pytest.approx(all_of_it / both)
    assert second["physical_mean"] == pytest.approx(all_of_it / (all_of_it + 1)), "what no list knows is wrong in each"
    assert second["auxiliary_mean"] == pytest.approx((both - all_of_it) / (both - all_of_it + 1))


def test_orders_count_the_cases_whose_key_has_none_of_a_part(tmp_path: Path) -> None:
    full = next(case for case in load_cases("builtin") if not case.examinations.images)
    key = full.key.model_copy(update={"examination_items": [PHYSICAL_ITEMS.names[0]]})
    bare = full.model_copy(update={"id": "bare", "key": key})
    file = tmp_path / "cases.jsonl"
    file.write_text("".join(f"{case.model_dump_json()}\n" for case in (bare, full)), "utf-8")
    found = [
        Result(case_id=case.id, epoch=epoch, termination="completed", answers=Answers(orders=["Palpation"]))
        for case in (bare, full)
        for epoch in (0, 1)
    ]
    ids = {"data": {"cases": str(file), "split": None}, "graph": "clinical_workflow", "epochs": 2}
    (table,) = medchain.build_orders(find_runs([write_run(tmp_path / "run", found, **ids)]))
    (row,) = table.rows
    assert row["cases"] == 4
    assert (row["auxiliary_unscored"], row["auxiliary_n"]) == (2, 2)


def test_runs_without_orders_have_no_table_of_them(tmp_path: Path) -> None:
    (made,) = make_tables(runs_of(tmp_path, one=[graded("a")]), ["orders"])
    assert made.reason.startswith("no run decided on examinations") and not made.tables


def test_runs_without_a_discussion_have_no_consensus(tmp_path: Path) -> None:
    (made,) = make_tables(runs_of(tmp_path, one=[discussed("a", 0, "no_discussion")]), ["consensus"])
    assert made.reason.startswith("no case had a discussion") and not made.tables


def test_error_propagation_counts_the_cases_still_right_after_each_stage(tmp_path: Path) -> None:
    stages = ("referral_level1", "referral_level2", "history_taking", "examination", "diagnosis", "treatment")
    found = [
        Result(case_id=name, epoch=0, termination="completed", scores=dict(zip(stages, values, strict=True)))
        for name, values in {"a": (1, 1, 1, 1, 1, 1), "b": (1, 0, 0.4, 1, 1, 1), "c": (0, 1, 1, 1, 1, 1)}.items()
    ]
    run = write_run(tmp_path / "run", found, graph="clinical_workflow")
    (table,) = medchain.build_error_propagation(find_runs([run]))
    assert [row["still_right"] for row in table.rows] == [2, 1, 1, 1, 1]
    assert [row["accuracy_mean"] for row in table.rows[:3]] == [2 / 3, 0.5, 1.0]


def test_ends_count_terminations_and_the_rounds_of_each_end(tmp_path: Path) -> None:
    failed = Result(case_id="z", epoch=0, termination="model_error")
    (table,) = ends.build(runs_of(tmp_path, one=[discussed("a", 1), discussed("b", 3), discussed("c", 4), failed]))
    assert [(row["part"], row["end"], row["cases"]) for row in table.rows] == [
        ("case", "completed", 3), ("case", "model_error", 1), ("discussion", "agreed", 3)
    ]  # fmt: skip
    assert table.rows[1]["share_mean"] == 0.25 and table.rows[2]["rounds_mean"] == 8 / 3


def test_ends_say_that_reports_of_one_case_count_apart(tmp_path: Path) -> None:
    reported = {"examination:CT": "agreed", "examination:MRI": "exhausted", "diagnosis": "agreed"}
    whole, bare = (
        Result(case_id="a", epoch=0, termination="completed", stages=stages)
        for stages in (reported, {"diagnosis": "agreed"})
    )
    tables = [ends.build(runs_of(tmp_path / name, one=[one]))[0] for name, one in (("whole", whole), ("bare", bare))]
    assert ["each kind of picture" in " ".join(table.notes) for table in tables] == [True, False]


def test_ends_have_the_stages_in_the_order_of_the_course_though_the_first_case_lacks_one(tmp_path: Path) -> None:
    short = graded("a", stages={"referral.level1": "agreed", "diagnosis": "agreed"})
    whole = graded("b", stages={"referral.level1": "agreed", "examination:X-ray": "agreed", "diagnosis": "agreed"})
    (table,) = ends.build(runs_of(tmp_path, one=[short, whole]))
    assert [row["part"] for row in table.rows] == ["case", "referral level 1", "examination", "diagnosis"]


def test_roles_sum_calls_tokens_and_cost_and_tell_latencies_apart(tmp_path: Path) -> None:
    fast = [call(f"d{n}", seconds=1.0, input_tokens=3, output_tokens=1, cost=0.1, attempts=2) for n in range(19)]
    slow = [call("slow", seconds=21.0, cost=0.1, error="model_error: x", repaired=True)]
    unpriced = [call("p", role="patient", cached=True)]
    path = write_run(tmp_path / "run", [], {("a", 0): fast, ("b", 0): slow + unpriced})
    (table,) = models.build_roles(find_runs([path]))
    doctor, patient = table.rows
    assert (doctor["calls"], doctor["input_tokens"], doctor["output_tokens"]) == (20, 57, 19)
    assert doctor["cost"] == pytest.approx(2.0) and shown(table, 1)["cost"].text == "-"
    assert (doctor["seconds_mean"], doctor["seconds_p50"]) == (2.0, 1.0) and doctor["seconds_p95"] == pytest.approx(2.0)
    assert (doctor["attempts"], doctor["repaired"], doctor["errors"], patient["cached"]) == (39, 1, 1, 1)


def test_roles_say_of_how_many_calls_no_tokens_are_known(tmp_path: Path) -> None:
    cached, counted = call("b", cached=True, attempts=0), call("c", input_tokens=3)
    others = [cached, counted, call("d", error="model_error: x"), call("e", model="offline", attempts=0)]
    path = write_run(tmp_path / "run", [], {("a", 0): [call("a"), *others]})
    (table,) = models.build_roles(find_runs([path]))
    assert table.notes[-1] == "No token usage was reported for 1 call: tokens and cost are too low."
    silent = write_run(tmp_path / "silent", [], {("a", 0): [call("a", cost=0.0), call("b", cost=0.0)]})
    (table,) = models.build_roles(find_runs([silent]))
    assert [shown(table, 0)[name].text for name in ("input_tokens", "output_tokens", "cost")] == ["-", "-", "-"]


def test_roles_name_a_trace_of_which_a_part_is_lost(tmp_path: Path) -> None:
    (run,) = find_runs([write_run(tmp_path / "run", [], {("a", 0): [call("one")], ("b", 0): [call("other")]})])
    (whole,) = models.build_roles([run])
    file, _ = (file for file, _ in run.each_trace())
    pack(file)
    packed = kept_at(file)
    packed.write_bytes(packed.read_bytes()[:-9])
    (short,) = models.build_roles([run])
    assert not any("Calls are missing" in note for note in whole.notes)
    (said,) = (note for note in short.notes if "Calls are missing" in note)
    assert str(packed) in said and f"wardround doctor {run.path}" in said


@pytest.mark.parametrize(
    "kept", [{("a", 0): [call("one")]}, {("a", 0): [call("one")], ("b", 0): [call("other", model="offline")]}]
)
def test_roles_say_of_how_many_cases_the_traces_are_gone_or_incomplete(
    kept: dict[tuple[str, int], list[Call]], tmp_path: Path
) -> None:
    results = [graded("a", calls=1, uncounted=0), graded("b", calls=1, uncounted=0)]
    path = write_run(tmp_path / "run", results, kept)
    (table,) = models.build_roles(find_runs([path]))
    assert [note for note in table.notes if "Calls are missing" in note] == [
        "Calls are missing. run: the traces of 1 of 2 cases are gone or incomplete; "
        f"`wardround doctor --check {path}` names them."
    ]


def test_roles_hold_the_calls_of_one_trace_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import weakref

    traces = {(f"c{number}", 0): [call(messages=[{"content": "x" * 1000}])] for number in range(5)}
    (run,) = find_runs([write_run(tmp_path / "run", [], traces)])
    seen: list[weakref.ref[Call]] = []
    alive = []
    counted = models.tally

    def counting(calls: list[Call], tallies: models.Tallies) -> None:
        counted(calls, tallies)
        seen.extend(weakref.ref(one) for one in calls)
        alive.append(sum(one() is not None for one in seen))

    monkeypatch.setattr(models, "tally", counting)
    models.build_roles([run])
    assert len(seen) == 5 and len(alive) == 5 and max(alive) <= 2


@pytest.mark.slow
def test_icd10_says_why_chinese_cases_are_left_out(tmp_path: Path) -> None:
    from cases import load_cases

    chinese = next(case for case in load_cases("builtin") if case.language == "zh")
    path = write_run(tmp_path / "run", [graded(chinese.id)], data={"case_ids": [chinese.id]})
    with pytest.raises(DoesNotFitError, match="no Chinese list of terms"):
        ai_hospital.build_icd10(find_runs([path]))


@pytest.mark.slow
def test_icd10_links_chinese_cases_to_the_list_that_the_run_names(tmp_path: Path) -> None:
    from cases import load_cases

    english, chinese = (next(case for case in load_cases("builtin") if case.language == each) for each in ("en", "zh"))
    (tmp_path / "terms.csv").write_text(f"A00.001,{chinese.key.diagnosis[0]}\nB00.001,另一种病\n", "utf-8")
    data = {"case_ids": [chinese.id], "terms": str(tmp_path / "terms.csv")}
    (table,) = ai_hospital.build_icd10(find_runs([write_run(tmp_path / "run", [graded(chinese.id)], data=data)]))
    assert table.rows[0]["cases"] == 1
    assert "Diseases are split by rule, and linked to the names in terms.csv." in table.notes
    both = [english.id, chinese.id]
    path = write_run(tmp_path / "both", [graded(case) for case in both], data={**data, "case_ids": both})
    (table,) = ai_hospital.build_icd10(find_runs([path]))
    assert "linked to the names in ICD-10-CM (English) and terms.csv (Chinese)." in "".join(table.notes)


@pytest.mark.parametrize(("language", "disease"), [("es", "Infarto agudo de miocardio"), ("ja", "急性心筋梗塞")])
def test_icd10_links_cases_of_another_language_to_the_list_that_the_run_names(
    tmp_path: Path, language: str, disease: str
) -> None:
    case = load_cases()[0].model_copy(update={"language": language, "examinations": ExaminationRecord()})
    save_cases([case], tmp_path / "cases.jsonl")
    (tmp_path / "terms.csv").write_text(f"I21.9;{disease}\n", "utf-8")
    data = Data(cases=str(tmp_path / "cases.jsonl"), terms=str(tmp_path / "terms.csv"))
    (table,) = ai_hospital.build_icd10(find_runs([write_run(tmp_path / "run", [graded(case.id)], data=data)]))
    assert table.rows[0]["language"] == language
    with pytest.raises(DoesNotFitError, match=f"all cases are {language}, and no {language} list of terms is included"):
        ai_hospital.build_icd10(
            find_runs([write_run(tmp_path / "other", [graded(case.id)], data=Data(cases=data.cases))])
        )


@pytest.mark.parametrize(
    ("diseases", "languages", "own"),
    [
        (["肺炎"], {"en", "zh"}, {"zh"}),
        (["Gout", "Flu", "Asthma", "肺炎", "痛风"], {"en", "zh"}, {"en"}),
        (["Neumonía"], {"en-GB", "es"}, {"es"}),
        (["肺炎"], {"ja"}, {"ja"}),
        (["肺炎"], {"ja", "zh"}, {"zh"}),
        (["Neumonía"], {"es", "zh"}, {"es"}),
    ],
)
def test_the_list_that_a_run_names_is_for_the_languages_in_which_it_may_be(
    diseases: list[str], languages: set[str], own: set[str], tmp_path: Path
) -> None:
    file = tmp_path / "terms.csv"
    file.write_text("".join(f"I{place}.9;{name}\n" for place, name in enumerate(diseases, 21)), "utf-8")
    cases = {each: SimpleNamespace(language=each) for each in languages}
    run: Any = SimpleNamespace(cases=cases, experiment=SimpleNamespace(data=Data(terms=str(file))))
    named = {each: ai_hospital.terms_for(run, each) for each in languages}
    others = {each: "icd10cm" if each.startswith("en") else None for each in languages}
    assert named == others | dict.fromkeys(own, str(file))


def test_icd10_of_american_english_goes_by_the_built_in_list_and_cases_without_a_list_are_counted(
    tmp_path: Path,
) -> None:
    languages = ("en-US", "es", "pt", "pt")
    cases = [
        case.model_copy(update={"language": language, "examinations": ExaminationRecord()})
        for case, language in zip(load_cases(), languages, strict=False)
    ]
    save_cases(cases, tmp_path / "cases.jsonl")
    data = Data(cases=str(tmp_path / "cases.jsonl"))
    found = [graded(case.id) for case in cases]
    (table,) = ai_hospital.build_icd10(find_runs([write_run(tmp_path / "run", found, data=data)]))
    assert [row["language"] for row in table.rows] == ["en-US"]
    assert [note.partition(";")[0] for note in table.notes if "left out" in note] == [
        "1 es case left out: no es list of terms is included",
        "2 pt cases left out: no pt list of terms is included",
    ]


def test_icd10_takes_the_diseases_that_the_splitter_named_and_leaves_out_cases_that_it_gave_none_for(
    tmp_path: Path,
) -> None:
    first, second = [case for case in load_cases("builtin") if case.language == "zh"][:2]
    english = next(case for case in load_cases("builtin") if case.language == "en")
    played = (first, second, english)
    (tmp_path / "terms.csv").write_text("A00.001,肺炎\nB00.001,胃溃疡\n", "utf-8")
    data = {"case_ids": [case.id for case in played], "terms": str(tmp_path / "terms.csv"), "splitter": "model"}
    report = {"symptoms": "", "examinations": "", "diagnosis": ["随便写的"], "basis": "", "treatment": ""}
    split = {"report": ["肺炎", "胃溃疡"], "reference": ["肺炎"]}
    calls = [
        call(f"evaluation/entity_splitter/{of}", "entity_splitter", answer={"diseases": names})
        for of, names in split.items()
    ]
    found = [graded(case.id, answers={"report": report}) for case in played]
    path = write_run(tmp_path / "run", found, {(first.id, 0): [call(), *calls], (second.id, 0): calls[:1]}, data=data)
    (table,) = ai_hospital.build_icd10(find_runs([path]))
    missing, row = table.rows
    assert (missing["language"], missing["cases"]) == ("English", 0)
    assert (row["cases"], row["entities_mean"], row["code_R_mean"], row["code_P_mean"]) == (1, 2.0, 100.0, 50.0)
    assert any("split by a model" in note for note in table.notes)
    assert "2 cases of run left out: the splitter gave no answer." in table.notes


def test_error_types_count_the_diagnoses_graded_lowest_by_what_the_judge_said(tmp_path: Path) -> None:
    names = ("a", "b", "c", "d")
    said = {"a": "omitted_examination", "b": "omitted_examination", "c": "wrong_judgement"}
    calls = {
        (name, 0): [call("evaluation/misdiagnosis_judge", "misdiagnosis_judge", answer={"reason": "", "type": kind})]
        for name, kind in said.items()
    }
    found = [*(graded(name, 1.0) for name in names), graded("right", 4.0)]
    path = write_run(tmp_path / "run", found, calls, suite="mvme")
    (row,) = ai_hospital.build_error_types(find_runs([path]))[0].rows
    assert [row[name] for name in ai_hospital.ERROR_TITLES] == [2, 0, 1]
    assert (row["lowest"], row["not_sorted"]) == (4, 1)
    assert row["omitted_examination_share_mean"] == pytest.approx(2 / 3)
    never = [row[f"complication_only_share_{part}"] for part in ("mean", "low", "high")]
    assert never == [0.0, 0.0, pytest.approx(0.5615, abs=1e-4)], "what never occurred has Wilson's bound, too"


@pytest.mark.parametrize("graph", ["consultation", "one_step"])
def test_error_types_say_of_one_step_runs_what_an_omitted_examination_is_there(graph: str, tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", [graded("a", 1.0)], {}, graph=graph, suite="mvme")
    (table,) = ai_hospital.build_error_types(find_runs([path]))
    assert any("have all results" in note for note in table.notes) is (graph == "one_step")


def test_dialogues_count_the_answered_turns_and_the_requests_at_the_desk_as_a_hand_count_does(tmp_path: Path) -> None:
    def turn(speaker: str, text: str, addressee: str | None = None) -> dict[str, str | None]:
        return {"speaker": speaker, "text": text, "addressee": addressee}

    dialogue = [
        turn("patient", "It hurts.", "doctor"),
        turn("doctor", "Since when?"),
        turn("patient", "A week.", "doctor"),
        turn("doctor", "A blood test, please."),
        turn("patient", "A blood test, please.", "examiner"),
        turn("examiner", "Normal.", "patient"),
        turn("patient", "It is normal.", "doctor"),
        turn("doctor", "Thank you."),
    ]
    path = write_run(tmp_path / "run", [graded("a", answers={"dialogue": dialogue}), graded("b")])
    (row,) = ai_hospital.build_dialogues(find_runs([path]))[0].rows
    assert (row["dialogues"], row["pairs"], row["tests"]) == (1, 2, 1)
    assert (row["pairs_each_mean"], row["tests_each_mean"]) == (2.0, 1.0)


def test_turns_are_counted_until_results_are_asked_for_and_a_disease_is_named_as_the_patient_labels_them(
    tmp_path: Path,
) -> None:
    def dialogue(*actions: str) -> dict[str, list[dict[str, str]]]:
        turns = [{"speaker": "doctor", "text": "Well?", "action": action} for action in actions]
        return {"dialogue": [one for turn in turns for one in (turn, {"speaker": "patient", "text": "Oh."})]}

    early = dialogue("opening", "suspected_disease", "differential", "confirmatory_tests")
    never = dialogue("opening", "other", "results", "other", "other")
    results = [graded("a", answers=early), graded("b", answers=never)]
    _, table = ai_hospital.build_dialogues(find_runs([write_run(tmp_path / "run", results)]))
    (row,) = table.rows
    assert (row["history_mean"], row["before_mean"], row["after_mean"]) == (1.5, 3.0, 1.5)
    assert (row["first_mean"], row["named_mean"]) == (2.0, 0.5)


@pytest.mark.parametrize(
    ("last", "named"),
    [
        ("I think you have gout.", 1.0),
        ("很可能是痛风。", 1.0),
        ("Could it be gout?", 0.0),
        ("Thank you, goodbye.", 0.0),
    ],
)
def test_a_disease_that_is_first_named_in_a_last_turn_without_a_reply_counts(
    last: str, named: float, tmp_path: Path
) -> None:
    said = [
        {"speaker": "doctor", "text": "Well?", "action": "opening"},
        {"speaker": "patient", "text": "Oh."},
        {"speaker": "doctor", "text": last},
    ]
    path = write_run(tmp_path / "run", [graded("a", answers={"dialogue": said})])
    (row,) = ai_hospital.build_dialogues(find_runs([path]))[1].rows
    assert (row["before_mean"], row["after_mean"], row["named_mean"]) == (2.0 - named, named, named)


@pytest.mark.slow
def test_icd10_finds_what_a_report_names_by_all_three_rules(tmp_path: Path) -> None:
    from cases import load_cases

    case = next(case for case in load_cases("builtin") if case.language == "en" and case.key.diagnosis)
    report = {"symptoms": "", "examinations": "", "diagnosis": case.key.diagnosis, "basis": "", "treatment": ""}
    path = write_run(tmp_path / "run", [graded(case.id, answers={"report": report})], data={"case_ids": [case.id]})
    (table,) = ai_hospital.build_icd10(find_runs([path]))
    (row,) = table.rows
    assert row["cases"] == 1
    assert [row[f"{rule}_F1_mean"] for rule in ("published", "code", "category")] == [100.0, 100.0, 100.0]


def test_leakage_names_the_nearest_remembered_cases_and_says_whose_diagnosis_stands_there(tmp_path: Path) -> None:
    (run,) = find_runs([write_run(tmp_path / "run", [], graph="clinical_workflow")])
    (table,) = leakage.build([run])
    (note,) = [note for note in table.notes if note.startswith("run: ")]
    assert "word for word for 24 of 29 cases" in note and "0 of 29 cases have kin" in note
    assert len(table.rows) == 29 and sum(row["same"] == "yes" for row in table.rows) == 24


def test_leakage_knows_a_remembered_case_under_another_name(tmp_path: Path) -> None:
    case = next(case for case in load_cases() if case.split == "train" and not case.examinations.images)
    save_cases([case.model_copy(update={"id": "twin"})], tmp_path / "cases.jsonl")
    data = {"cases": str(tmp_path / "cases.jsonl")}
    (run,) = find_runs([write_run(tmp_path / "run", [], graph="clinical_workflow", data=data)])
    (row,) = leakage.build([run])[0].rows
    assert (row["nearest"], row["kin"], row["overlap"], row["same"]) == (case.id, "yes", 1.0, "yes")


def test_leakage_needs_a_run_that_recalls_and_is_made_only_when_asked_for(tmp_path: Path) -> None:
    path = write_run(tmp_path / "run", [graded("a")], workflow={"retrieval": False})
    assert make_tables(find_runs([path]), ["leakage"])[0].reason.startswith("no run recalls")
    assert "leakage" not in [made.name for made in make_tables(find_runs([path]))]


def test_a_learning_curve_is_over_the_first_run_on_the_same_cases_in_the_order_of_each_run(tmp_path: Path) -> None:
    ids = [case.id for case in select_cases(Data(split="train", limit=10))]

    def run_of(name: str, gain: float) -> Path:
        found = [
            Result(
                case_id=case_id,
                epoch=0,
                termination="completed",
                scores=dict.fromkeys(SUITES["medchain"].published, place / 20 + (gain if place >= 5 else 0.0)),
            )
            for place, case_id in reversed(list(enumerate(ids)))  # as they happened to finish
        ]
        return write_run(tmp_path / name, found, graph="clinical_workflow", data={"split": "train", "limit": 10})

    (table,) = medchain.build_learning_curve(find_runs([run_of("fixed", 0.0), run_of("growing", 0.25)]))
    frame = table.frame.set_index(["run", "block"])
    assert frame.loc["fixed", "average_mean"].tolist() == pytest.approx([0.025, 0.125, 0.225, 0.325, 0.425])
    assert frame.loc["growing", "gain_mean"].tolist() == pytest.approx([0.0, 0.0, 0.125, 0.25, 0.25])
    assert figures.draw_learning_curve(table).axes
    assert "Average, Above fixed: with fewer than 5 cases, the 95 % interval is too narrow." in table.footnotes


def test_a_learning_curve_needs_an_average_and_a_case_for_each_block(tmp_path: Path) -> None:
    with pytest.raises(DoesNotFitError, match="fewer than 5 cases"):
        medchain.build_learning_curve(runs_of(tmp_path, one=[graded("a")]))


@pytest.mark.slow
def test_contrasts_pair_the_runs_that_differ_in_one_setting_over_the_cases_of_both(tmp_path: Path) -> None:
    """As a grid of ways of thinking by actor: each row beside the same row without."""
    made = []
    for actor in (False, True):
        for mode in ("direct", "zero_shot_cot"):
            grades = [graded("dentistry-04", 2.0), graded("dentistry-05", 3.0 if actor else 1.0)]
            settings = {"patient": "medpmc", "actor": actor, "doctor_mode": mode}
            found = grades[actor:] if mode == "direct" else grades
            made.append(write_run(tmp_path / f"{mode}-{actor}", found, name=f"{mode}-{actor}", workflow=settings))
    (table,) = contrasts.build_contrasts(find_runs(made))
    rows = {(row["setting"], row["run"], row["score"]): row for row in table.rows}
    assert {key[:2] for key in rows} == {
        ("workflow.actor: false to true", "direct-True"),
        ("workflow.actor: false to true", "zero_shot_cot-True"),
        ("workflow.doctor_mode: direct to zero_shot_cot", "zero_shot_cot-False"),
        ("workflow.doctor_mode: direct to zero_shot_cot", "zero_shot_cot-True"),
    }
    direct = rows["workflow.actor: false to true", "direct-True", "Diagnosis"]
    assert (direct["cases"], direct["baseline_mean"], direct["value_mean"], direct["difference_mean"]) == (1, 1, 3, 2)
    thinking = rows["workflow.actor: false to true", "zero_shot_cot-True", "Diagnosis"]
    assert (thinking["cases"], thinking["baseline_mean"], thinking["difference_mean"]) == (2, 1.5, 1)
    by_suite = [
        write_run(tmp_path / suite, [graded("dentistry-04")], graph="consultation", suite=suite)
        for suite in ("mvme", "medpmc")
    ]
    for unlike in ([made[0], made[3]], by_suite):
        assert "differ in only one setting" in make_tables(find_runs(unlike), ["contrasts"])[0].reason


@pytest.mark.slow
def test_information_is_shown_by_round_with_a_figure(tmp_path: Path) -> None:
    told = [case for case in load_cases("builtin") if case.split == "test" and not case.examinations.images][:2]
    found = []
    for case, turns in zip(told, (4, 2), strict=True):
        words = ["What is it?", case.patient.chief_complaint, "What else?", case.patient.present_illness][:turns]
        said = [Turn(speaker=("doctor", "patient")[place % 2], text=text) for place, text in enumerate(words)]
        found.append(graded(case.id, answers=ConsultationAnswers(dialogue=said)))
    settings = {"data": {"case_ids": [case.id for case in told], "split": "test"}, "workflow": {"patient": "medpmc"}}
    runs = find_runs([write_run(tmp_path / "one", found, graph="consultation", **settings)])
    (table,) = medpmc.build_information(runs)
    assert [row["round"] for row in table.rows] == [1, 2]
    assert all(row["general_n"] == 2 and row["image_n"] == 0 for row in table.rows)
    first, second = (row["general_mean"] for row in table.rows)
    assert 0 < first < second <= 1
    assert "Round" in as_svg(figures.draw_information(table))
    beside = write_run(tmp_path / "short", found[1:], graph="consultation", **settings)
    (both,) = medpmc.build_information(find_runs([runs[0].path, beside]))
    of_short = [row for row in both.rows if row["run"] == "short"]
    assert [row["round"] for row in of_short] == [1, 2], "who has ended keeps what they know as long as others go on"
    assert of_short[0]["general_mean"] == of_short[1]["general_mean"]
    plain = runs_of(tmp_path / "none", plain=[graded("dentistry-04")])
    assert make_tables(plain, ["information"])[0].reason.startswith("no run recorded a dialogue")
