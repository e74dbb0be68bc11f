"""Replies of a real small model (SmolLM2-135M) and of real clinicians, and what is kept of them."""

import json
from typing import Any

import pytest

from llm.repetition import (
    copies,
    directions_in,
    echoes,
    names_in,
    remarks_in,
    says_directions,
    says_remarks,
    undescribed,
    without_fences,
    without_loops,
    without_names,
)

PAIN = "The patient has had a constant severe pain under her right ribs with vomiting and fever for 30 hours."
EXAMPLE = "This is not an example of a medical term but rather a description of the symptoms."
LUNG = (
    "In the left upper lobe lies a smooth round nodule of 5 mm beside the fissure, without calcium, without spicules "
    "and without contact to the pleura, unchanged since the computed tomography of August "
)
DIABETES = "The patient has a history of hand and neck pain, and has been diagnosed with diabetes"
REPORT = (
    "Chest: no abnormality was found. Heart: no abnormality was found. Abdomen: no abnormality was found. No fever. "
    "Liver, spleen and kidneys: no abnormality was found. No, no, no, she says when asked. No fever."
)


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (f"{PAIN} {EXAMPLE}\n{PAIN} {EXAMPLE}\n{PAIN} {EXAMPLE}\n{PAIN} This is not", f"{PAIN} {EXAMPLE}"),
        (
            "I would like to know, " + "and I would like to know " * 100,
            "I would like to know, and I would like to know",
        ),
        ("0" * 512, "0"),
        (
            "Pain for 30 hours, " + "Rashad, Rashad, 30 hours, " * 7 + "Rash",
            "Pain for 30 hours, Rashad, Rashad,",
        ),
        ("\n".join(f"{number}. {PAIN}" for number in range(1, 9)), f"1. {PAIN}"),
        (f"{PAIN}\n" + "- What else?\n" * 60, f"{PAIN}\n- What else?"),
        (f"{DIABETES}. " * 5 + DIABETES.replace("with diabetes", "by"), f"{DIABETES}."),  # bounded in length
        (f"{DIABETES}. " * 5 + "The patient has a history.", f"{DIABETES}."),
        (f"{DIABETES}. " * 5 + f"{DIABETES}.The", f"{DIABETES}."),
        ("腹部はい。" + "患者说腹痛三十小时。" * 40, "腹部はい。患者说腹痛三十小时。"),
    ],
)
def test_a_reply_is_cut_where_it_begins_to_say_only_what_it_has_said(reply: str, kept: str) -> None:
    assert without_loops(reply) == kept


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "Yes.",
        REPORT,
        f"{PAIN} {PAIN}",
        "-" * 80,
        f"{PAIN} {PAIN} {PAIN} The end.",
        f"{LUNG}2019. {LUNG}2020.",
        f"Day 1: {REPORT} Discharge planned for Monday.\nDay 2: {REPORT} Discharge planned for Friday.",
        json.dumps({"text": REPORT}),
        "[1, 1",
    ],
)
def test_what_repeats_itself_as_people_do_stays_as_it_is(reply: str) -> None:
    assert without_loops(reply) == reply


@pytest.mark.parametrize(
    ("reply", "kept"), [("1." * 50, "1."), ("你还可以叫哪；；" * 7, "你还可以叫哪；；"), (PAIN[:60], PAIN[:60])]
)
def test_a_loop_that_the_limit_of_tokens_cut_off_is_shorter(reply: str, kept: str) -> None:
    assert without_loops(reply) == reply and without_loops(reply, cut=True) == kept


@pytest.mark.parametrize(
    "reply",
    [
        "I take metoprolol in the morning with my food. On Sundays too. I take metoprolol in the morning with my fo",
        f"Findings\n{'-' * 60}\nThe liver is normal. The spleen is nor",
        "Heart: no abnormality was found. Lungs: no abnormality was found. Heart: no abnormality was found. Lungs: no",
        "不痛不痒，也没有流血。昨天开始的。不痛不痒，也没有流血，不痛不痒，也没有流血。昨天开始的。不痛不痒，也没",
        "He says: no, no, no, no, no, no, no, no, no, no, no, no, no, no, no, not again. Then he lay do",
    ],
)
def test_the_limit_of_tokens_makes_no_loop_of_what_is_said_twice_or_long_before_it(reply: str) -> None:
    assert without_loops(reply, cut=True) == reply


