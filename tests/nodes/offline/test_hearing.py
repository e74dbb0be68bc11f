"""Orders heard by meaning: what nobody names opens what it is for, before every desk; all else opens nothing."""

from typing import Any

import pytest

from cases import load_cases
from cases.case import Case
from cases.text.named_tests import named_tests
from cases.text.ordered_tests import ordered_tests, phrases
from cases.vocabulary import PHYSICAL_ITEMS, Language, normalise
from graphs.patient_turn import patient_turn_of
from nodes.offline import hearing
from nodes.offline.doctor_actions import kind_of
from nodes.offline.hearing import NO_ORDER, heard_items, heard_tests, named_orders, order_wordings, weighed_texts
from nodes.offline.subjects import subjects, wordings
from nodes.patients.filed_results import asked_for
from nodes.state.chart import Turn
from nodes.workflow.order_extraction import DialogueView, items_by_name
from wardround.training.embeddings import stock_words

LANGUAGES = pytest.mark.parametrize("language", ["en", "zh"])
# In words that nothing was learned from.
UNSEEN = {
    "en": [
        ("We'll fill a couple of tubes from your vein.", "Blood Test"),
        ("Would you go and pee in this pot for us?", "Urine Test"),
        ("I need a bit of your poo in this box.", "Stool Test"),
        ("We'd better get a picture of that broken wrist.", "X-ray"),
        ("You'll be slid into a narrow tube with a big magnet that makes a racket.", "MRI"),
        ("Some cold gel on your tummy, and then I'll slide the probe around.", "Ultrasound"),
        ("They'll pass a bendy tube with a light down your gullet.", "Endoscopy"),
        ("You'll get a radioactive jab, and then a special camera looks at your bones.", "Nuclear Medicine Imaging"),
        ("I'll nip off a bit of this growth for the microscope.", "Pathological Examination"),
        ("May I see those red patches on your arms?", "Skin Examination"),
        ("I'd like to have a feel of your belly.", "Abdominal Examination"),
    ],
    "zh": [
        ("在胳膊上扎一针，抽两小管送去化验。", "Blood Test"),
        ("拿着杯子去厕所尿一点。", "Urine Test"),
        ("留点大便装这个小盒子里。", "Stool Test"),
        ("手腕这儿拍一张，看看骨头裂没裂。", "X-ray"),
        ("进那个带磁场的长筒子里躺一会儿，声音很吵。", "MRI"),
        ("抹点凉凉的胶，我拿探头在肚子上照照。", "Ultrasound"),
        ("从嘴里下一根软管子，看看胃里面。", "Endoscopy"),
        ("打一针带放射性的药，再给骨头照相。", "Nuclear Medicine Imaging"),
        ("切一点组织下来送去做切片。", "Pathological Examination"),
        ("让我看看您胳膊上的红疙瘩。", "Skin Examination"),
        ("我给您摸一摸肚子。", "Abdominal Examination"),
    ],
}
NO_ORDERS = {
    "en": [
        "They filled three tubes from my arm last week, you said.",
        "We won't put a tube down your throat today.",
        "Blood comes from a vein, not from an artery.",
        "Did your aunt have a tube passed down her gullet?",
        "Does your belly hurt when you lie down?",
        "Did they look into your ears with a lamp?",
        "Rub this gel on your knee twice a day.",
        "What would you like to drink?",
        "Give me everything that stands in your record.",
        "Get the relevant tests.",
    ],
    "zh": [
        "上个月给您抽过两管血了。",
        "今天就不下管子了。",
        "那个机器吵是因为里面有线圈。",
        "您姨妈下过胃管吗？",
        "躺下的时候肚子疼吗？",
        "这个胶抹在膝盖上，一天两次。",
        "您想喝点什么？",
        "把病历上写的都告诉我。",
        "做一下影像学检查。",
    ],
}
# The physical examination as a whole, and what is asked or said of one, in words that nothing was learned from.
WHOLE = {
    "en": [
        "Let me examine you.",
        "A physical examination, please.",
        "Can I examine you now?",
        "I'm going to examine you from head to toe.",
        "What did the physical examination show?",
        "Let me examine you, and then we'll get a chest X-ray.",
    ],
    "zh": [
        "我给您做个体格检查。",
        "查体。",
        "我来给您检查一下身体。",
        "体格检查有什么异常吗？",
        "先查体，再拍个胸片。",
    ],
}
NOT_WHOLE = {
    "en": [
        ("Let me examine your belly.", {"Abdominal Examination"}),
        ("A physical examination of the abdomen, please.", {"Abdominal Examination"}),
        ("Have you had a physical examination recently?", set()),
        ("Your physical examination was normal.", set()),
        ("Is your job physical?", set()),
    ],
    "zh": [
        ("做个腹部的体格检查。", {"Abdominal Examination"}),
        ("请先做以下体格检查：腹部检查、颈部检查。", {"Abdominal Examination", "Neck Examination"}),
        ("您做过体格检查吗？", set()),
        ("今天不用查体了。", set()),
        ("查体温。", {"General Examination"}),
    ],
}
# Both name a test, in words that nothing was learned from.
ONLY_NAMED = {
    "en": [
        "An ultrasound is only sound, it can't hurt the baby.",
        "I was glad to see that your chest X-ray looked perfectly fine.",
        "The CT machine is out of order until Thursday, I'm sorry to say.",
        "With a story as clear as yours an MRI would teach us nothing.",
        "My own mother hated her colonoscopy.",
        "After looking into both ears, I noticed a lot of wax.",
        "In your X-ray there was a little fluid to be seen.",
        "So, I'm looking at your CT here.",
        "We have two pictures of the X-ray of your shoulder.",
        "An MRI would be good if you were not so afraid of it.",
        "A CT would be too much.",
    ],
    "zh": [
        "核磁就是声音大，人不遭罪。",
        "昨天的胸片我瞧过了，肺上干干净净。",
        "CT机坏了，礼拜四才修得好。",
        "您这情况，胃镜就免了吧。",
        "我母亲做肠镜那回可把她吓坏了。",
    ],
}
BY_NAME = {
    "en": [
        "Right, off to have that CT of the head.",
        "Let us get a stool test and an ECG while you are here.",
        "Urinalysis and liver function tests, if you would.",
        "Please tell me the result of the chest X-ray.",
        "I think an abdominal ultrasound is called for.",
        "We had better settle that with a D-dimer.",
        "But a CT would be good.",
        "It might be worthwhile to have an echocardiogram.",
        "A lumbar puncture is unavoidable.",
        "There's no way around a gastroscopy.",
        "I'd be happier if we had an MRI of the knee.",
        "An ultrasound wouldn't hurt.",
    ],
    "zh": [
        "您先去拍个胸片，再抽血查肝功能。",
        "给他约个头颅核磁。",
        "把胸部CT的结果跟我说说。",
        "腹部B超也一块儿做了。",
        "得查查大便常规。",
        "做个胸部DR。",
        "心电图也少不了。",
        "不过做个CT会比较好。",
    ],
}
DESKS: dict[str, dict[str, Any]] = {"saps": {}, "medpmc": {"actor": False}, "ai_hospital": {}}


