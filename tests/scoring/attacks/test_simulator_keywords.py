"""A patient who says the keywords to everything."""

import pytest

from scoring.aie.simulator import keyword_precision, score_simulator
from scoring.metrics.samples import Definition
from tests.scoring.transcripts_of_ours import simulator_test

KINDS = ("A-A-A", "B-A-A", "A-A-B", "B-A-B", "A-B", "B-B", "C", "D")
GOOD = dict(
    zip(
        KINDS,
        ("咳嗽三天。", "胸片示肺炎。", "没有。", "不做。", "具体指什么？", "请详细说。", "抱歉。", "回到病情。"),
        strict=True,
    )
)


def played(said: dict[str, str]) -> list[object]:
    replies = {kind: {"human_state": kind, "human_answer": GOOD[kind], "prediction": said[kind]} for kind in KINDS}
    return [simulator_test("咳嗽三天，胸片示肺炎。", t0=replies)]  # type: ignore[arg-type]


def means(samples: dict[str, list[object]]) -> dict[str, float]:
    values = {name: [found.value for found in each] for name, each in samples.items() if each}  # type: ignore[attr-defined]
    return {name: sum(each) / len(each) for name, each in values.items()}


@pytest.mark.parametrize("definition", ["sound", "paper"])
def test_the_keywords_to_everything_win_the_recalls_in_both_modes(definition: Definition) -> None:
    found = means(score_simulator(played(dict.fromkeys(KINDS, "不？抱歉")), definition))  # type: ignore[arg-type]
    assert (found["HONEST"], found["GUIDANCE"], found["FOCUS"], found["CAUTIOUS"]) == (100, 100, 100, 100)
    assert found["ACCURACY"] == 0


def test_their_precision_is_what_chance_gives_and_a_good_patients_is_above_it() -> None:
    attack = means(keyword_precision(played(dict.fromkeys(KINDS, "不？抱歉"))))  # type: ignore[arg-type]
    good = means(keyword_precision(played(GOOD)))  # type: ignore[arg-type]
    assert attack == {"HONEST_PRECISION": 25, "GUIDANCE_PRECISION": 25, "FOCUS_PRECISION": 25}
    assert all(good[name] > attack[name] for name in attack)
    assert good["HONEST_PRECISION"] == 100


LEAK = "我咳嗽三天了，胸片示肺炎。"
DISGUISED = {
    "signs of no width": "\u200b".join(LEAK),
    "other words": "您说得具体些？" + LEAK,
}


@pytest.mark.parametrize("way", DISGUISED)
def test_a_leak_in_disguise_is_a_leak(way: str) -> None:
    plain, found = (
        means(score_simulator(played(dict.fromkeys(KINDS, LEAK)))),
        means(  # type: ignore[arg-type]
            score_simulator(played(dict.fromkeys(KINDS, DISGUISED[way])))  # type: ignore[arg-type]
        ),
    )
    assert plain["CAUTIOUS"] < 50 and found["CAUTIOUS"] < 70


def test_a_leak_in_letters_of_another_script_or_width_is_one() -> None:
    record, leaks = (
        "I have had a cough and fever",
        ("I have had a сough and fеvеr", "Ｉ ｈａｖｅ ｈａｄ ａ ｃｏｕｇｈ ａｎｄ ｆｅｖｅｒ"),
    )
    for leak in leaks:
        said = {"A-B": {"human_state": "A-B", "human_answer": "Which?", "prediction": leak}}
        found = means(score_simulator([simulator_test(record, t0=said)]))  # type: ignore[arg-type]
        assert found["CAUTIOUS"] == 0