def test_each_text_of_a_json_object_is_cut_for_itself_and_the_object_stays_whole() -> None:
    reply = json.dumps({"symptoms": f"{PAIN} " * 9, "tests": [REPORT, "x " * 99], "urgent": True, "weight": 1.5})
    assert json.loads(without_loops(reply)) == {"symptoms": PAIN, "tests": [REPORT, "x"], "urgent": True, "weight": 1.5}


def test_a_list_that_never_ends_is_cut_too() -> None:
    assert without_loops('{"items": [' + '"Blood test", ' * 40) == '{"items": ["Blood test",'


SCHEMA: dict[str, Any] = {
    "description": "What the patient says.",
    "type": "object",
    "properties": {
        "text": {"type": "string"},
        "description": {"type": "string", "description": "Of the pain, in the patient's words."},
    },
}


def test_a_form_that_is_said_back_is_no_answer() -> None:
    assert echoes('{"text": "What the patient says.", "description": "Dull."}', SCHEMA)
    assert echoes('{"text": "It hurts.", "description": ["Of the pain, in the patient\'s words. "]}', SCHEMA)
    assert not echoes('{"text": "It hurts.", "description": "What the patient says"}', SCHEMA)
    assert not echoes("What the patient says.", SCHEMA)
    assert echoes(json.dumps(SCHEMA | {"required": ["text"]}), SCHEMA)
    assert echoes('{"additionalProperties": false, "properties": {"te', SCHEMA)
    assert not echoes('{"properties": {"text": "It hurts.", "description": "Dull."}}', SCHEMA), "a form filled in"


@pytest.mark.parametrize(
    ("said", "is_name"),
    [
        ("Symptoms", True),
        ("string", True),
        ("Findings", True),  # a heading
        ("symptoms_description", True),
        ("symptoms_", True),
        ("symptoms_scale", True),  # a field
        ("symptoms_patient", True),
        ("symptoms_gout", False),
        ("patient_description", False),  # of no name
        ("symptoms_list", False),  # a term
        ("symptoms, description", False),
    ],
)
def test_a_name_of_the_form_alone_or_with_its_words_is_no_answer(said: str, is_name: bool) -> None:
    kind = {"enum": ["symptoms_list", 2]}
    fields = {"symptoms": {"type": "string", "description": "Of the patient."}, "kind": kind, "symptoms_scale": {}}
    schema = {"type": "object", "properties": fields}
    reply = json.dumps({"symptoms": said, "urgent": True})
    kept = {"symptoms": "" if is_name else said, "urgent": True}
    assert json.loads(without_names(reply, names_in(schema, ["Findings"]), schema)) == kept


def test_what_a_repair_says_of_a_reply_is_no_answer_but_what_the_reply_had_said_is() -> None:
    remarks = remarks_in(
        "Your last answer: it has hurt for two days now. That is no object; try again", "It has hurt for two days now!"
    )
    assert remarks == {"that is no object"}
    for reply, is_said in (("That is no object.", True), ("No object", False)):
        assert says_remarks(reply, remarks) == says_remarks(json.dumps({"text": f"Well. {reply}"}), remarks) == is_said


@pytest.mark.parametrize(
    ("words", "least"),
    [
        ("one two three four five six seven eight nine ten eleven twelve", 12),
        ("甲乙丙丁戊己庚辛壬癸子丑寅卯辰巳午未申酉戌亥金木", 24),
    ],
)
def test_a_run_of_words_is_copied_from_what_a_shorter_prompt_lacks(words: str, least: int) -> None:
    prompt = f"Say: {words}. Go on."
    assert copies(f"So {words}", prompt, "Say: Go on.") and not copies(f"So {words}", prompt, prompt)
    shorter = words.removesuffix(" twelve").removesuffix("木")
    assert shorter != words and not copies(f"So {shorter}", prompt, "Say: Go on.")


