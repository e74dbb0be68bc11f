import jieba
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_chinese import Rouge

from scoring.aie.simulator import METRICS, beside_people, confusion, rounds_of, score_simulator, unanswered
from scoring.aie.transcripts import ACTIONS
from scoring.metrics.samples import Definition
from tests.scoring.transcripts_of_ours import simulator_test

RECORD = "患者男，45岁。咳嗽三天，伴发热，既往高血压。"
REPLIES = {
    "A-A-A": {
        "human_state": "A-A-A",
        "human_answer": "咳嗽三天。",
        "prediction": "咳嗽三天，伴 发热。",
        "state_prediction": "A-A-A",
    },
    "A-A-B": {"human_state": "A-A-B", "human_answer": "没有。", "prediction": "咳嗽三天。", "state_prediction": "A-B"},
    "B-A-B": {
        "human_state": "B-A-B",
        "human_answer": "好的。",
        "prediction": "按照您说的做。",
        "state_prediction": "B-A-B",
    },
    "A-B": {"human_state": "A-B", "human_answer": "具体指什么？", "prediction": "您具体指什么？"},
    "B-B": {"human_state": "A-B", "human_answer": "什么？", "prediction": ""},
    "C": {"human_state": "C", "human_answer": "这是线上问诊。", "prediction": "对不起，做不到。"},
    "D": {"human_state": "D", "human_answer": "请回到病情。", "prediction": "我喜欢电影。"},
    "B-A-A": {"human_state": "B-A-A", "human_answer": "没有预测"},
}


def rouge(reply: str, other: str) -> dict[str, float]:
    reply = reply.replace(" ", "") or "None"
    found: dict[str, float] = Rouge().get_scores(" ".join(jieba.cut(reply)), " ".join(jieba.cut(other)))[0]["rouge-1"]
    return found


def test_paper_mode_is_the_published_computation() -> None:
    samples = score_simulator([simulator_test(RECORD, t0=REPLIES)], "paper")
    values = {name: [sample.value for sample in found] for name, found in samples.items()}
    told = REPLIES["A-A-A"]["prediction"]
    exposed = rouge(told, RECORD)["p"] - rouge(told, "咳嗽三天。")["p"]
    leaks = [100 * (1 - rouge(REPLIES[kind]["prediction"], RECORD)["p"]) for kind in ("A-A-B", "B-A-B", "A-B", "B-B")]
    assert values == {
        "ACCURACY": pytest.approx([100 * rouge(told, "咳嗽三天。")["r"]]),
        "PASSIVE": pytest.approx([100 * (1 - max(exposed, 0))]),
        "CAUTIOUS": pytest.approx(leaks),
        "CAUTIOUS_INEFFECTIVE": pytest.approx(leaks[:2]),
        "CAUTIOUS_AMBIGUOUS": pytest.approx(leaks[2:]),
        "HONEST": pytest.approx([100 * rouge("咳嗽三天。", RECORD)["p"], 100]),
        "GUIDANCE": [100, 0],
        "FOCUS": [100, 0],
        "TRACKING": [100, 0, 100],
        "AVG_LEN": [
            len(one["prediction"].replace(" ", "") or "None") for one in REPLIES.values() if "prediction" in one
        ],
    }


def test_a_lie_taken_from_the_record_is_honest_only_in_paper_mode() -> None:
    test = simulator_test(RECORD, t0={"A-A-B": REPLIES["A-A-B"]})
    assert score_simulator([test], "sound")["HONEST"][0].value == 0
    assert score_simulator([test], "paper")["HONEST"][0].value == 100


@pytest.mark.parametrize(
    ("action", "reply", "metric", "value"),
    [
        ("A-A-B", "I don't know.", "HONEST", 100),
        ("A-A-B", "Ｉ ｄｏｎ't\u00a0know.", "HONEST", 100),
        ("A-A-B", "I have notable pain", "HONEST", 0),
        ("A-B", "What exactly do you mean", "GUIDANCE", 100),
        ("A-B", "It hurts", "GUIDANCE", 0),
        ("C", "I'm sorry, this is online", "FOCUS", 100),
        ("D", "Let us get back to my cough", "FOCUS", 100),
        ("D", "I like films", "FOCUS", 0),
    ],
)
def test_english_replies_have_keywords_of_their_own(action: str, reply: str, metric: str, value: float) -> None:
    test = simulator_test("A man coughs.", t0={action: {"human_state": action, "prediction": reply}})
    assert [sample.value for sample in score_simulator([test])[metric]] == [value]


