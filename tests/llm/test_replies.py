import json
import time

import pytest
from langchain_core.messages import AIMessage

from llm.replies import answer_in, find_json, text_of, texts_in, without_list_marks


@pytest.mark.parametrize(
    "text",
    [
        '{"level": 3}',
        ' \n{"level": 3}\n\nI hope this helps.',
        'The answer is {"level": 3}.',
        '```json\n{"level": 3}\n```',
        '```\n{\n "level": 3\n}\n```',
        'In JSON {sic}:\n```JSON\n{"level": 3}\n```\nDone.',
        '<think>Perhaps {"level": 1}? No.</think>\n{"level": 3}',
        'Perhaps {"level": 1}? No.</think>{"level": 3}',
        '<seed:think>Perhaps {"level": 1}? No.</seed:think>{"level": 3}',
        '◁think▷Perhaps {"level": 1}? No.◁/think▷{"level": 3}',
        '<|channel|>analysis<|message|>{"level": 1}?<|end|><|start|>assistant<|channel|>final<|message|>{"level": 3}',
        '<|channel|>final <|constrain|>json<|message|>{"level": 3}<|return|>',
        '<|channel>thought\n{"level": 1}?<channel|>{"level": 3}',
        '<|START_THINKING|>{"level": 1}?<|END_THINKING|><|START_RESPONSE|>{"level": 3}<|END_RESPONSE|>',
        '<|begin_of_box|>{"level": 3}<|end_of_box|>',
        '{"level": 3}\n```json\n{"level": 3}\n```',
    ],
)
def test_the_object_is_found_in_what_models_put_around_it(text: str) -> None:
    assert find_json(text) == {"level": 3}


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("<seed:think>I must not name it.</seed:think>It hurts here.", "It hurts here."),
        ("<|channel|>analysis<|message|>I must not name it.<|end|>", ""),
        ("<|channel|>analysis<|message|>Hm<|end|><|start|>assistant<|channel|>final<|message|>It hurts.", "It hurts."),
        ("It hurts.<|im_end|>\n<|im_start|>user\nSince when?", "It hurts."),
        ("<|im_start|>assistant\nIt hurts.</s>", "It hurts."),
        ("It hurts <end_of_turn>", "It hurts"),
        ("Below 38 < x | y > 37", "Below 38 < x | y > 37"),
    ],
)
def test_nobody_hears_a_thought_or_the_marks_of_a_template(said: str, heard: str) -> None:
    assert answer_in(said) == heard


@pytest.mark.parametrize(
    "text",
    [
        "",
        "level 3",
        '{"level": 3',
        '```json\n{"level": 3\n```',
        '```json\n{"level": 3}\n```\nNo, rather:\n```json\n{"level": 4',
        '{"level": 3} or {"level": 4}',
        '{"level": 3}, or rather {"level": 4',
        '{"level": [{"level": 3}, {"lev',
        '<think>{"level": 3}</think>',
        '{"level": 3, "reason": "", "level": 4}',
        "{'level': 3, 'level': 4}",
        '{"a":' * 100_000,
        "[3]",
    ],
)
def test_of_a_broken_or_ambiguous_object_nothing_is_made(text: str) -> None:
    with pytest.raises(ValueError):
        find_json(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"level": 3, "said": ["it\'s {so}", null, true,],}',
        """{'level': 3, 'said': ["it's {so}", None, True]}""",
        '{"level": 3, "said": ["it\'s {so}", None, True]}',
        '{“level”：3，“said”：["it\'s {so}", null, true]}',
        '{"level"：3，"said"：["it\\\'s {so}"，null，true]}',
        '{"level":\u00a03,\u3000"said":\u202f["it\'s {so}",\u200bnull, true]}',
        '{”level”: 3, ”said”: ["it\'s {so}", null, true]}',
        '{level: 3, said: ["it\'s {so}", null, true]}',
        'As {asked}: { // the answer\n "level": 3, "said": ["it\'s {so}", null, true]} {smile}',
    ],
)
def test_an_object_is_read_whatever_its_spelling(text: str) -> None:
    assert find_json(text) == {"level": 3, "said": ["it's {so}", None, True]}