def test_a_schema_without_descriptions_keeps_a_field_of_that_name() -> None:
    assert undescribed(SCHEMA) == {
        "type": "object",
        "properties": {"text": {"type": "string"}, "description": {"type": "string"}},
    }


def test_a_direction_is_a_whole_sentence_outside_of_material_and_quotes() -> None:
    told = 'You play the patient of this case today. Say "I am afraid that I do not know that." where you do not know.'
    directions = directions_in(f'{told}\n<data name="record">\nThe pain began two hours after dinner.\n</data>')
    assert says_directions("Hello. You play the patient of this case today!", directions)
    for said in ("I am afraid that I do not know that.", "The pain began two hours after dinner.", "You play."):
        assert not says_directions(said, directions)
    assert says_directions("请你作为患者回答医生提出的问题。", directions_in("请你作为患者回答医生提出的问题。"))
    assert not says_directions("您好,医生。", directions_in("您好,医生。"))


def test_what_a_direction_says_after_a_colon_is_a_direction_too() -> None:
    english = directions_in(
        "Now speak to the patient yourself: as long as something needs to be asked, ask one question."
    )
    assert says_directions("As long as something needs to be asked, ask one question.", english)
    assert not says_directions("As long as you rest, nothing needs to be asked of you.", english)
    chinese = directions_in("现在请直接对患者说接下来的话：只要还有需要问的，就提一个问题。")
    assert says_directions("只要还有需要问的，就提一个问题。", chinese)


def test_a_fence_is_removed_from_a_text_that_goes_on_with_a_form() -> None:
    said = "The patient's facts stand in the chart. The doctor says:"
    reply = json.dumps({"text": f"{said}\n</data>\n```json\n{{\n"})
    assert json.loads(without_fences(reply)) == {"text": said}


def test_a_form_that_breaks_off_keeps_its_code_fence_and_what_has_none_is_left() -> None:
    for reply in (
        '```json\n{"text": "It hu',
        "It hurts. ",
        '{"text": "It hurts. "}',
        '```json\n{"text": "It hurts."}\n```',
    ):
        assert without_fences(reply) == reply


def test_a_summary_that_names_what_was_said_by_its_first_words_is_no_loop() -> None:
    organs = ("left lung", "right lung", "heart", "liver", "spleen", "kidneys", "stomach", "bladder", "thyroid gland")
    findings = [f"The {organ} was examined" for organ in organs]
    reply = " ".join([*(f"{finding} without any sign of disease." for finding in findings), *findings])
    separate = reply.replace(" The ", "\nThe ")
    assert without_loops(separate) == separate


def test_a_text_of_nothing_but_brackets_is_emptied_without_a_fence_too() -> None:
    assert without_fences('{"plan": "[ ],"}') == '{"plan": ""}'


def test_a_schema_is_an_echo_although_nothing_in_it_is_described() -> None:
    schema = {"type": "object", "properties": {"plan": {"type": "string"}}}
    assert echoes(json.dumps(schema), schema) and not echoes('{"plan": "rest"}', schema)


@pytest.mark.parametrize(
    ("short", "long"),
    [
        ("Ask one question at once.", "Ask one short question at once."),
        ("请只问一个简短的问题呀。", "请你只问一个简短的问题呀。"),
    ],
)
def test_a_direction_has_six_words_at_least_of_which_a_chinese_character_is_half_a_one(short: str, long: str) -> None:
    assert directions_in(short) == set() and says_directions(long, directions_in(long))


def test_the_same_twelve_words_are_copied_and_eleven_are_chance() -> None:
    words = [f"word{number}" for number in range(12)]
    prompt = " ".join(words)
    assert copies(prompt, prompt, "") and not copies(" ".join(words[1:]), prompt, "")
