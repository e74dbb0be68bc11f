from scoring.aie.transcripts import SimulatorTest
from wardround.tables.aie_simulators import confusion_tables


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
