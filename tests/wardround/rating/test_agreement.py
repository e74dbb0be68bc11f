"""Agreement over several answers to one case, from several runs or epochs."""

from pathlib import Path
from random import Random

from tests.support.recorded_runs import ENGLISH, PARTS, graded, write_run
from wardround.rating import agreement, judges
from wardround.rating.agreement import agreement_table, repeated_notes
from wardround.rating.items import Key
from wardround.rating.marks import Mark
from wardround.run.own_loop import run_alone
from wardround.store.recorded_run import find_runs

CASES = range(12)


def votes(epochs: int) -> dict[Key, dict[str, float]]:
    """Two raters who give every epoch of a case the same marks."""
    draw = Random(4)
    marks = [
        {"one": float(first), "two": float(first + draw.choice((0, 0, 1)))} for first in draw.choices(range(4), k=12)
    ]
    return {("run", "", f"c{case}", epoch): marks[case] for case in CASES for epoch in range(epochs)}


def test_repeated_answers_to_a_case_do_not_make_the_agreement_look_surer() -> None:
    once, thrice = (agreement_table({"q": votes(epochs)}, "a", "A").rows[0] for epochs in (1, 3))
    width, repeated = (row["alpha_high"] - row["alpha_low"] for row in (once, thrice))
    assert (once["items"], thrice["items"]) == (12, 36) and repeated > 0.9 * width > 0


def test_a_case_whose_own_id_looks_like_an_epoch_of_another_one_is_a_case_of_its_own() -> None:
    given = votes(1)
    renamed = {(*key[:2], "c0/epoch1" if key[2] == "c1" else key[2], key[3]): marks for key, marks in given.items()}
    assert agreement_table({"q": renamed}, "a", "A").rows == agreement_table({"q": given}, "a", "A").rows


def test_a_single_case_gives_an_agreement_without_an_interval() -> None:
    (row,) = agreement_table(
        {"q": {("run", "", "c1", epoch): {"one": 1.0 + epoch, "two": 2.0} for epoch in range(3)}}, "a", "A"
    ).rows
    assert row["alpha"] is not None and (row["alpha_low"], row["alpha_high"]) == (None, None)


def test_correlations_over_several_answers_to_a_case_come_with_a_warning() -> None:
    assert repeated_notes(votes(1)) == []
    assert "too narrow" in repeated_notes(votes(2))[0]


def test_that_an_interval_of_alpha_over_few_cases_is_too_narrow_is_said_of_those_questions() -> None:
    enough = votes(1)
    few = {key: marks for key, marks in enough.items() if key[2] < "c5"}
    one = {key: marks for key, marks in enough.items() if key[2] == "c0"}
    tables = [
        agreement_table(each, "a", "A") for each in ({"q": enough, "r": one}, {"q": enough, "r": few}, {"r": few})
    ]
    assert [table.notes[1:] for table in tables] == [
        [],  # a single case has no interval
        ["r: with fewer than 10 cases, the 95 % interval is too narrow."],
        ["r: with fewer than 10 cases, the 95 % interval is too narrow."],
    ]


def test_the_order_of_the_marks_changes_neither_alpha_nor_its_interval() -> None:
    given = votes(2)
    backwards = {item: dict(reversed(marks.items())) for item, marks in reversed(given.items())}
    assert agreement_table({"q": backwards}, "a", "A").rows == agreement_table({"q": given}, "a", "A").rows


def test_means_of_people_and_of_judges_say_how_many_cases_of_the_run_failed(tmp_path: Path) -> None:
    report = dict.fromkeys(PARTS, "x") | {"diagnosis": ["Caries"]}
    answered = graded(ENGLISH[0], answers={"dialogue": [], "report": report})
    failed = graded(ENGLISH[1], termination="model_error", scores={})
    run = write_run(tmp_path / "run", [answered, failed], graph="consultation", data={"case_ids": [*ENGLISH]})
    runs = find_runs([run])
    mark = Mark(rater="Ann", scale="mvme", question="diagnosis", value=3, run="run", case_id=ENGLISH[0], epoch=0)
    judgements = run_alone(judges.judged, runs, [])
    for table in (agreement.tables_of(runs, "mvme", [mark])[0], judges.tables_of(judgements)[0]):
        assert "run: 1 of 2 cases failed, and are not scored." in table.notes, table.name