@LANGUAGES
def test_an_order_that_names_nothing_is_heard_by_its_meaning(language: Language) -> None:
    known = {words for words, _ in order_wordings(language)}
    assert not known & {words for words, _ in UNSEEN[language]}
    missed = [(words, heard_items(words)) for words, item in UNSEEN[language] if heard_items(words) != {item}]
    assert len(missed) <= 1, missed


@LANGUAGES
def test_what_is_no_order_is_heard_as_none(language: Language) -> None:
    assert [words for words in NO_ORDERS[language] if heard_tests(words)] == []
    taught = [words for words, test in order_wordings(language) if test == NO_ORDER]
    heard = [words for words in taught if {*heard_tests(words)} - {*ordered_tests(words)}]
    assert len(heard) <= len(taught) // 50, heard


@LANGUAGES
def test_a_sentence_that_only_names_a_test_orders_nothing_and_one_that_orders_it_by_name_does(
    language: Language,
) -> None:
    known = {words for words, _ in named_orders(language)}
    assert not known & {normalise(words) for words in (*ONLY_NAMED[language], *BY_NAME[language])}
    assert [words for words in ONLY_NAMED[language] if not named_tests(words)] == [], "names a test"
    opened = [words for words in ONLY_NAMED[language] if heard_tests(words)]
    assert len(opened) <= 2, opened
    assert [words for words in BY_NAME[language] if heard_tests(words) != ordered_tests(words)] == []