def test_a_reply_that_is_the_reference_scores_the_maximum_and_an_empty_one_the_minimum() -> None:
    reply = {"human_state": "A-A-A", "human_answer": "咳嗽三天。", "prediction": "咳嗽三天。"}
    for definition in ("sound", "paper"):
        full = score_simulator([simulator_test(RECORD, t0={"x": reply})], definition)
        assert full["ACCURACY"][0].value == full["PASSIVE"][0].value == 100
        empty = score_simulator([simulator_test(RECORD, t0={"x": {**reply, "prediction": ""}})], definition)
        assert empty["ACCURACY"][0].value == 0


def test_sound_mode_counts_words_by_hand() -> None:
    reply = {
        "human_state": "A-A-A",
        "human_answer": "Cough for days and a fever.",
        "prediction": "Coughs, cough for days",
    }
    leak = {"human_state": "A-B", "human_answer": "Which?", "prediction": "Cough for long"}
    found = score_simulator([simulator_test("A man coughs. Cough for days.", t0={"x": reply, "y": leak})])
    assert [one.value for one in found["ACCURACY"]] == [50]  # cough, for, day of cough, for, day, and, a, fever
    assert [one.value for one in found["PASSIVE"]] == [75]  # 1 - (4 / 4 of the record - 3 / 4 of the answer)
    assert [one.value for one in found["CAUTIOUS"]] == pytest.approx([100 / 3])


def test_questions_without_a_reply_are_named() -> None:
    assert unanswered([simulator_test(RECORD, 7, t0=REPLIES)]) == ["7/0/B-A-A"]


@pytest.mark.parametrize("silence", ["", " ", "……"])
def test_who_says_nothing_is_neither_passive_nor_cautious(silence: str) -> None:
    kinds = {code: {"human_state": code, "human_answer": "咳嗽。", "prediction": silence} for code in ACTIONS}
    samples = score_simulator([simulator_test(RECORD, t0=kinds)])
    assert {one.value for name in METRICS if name != "AVG_LEN" for one in samples[name]} == {0}


def test_tracked_actions_are_counted_against_those_of_people() -> None:
    assert confusion([simulator_test(RECORD, t0=REPLIES)]) == {
        "A-A-A": {"A-A-A": 1},
        "A-A-B": {"A-B": 1},
        "B-A-B": {"B-A-B": 1},
    }


def test_replies_stand_beside_those_of_people_question_by_question() -> None:
    tests = [simulator_test(RECORD, t0=REPLIES)]
    pairs = beside_people(tests)
    assert pairs["LENGTH"][0] == (10, 5) and len(pairs["LENGTH"]) == 7
    assert pairs["FOCUS"] == [(1, 1), (0, 1)] and "ACCURACY" not in pairs
    assert len(pairs["CAUTIOUS"]) == 4
    acted = beside_people(tests, people=tests)
    assert all(one == other for values in acted.values() for one, other in values)
    assert acted["ACCURACY"] == [(1, 1)]
    assert beside_people(tests, people=[simulator_test(RECORD, 2, t0=REPLIES)]) == {}


TEXTS = st.text(max_size=20)  # no half signs, which the types refuse


@settings(deadline=None, max_examples=80)
@given(st.sampled_from([*ACTIONS, "?"]), TEXTS, TEXTS, TEXTS.filter(bool), st.sampled_from(["sound", "paper"]))
def test_no_text_raises_and_scores_lie_in_range(
    action: str, reply: str, answer: str, record: str, definition: Definition
) -> None:
    found = {"human_state": action, "human_answer": answer, "prediction": reply, "state_prediction": "A-B"}
    samples = score_simulator([simulator_test(record, t0={"x": found})], definition)
    assert set(samples) == set(METRICS)
    assert all(0 <= sample.value <= 100 for values in samples.values() for sample in values)


def test_a_rounds_values_are_its_own_and_rounds_stand_in_order() -> None:
    tests = [simulator_test(RECORD, **{"10": {"D": REPLIES["D"]}, "2": {"C": REPLIES["C"]}})]
    assert rounds_of(tests) == ["2", "10"]
    assert [len(score_simulator(tests, "paper", turn)["FOCUS"]) for turn in (None, "2", "10", "3")] == [2, 1, 1, 0]
