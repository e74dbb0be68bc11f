import time

import pytest

from cases.vocabulary import Language
from nodes.offline.doctor_actions import Kind, is_vague, kind_of, names_nothing
from nodes.offline.hearing import heard_tests
from nodes.offline.record_answers import wants_examination

KINDS: list[tuple[Language, Kind, str]] = [
    ("en", "inquiry", "Do you have a fever?"),
    ("en", "inquiry", "Tell me when it began."),
    ("en", "inquiry", "Have you had a CT before?"),
    ("en", "inquiry", "Does it hurt when you bend forward?"),
    ("en", "inquiry", "Still on the fags?"),
    ("en", "advice", "You should have a chest X-ray."),
    ("en", "advice", "Could we do an ultrasound of the liver?"),
    ("en", "advice", "MRI of the knee."),
    ("en", "demand", "Please open your mouth."),
    ("en", "demand", "Could you lift your left arm?"),
    ("en", "demand", "Lie down so that I can feel your liver."),
    ("en", "other_topic", "Did you watch the football match?"),
    ("en", "other_topic", "Which phone takes the best photographs?"),
    ("en", "conclusion", "Thank you, that is all. Goodbye."),
    ("zh", "inquiry", "您发烧吗？"),
    ("zh", "inquiry", "以前做过CT没有？"),
    ("zh", "inquiry", "弯腰的时候疼不疼？"),
    ("zh", "inquiry", "晚上翻烧饼不？"),
    ("zh", "advice", "建议您拍个胸片。"),
    ("zh", "advice", "去抽个血吧。"),
    ("zh", "demand", "请张开嘴。"),
    ("zh", "demand", "把袖子卷起来，让我看看。"),
    ("zh", "other_topic", "昨天的足球比赛您看了吗？"),
    ("zh", "conclusion", "好的，今天就到这里，再见。"),
    ("zh", "advice", "明天早上留点大便拿过来化验。"),
    ("en", "advice", "I suggest an ECG and a troponin test right away. Do you have any questions about that?"),
    ("zh", "advice", "建议尽快做心电图和肌钙蛋白检查。您还有什么问题想问吗？"),
]


@pytest.mark.parametrize(("language", "kind", "words"), KINDS)
def test_a_kind_is_known_by_its_words(language: Language, kind: Kind, words: str) -> None:
    assert kind_of(words, language) == kind


# What doctors who are models say before each question; each of these was heard as an order.
TOLD_BACK: list[tuple[Language, str]] = [
    (
        "en",
        "I see, the dark curtain on your right side has been coming up for four days. Could you describe any other "
        "symptoms or changes in your vision?",
    ),
    (
        "en",
        "I see you have been experiencing a blocked nose with thick yellow-green mucus and a pressing pain in your "
        "right cheek. Could you tell me more about the symptoms?",
    ),
    ("en", "I'm sorry to hear that somebody felt a small lump at the front of your neck. Does anything make it worse?"),
    ("zh", "我了解到您右手发抖、动作变慢有两年了，近半年走路拖着步子。请问吃饭睡觉怎么样？"),
    ("zh", "您刚才说您没劲、身上发痒有四个月了，抽血说肝里有两项酶高。这种情况是什么时候开始的？"),
]


@pytest.mark.parametrize(("language", "words"), TOLD_BACK)
def test_what_a_patient_has_said_is_no_order_where_the_doctor_tells_it_back(language: Language, words: str) -> None:
    assert kind_of(words, language) == "inquiry"
    assert not wants_examination(words) and not heard_tests(words)


@pytest.mark.parametrize(
    ("language", "item", "words"),
    [
        ("en", "Ultrasound", "I see, it has been coming up for four days, so let's do an ultrasound."),
        ("en", "Blood Test", "I'm sorry to hear that you are so tired. I'd like a blood test."),
        ("en", "X-ray", "It hurts when you walk, so it's best to get an X-ray of the hip."),
        ("en", "X-ray", "That must be X-rayed."),
        ("en", "Skin Examination", "May I see those red patches on your arms?"),
        ("zh", "CT", "我明白了，您头痛三天了，先做个CT吧。"),
        ("zh", "Blood Test", "您刚才说没劲有四个月了，去抽个血吧。"),
    ],
)
def test_what_is_ordered_after_it_is_heard(language: Language, item: str, words: str) -> None:
    assert item in {test.item for *_, test in heard_tests(words)}
    assert kind_of(words, language) == "advice"


@pytest.mark.parametrize(
    ("language", "vague", "words"),
    [
        ("en", True, "How are you feeling?"),
        ("en", True, "Is there anything else?"),
        ("en", True, "Any other trouble, then?"),
        ("en", False, "Is there any pain in your chest?"),
        ("en", False, "When did it start?"),
        ("zh", True, "您感觉怎么样？"),
        ("zh", True, "还有别的不舒服吗？"),
        ("zh", True, "有没有跟着一起来的其他毛病？"),
        ("zh", False, "头晕吗？"),
        ("zh", False, "什么时候开始的？"),
    ],
)
def test_a_question_is_vague_if_it_points_at_nothing(language: Language, vague: bool, words: str) -> None:
    assert is_vague(words, language) is vague


@pytest.mark.parametrize(
    ("language", "nothing", "words"),
    [
        ("en", True, "You should have some tests."),
        ("en", True, "I recommend treatment."),
        ("en", False, "I recommend a colonoscopy."),
        ("en", False, "Take ibuprofen 400 mg twice a day."),
        ("en", False, "You need an EEG."),
        ("zh", True, "您要好好治疗。"),
        ("zh", True, "建议做一些检查。"),
        ("zh", False, "建议做胃镜。"),
        ("zh", False, "吃点布洛芬。"),
    ],
)
def test_advice_names_something_or_nothing(language: Language, nothing: bool, words: str) -> None:
    assert names_nothing(words, language) is nothing


@pytest.mark.parametrize(("language", "words"), [("en", "The sky over there."), ("zh", "一二三四。")])
def test_words_that_are_nothing_in_particular_end_no_dialogue(language: Language, words: str) -> None:
    assert kind_of(words, language) != "conclusion"


@pytest.mark.slow  # the embedding model reads what it has not seen
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("character", ["a", "1", ",", " ", "痛", "的"])
def test_thousands_of_one_character_are_heard_at_once(character: str, language: Language) -> None:
    is_vague(character, language)  # patterns are compiled, and the model is loaded, on first use
    began = time.process_time()
    is_vague(character * 8000, language)
    assert time.process_time() - began < 4  # half a minute, where patterns went back over all of it