@LANGUAGES
def test_of_the_offline_doctors_words_meaning_opens_nothing_more(language: Language) -> None:
    said = stock_words(language)
    assert [words for words in said if {*heard_tests(words)} - {*ordered_tests(words)}] == []
    orders = [words.replace("{}", name) for words in said if "{}" in words for name in ("CT", "MRI", "ECG")]
    assert orders and [words for words in orders if heard_tests(words) != ordered_tests(words)] == []


@pytest.mark.slow  # the embedding model reads what it has not seen
@LANGUAGES
def test_no_question_is_heard_as_an_order(language: Language) -> None:
    asked = [words for name in subjects() for words in wordings(language)[name]]
    assert [words for words in asked if heard_tests(words) != ordered_tests(words)] == []


def test_a_question_for_what_is_felt_is_not_even_weighed() -> None:
    assert weighed_texts("Does your belly hurt when you lie down?") == weighed_texts("躺下的时候肚子疼吗？") == []


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("We'll fill a couple of tubes from your vein.", "advice"),
        ("Would you go and pee in this pot for us?", "advice"),
        ("I want to listen to your lungs.", "advice"),
        ("Lie on your left side and pull up your knees.", "demand"),
        ("让我听听您的肺。", "advice"),
        ("请侧过身，把膝盖蜷起来。", "demand"),
        ("检查一下四肢肌力", "advice"),
        ("四肢肌力检查。", "advice"),
        ("查PSA。", "advice"),
        ("先查个CEA。", "advice"),
        ("PSA高吗？", "inquiry"),
        ("Hop up, I want to feel your belly, then feel the glands in your neck.", "advice"),
        ("躺下我听听心脏，脚背也按一下。", "advice"),
        ("Lie down on the couch, please, I need to press on your liver.", "demand"),
    ],
)
def test_what_the_doctor_does_is_advice_and_what_the_patient_is_to_do_on_the_spot_is_none(
    words: str, kind: str
) -> None:
    assert kind_of(words, "en" if words.isascii() else "zh") == kind


def with_results(language: Language) -> Case:
    case = next(case for case in load_cases() if case.language == language)
    told = case.model_dump(exclude={"folder"})
    results = {item: f"0{number}0 of {number}." for number, (_, item) in enumerate(UNSEEN[language])}
    hands = {item: text for item, text in results.items() if item.endswith("Examination") and item[0] in "SA"}
    others = {item: text for item, text in results.items() if item not in hands}
    told["examinations"] = {"physical": hands, "auxiliary": others, "images": []}
    told["key"]["imaging_reports"] = {}
    return Case.model_validate(told)


def before_order(case: Case) -> list[Turn]:
    return [Turn(speaker="doctor", text="?"), Turn(speaker="patient", text=case.patient.chief_complaint)]


