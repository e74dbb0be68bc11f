"""What ``wardround compare`` says about the cases behind its differences."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scoring.suite import SUITES
from tests.support.recorded_runs import write_run
from wardround.store.manifest import read_manifest, write_manifest
from wardround.store.recorded_run import RecordedRun, find_runs
from wardround.store.result import Result
from wardround.tables import scores
from wardround.tables.contrasts import build_contrasts
from wardround.tables.differences import brief_tables, differences_table
from wardround.tables.table import Table


def test_a_comparison_says_why_a_column_has_fewer_cases_than_the_runs(tmp_path: Path) -> None:
    reason = "judge failed: unparseable_answer"
    results = [
        Result(case_id="a", epoch=0, termination="completed", scores={"examination": 1.0}),
        Result(case_id="b", epoch=0, termination="completed", scores={}, unscored={"examination": f"{reason}: x"}),
    ]
    runs = find_runs([write_run(tmp_path / name, results, graph="clinical_workflow") for name in ("one", "two")])
    assert f"Examination: 1 of 2 not scored ({reason})." in differences_table(runs, None).notes


def test_a_comparison_shows_the_number_of_pairs_and_no_two_columns_of_one_name(tmp_path: Path) -> None:
    """A score that a judge failed on has fewer pairs than the runs have cases."""
    runs = find_runs([run_of(tmp_path / "one", [0.5, 0.0, None]), run_of(tmp_path / "two", [1.0, 0.5, 0.5])])
    table = differences_table(runs, None)
    titles = [column.title for column in table.columns]
    line = next(line for line in table.lines if line[1].text == "Diagnosis")
    assert line[titles.index("Cases")].text == "2" and len({*titles}) == len(titles)
    within = "p (TOST): equivalence test, small if the difference lies within ± {} (--margin)."
    assert within.format("0.05") in table.notes, "a twentieth of the scale, unless told"
    assert within.format("0.2") in differences_table(runs, 0.2).notes


def test_an_average_over_fewer_columns_because_the_runs_share_no_case_of_one_says_so(tmp_path: Path) -> None:
    names, note = tuple(SUITES["medchain"].published), "Average: without the columns of which two runs share no case."

    def table_of(folder: str, table: Callable[[Sequence[RecordedRun]], Table], **lacking: str) -> Table:
        runs = []
        for number, (name, case) in enumerate(lacking.items()):
            of_cases = {each: dict.fromkeys(names, 0.5) for each in ("a", "b")}
            of_cases[case].pop(names[0])
            results = [
                Result(case_id=each, epoch=0, termination="completed", scores=found) for each, found in of_cases.items()
            ]
            settings: dict[str, Any] = {"graph": "clinical_workflow", "workflow": {"max_turns": 5 + number}}
            runs.append(write_run(tmp_path / folder / name, results, **settings))
        return table(find_runs(runs))

    for kind, build in (("compare", differences_table), ("contrasts", lambda runs: build_contrasts(runs)[0])):
        parted, alike = (table_of(f"{kind}-{other}", build, one="a", two=other) for other in ("b", "a"))
        average = next(row for row in parted.rows if row["score"] == "Average")
        assert average["difference_mean"] == 0 and note in parted.notes and note not in alike.notes


def run_of(folder: Path, grades: Sequence[float | None]) -> Path:
    """Write a run with these grades, one per case; None failed."""
    results = [
        Result(
            case_id=f"c{case:02}",
            epoch=0,
            termination="model_error" if grade is None else "completed",
            scores={} if grade is None else {"diagnosis": grade},
        )
        for case, grade in enumerate(grades)
    ]
    return write_run(folder, results, graph="clinical_workflow")


def test_on_a_terminal_each_run_has_its_own_differences_and_the_last_one_the_notes(tmp_path: Path) -> None:
    grades = {"one": [0.5, 0.0, None], "two": [1.0, 0.5, 0.5], "three": [0.0, 0.0, 0.5]}
    runs = find_runs([run_of(tmp_path / name, each) for name, each in grades.items()])
    tables = [*brief_tables(runs, differences_table(runs))]
    assert [table.title for table in tables] == ["Means", "two - one", "three - one"]
    assert [len(table.rows) for table in tables] == [len(runs[0].suite.titles)] * 3
    shown = [[cell.text for cell in line] for table in tables for line in table.lines if line[0].text == "Diagnosis"]
    assert shown[0][1:] == ["0.2500", "0.1667", "0.6667", "0.1667"], "the second is with failed cases as wrong"
    assert [line[1:5] for line in shown[1:]] == [["+0.5000", "-", "-", "2"], ["-0.2500", "-0.500", "+0.000", "2"]]
    assert not tables[1].notes and tables[2].notes


def test_a_run_that_fails_where_it_would_be_wrong_does_not_look_better(tmp_path: Path) -> None:
    steady, better = run_of(tmp_path / "steady", [0.5] * 24), run_of(tmp_path / "better", [1.0] * 24)
    failing = run_of(tmp_path / "failing", [1.0, None] * 12)
    runs = find_runs([steady, failing])
    table = differences_table(runs, None)
    diagnosis = next(row for row in table.rows if row["score"] == "Diagnosis")
    assert diagnosis["p_holm"] < 0.001
    said = "p (Holm) is 0.05 or more if failed cases count as wrong (1 if the difference turns round): "
    assert f"{said}Diagnosis of failing (1.000), Average of failing (1.000)." in table.notes
    (marked,), (sound,) = scores.build(runs), scores.build(find_runs([steady, better]))
    assert marked.rows[1]["diagnosis_p"] == 1 and sound.rows[1]["diagnosis_p"] < 0.001


def test_a_run_that_is_better_only_where_it_did_not_fail_and_else_worse_has_no_star(tmp_path: Path) -> None:
    """Right in all 30 cases that it scored (the other run: in 15), but in 30 of 100 with the failed ones (in 50)."""
    other, failing = run_of(tmp_path / "other", [1.0, 0.0] * 50), run_of(tmp_path / "failing", [1.0] * 30 + [None] * 70)
    runs = find_runs([other, failing])
    (marked,) = scores.build(runs)
    assert marked.rows[1]["diagnosis_p"] == 1, "each p alone is below 0.01"
    table = differences_table(runs, None)
    assert any("Diagnosis of failing (1.000)" in note for note in table.notes)
    tested = table.frame.set_index("score")["p_failed_as_wrong"]
    assert tested["Diagnosis"] == 1 and "p_failed_as_wrong" in table.csv.partition("\n")[0]
    assert differences_table(find_runs([other, other]), None).frame["p_failed_as_wrong"].isna().all(), "none failed"


def test_runs_of_equal_settings_made_by_two_programs_or_with_other_prompts_or_memories_are_told_apart(
    tmp_path: Path,
) -> None:
    runs = [run_of(tmp_path / name, [0.5, 1.0]) for name in ("one", "two")]
    for run, made in zip(runs, ("a", "b"), strict=True):
        manifest = read_manifest(run / "manifest.json")
        prompts = manifest["prompts"] | {"en/saps/patient.md": made, f"{made}.md": made}
        changed = {"git": {"commit": made * 40}, "prompts": prompts, "memory_content": made}
        write_manifest(run, manifest | changed)
    (note,) = [note for note in differences_table(find_runs(runs), None).notes if "were made with" in note]
    assert note.startswith("two and one were made with different programs (wardround ")
    assert note.endswith("of commit aaaaaaaaaaaa); prompts (en/saps/patient.md); memories.")
    (alike,) = find_runs(runs[:1])
    assert not any("made with" in note for note in differences_table([alike, alike], None).notes)