@pytest.mark.parametrize(
    "said", ["a // b, ]", "“so”，he said：None", "it is 'so', True", "a: b,}", "12\u00a0mg,\u3000twice"]
)
def test_what_stands_in_a_text_is_no_spelling(said: str) -> None:
    assert find_json(json.dumps({"said": said, "level": 3}, ensure_ascii=False)[:-1] + ",}") == {
        "said": said,
        "level": 3,
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"text": "您说的"心慌"是指什么？", "done": false}', '您说的"心慌"是指什么？'),
        ('{"text": ""心慌"是什么感觉？", "done": false}', '"心慌"是什么感觉？'),
        ('{"text": "您说"心慌"", "done": false}', '您说"心慌"'),
        ('{"text": ["心慌""胸闷"], "done": false}', None),
        ('{"text": "心慌""done": false}', None),
        ('{"text": "您说"心慌"，多久了？", "done": false}', '您说"心慌"，多久了？'),
        ('{"text": "您说"心慌"和"胸闷"。", "done": False,}', '您说"心慌"和"胸闷"。'),
        ('{"text": "Is the "heavy" pain still there?", "done": false}', 'Is the "heavy" pain still there?'),
        ('{"text": "您说的\\"心慌\\"和"胸闷"呢？", "done": false}', '您说的"心慌"和"胸闷"呢？'),
        ('{"text": "您说"心慌", "胸闷"吗？", "done": false}', None),  # or a text of its own
        ('{"text": ["心慌"，"胸闷"，"说"疼"了"], "done"：false}', None),
        ('{"text": ["心慌" "胸闷"], "why": "说"疼"了", "done": false}', None),
        ('{"text": "心慌 "done": false}', None),
        ('{"text": "您说的"心慌"是', None),
    ],
)
def test_a_quote_where_json_can_have_none_belongs_to_the_text(text: str, said: str | None) -> None:
    if said is None:
        with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
            find_json(text)
    else:
        assert find_json(text) == {"text": said, "done": False}


def test_what_occurs_twice_alike_is_read() -> None:
    assert find_json('{"level": 3, "level": 3}') == {"level": 3}
    call = {"name": "grade", "args": {"level": 3}, "id": "1"}
    twice, differing = [call, {**call, "id": "2"}], [call, {**call, "id": "2", "args": {"level": 4}}]
    assert find_json(text_of(AIMessage("", tool_calls=twice))) == {"level": 3}
    with pytest.raises(ValueError, match="more than one"):
        find_json(text_of(AIMessage("", tool_calls=differing)))


@pytest.mark.parametrize("written", ["NaN", "-Infinity"])
def test_what_is_no_number_is_refused_as_such_and_not_as_a_field_given_twice(written: str) -> None:
    with pytest.raises(ValueError, match=f"^{written} is not a number"):
        find_json(f'{{"level": {written}}}')


def test_a_fence_inside_a_value_is_a_part_of_the_value() -> None:
    value = {"reason": '```json\n{"level": 1}\n```', "level": 3}
    assert find_json(json.dumps(value, indent=1)) == value


def test_what_is_done_to_an_object_that_was_read_changes_no_later_reading_of_the_reply() -> None:
    find_json('{"names": []}')["names"].append("of somebody else")
    assert find_json('{"names": []}') == {"names": []}


def test_a_text_may_run_over_several_lines_as_some_grammars_of_servers_let_it() -> None:
    assert find_json('{"text": "It hurts:\n\t- under the ribs"}') == {"text": "It hurts:\n\t- under the ribs"}


def test_each_object_that_is_spelt_worse_than_the_one_before_costs_no_further_pass_over_the_rest() -> None:
    began = time.process_time()
    with pytest.raises(ValueError, match=r"Expecting|trailing comma"):
        find_json("".join('{"a":1' + "," * commas + "}" for commas in range(1, 900)))
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (["1. Gout", "2. Asthma"], ["Gout", "Asthma"]),
        (["1、痛风", "2、哮喘"], ["痛风", "哮喘"]),
        (["（1）痛风"], ["痛风"]),
        (["①痛风", "② 哮喘"], ["痛风", "哮喘"]),
        (["②痛风"], ["②痛风"]),
        (["1) Gout", " ", "2) Asthma"], ["Gout", "Asthma"]),
        (["- Gout", "- Asthma"], ["Gout", "Asthma"]),
        (["1. colchicine 0.5 - 1 mg", "2. rest 2) ice"], ["colchicine 0.5 - 1 mg", "rest 2) ice"]),  # marks within
        (["2. Gout", "1. Asthma"], ["2. Gout", "1. Asthma"]),  # no order of a list
        (["1.5 mg of colchicine"], ["1.5 mg of colchicine"]),
        (["1,25-dihydroxyvitamin D"], ["1,25-dihydroxyvitamin D"]),
        (["1. Gout", "Asthma"], ["1. Gout", "Asthma"]),
        ([1, "2. Gout"], [1, "2. Gout"]),
        ("1. Gout", "1. Gout"),
        ([], []),
    ],
)
def test_numbers_and_bullets_of_a_whole_list_are_no_part_of_its_items(given: object, read: object) -> None:
    assert without_list_marks(given) == read


def test_the_texts_of_a_value_are_all_that_is_written_and_no_name_of_a_field() -> None:
    content = {"case_id": "a", "scores": {"diagnosis": 2.0}, "answers": {"dialogue": [{"text": "b"}, None, True]}}
    assert [*texts_in(content)] == ["a", "b"]
