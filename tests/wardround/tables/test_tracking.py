from scoring.aie.transcripts import SimulatorTest
from scoring.metrics.samples import of_epoch
from wardround.tables.aie_simulators import confusion_tables, tracking_table


def test_where_nobody_labelled_a_question_there_is_no_table_of_labels() -> None:
    said = {"question": "Pain?", "answer": "Yes", "state_prediction": "A-A-A", "prediction": "Yes"}
    asked = {"Effective Inquiry": said}
    record = {"id": "one", "raw_data": {"question": "A man has pain."}, "patient_test": {"1": asked}}
    unlabelled = SimulatorTest.model_validate(record)
    said["human_state"] = "A-A-A"
    labelled = SimulatorTest.model_validate(record)
    assert confusion_tables({"saps": [unlabelled]}) == []
    (table,) = confusion_tables({"saps": [labelled]})
    assert table.rows == [{"label": "A-A-A", "A-A-A": 1.0}]


def test_several_epochs_of_a_patient_are_one_patient_to_the_intervals_of_tracked_actions() -> None:
    def played(epochs: int) -> list[SimulatorTest]:
        tests = []
        for number in range(6):
            tracked = "A-A-A" if number % 3 else "B-A-A"
            said = {"question": "Pain?", "human_state": "A-A-A", "state_prediction": tracked, "prediction": "Yes"}
            other = {"question": "Scan?", "human_state": "B-A-A", "state_prediction": "B-A-A", "prediction": "Yes"}
            asked = {"1": {"A-A-A": said}, "2": {"B-A-A": other}}
            tests += [
                SimulatorTest.model_validate(
                    {"id": of_epoch(str(number), epoch), "raw_data": {"question": "Pain."}, "patient_test": asked}
                )
                for epoch in range(epochs)
            ]
        return tests

    table = tracking_table({"once": played(1), "five times": played(5)})
    assert table is not None
    once, repeated = table.rows
    assert repeated["n"] == 5 * once["n"] and repeated["accuracy_mean"] == once["accuracy_mean"]
    for name in ("accuracy", "kappa"):
        width, other = (row[f"{name}_high"] - row[f"{name}_low"] for row in (once, repeated))
        assert other >= 0.9 * width, name
    assert [note for note in table.notes if "Kappa of five times" in note], "of six patients, too few"