@LANGUAGES
def test_every_desk_hears_an_order_as_the_others_do(language: Language) -> None:
    case = with_results(language)
    for number, (words, _) in [*enumerate(UNSEEN[language])][:3]:
        for patient, settings in DESKS.items():
            state = patient_turn_of(patient).invoke(
                {"case": case, "words": words, "dialogue": before_order(case)},
                context={"patient": patient, "models": {"default": "offline"}, **settings},
            )
            told = " ".join(turn.text for turn in state["dialogue"][3:])
            assert f"0{number}0 of {number}" in told, (patient, words)
    doctor = [Turn(speaker="doctor", text=words) for words, _ in UNSEEN[language][:3]]
    found = items_by_name(DialogueView(dialogue=doctor, physical_options=None, auxiliary_options=None))  # type: ignore[arg-type]
    assert {*found.auxiliary} == {item for _, item in UNSEEN[language][:3]} and not found.physical


@LANGUAGES
def test_the_physical_examination_as_a_whole_opens_all_findings_by_hand_at_every_desk(language: Language) -> None:
    opened = [(words, heard_items(words) & {*PHYSICAL_ITEMS.names}) for words in WHOLE[language]]
    assert [words for words, items in opened if items != {*PHYSICAL_ITEMS.names}] == []
    assert [(words, heard_items(words)) for words, items in NOT_WHOLE[language] if heard_items(words) != items] == []
    told = with_results(language).model_dump(exclude={"folder"})
    told["examinations"]["physical"] = {"Neck Examination": "0A0 is felt.", "Skin Examination": "0B0 is seen."}
    case = Case.model_validate(told)
    for patient, settings in DESKS.items():
        reply = patient_turn_of(patient).invoke(
            {"case": case, "words": WHOLE[language][0], "dialogue": before_order(case)},
            context={"patient": patient, "models": {"default": "offline"}, **settings},
        )
        said = " ".join(turn.text for turn in reply["dialogue"][3:])
        assert "0A0" in said and "0B0" in said and "010" not in said, (patient, said)


def test_who_reads_a_whole_where_a_part_was_ordered_opens_the_part() -> None:
    assert asked_for("Physical Examination", "Let me examine you.") == ["physical examination"]
    assert asked_for("Abdominal Examination", "Let me examine you.") == ["abdominal examination"]
    assert asked_for("Full Physical Examination", "Let me examine your belly.") == ["belly"]


def test_a_pregnancy_test_is_ordered_in_passing_as_blood_and_urine_are() -> None:
    heard = [(test.item, "妊娠试验" in test.spellings) for *_, test in heard_tests("先验个血，再验个孕吧。")]
    assert heard == [("Blood Test", False), ("Urine Test", True)]


def test_one_order_by_two_names_is_heard_once() -> None:
    assert [test.item for *_, test in heard_tests("抽个血，验个尿。")] == ["Blood Test", "Urine Test"]


@pytest.mark.parametrize(
    ("words", "items"),
    [
        ("I want an MR head on her.", {"MRI"}),
        ("They are going to scope you tomorrow.", {"Endoscopy"}),
        ("I need to do an internal now.", {"Urogenital System Examination"}),
        ("抽血、留尿、留便，三大常规做全。", {"Blood Test", "Urine Test", "Stool Test"}),
        ("Bend your knees and let me feel your belly.", {"Abdominal Examination"}),
        ("肚子做个B超，看看肝和胆。", {"Ultrasound"}),
    ],
)
def test_what_is_described_is_named_and_how_the_patient_lies_is_no_examination(words: str, items: set[str]) -> None:
    assert {test.item for *_, test in ordered_tests(words)} == items


def test_the_phrases_of_a_long_turn_are_cut_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sentence looks at its own: of 1,000 sentences, all together were looked at a million times."""
    cut: list[str] = []
    monkeypatch.setattr(hearing, "phrases", lambda folded: cut.append(folded) or phrases(folded))
    words = "We'll fill a couple of tubes from your vein, and then you may go home. " * 20
    found = [*hearing.weighed(words)]
    assert cut == [normalise(words)] and len(found) == 20
    assert all(first <= start and end <= last for (first, last), places in found for start, end in places)
