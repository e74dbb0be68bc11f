"""Dialogues as training examples: what is read, what is labelled, what is counted; and that broken masks are seen."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from cases.dialogues import Dialogue, Message
from llm.conversation import PLAIN_TEMPLATE, source_tokens
from wardround.tuning import smoke
from wardround.tuning.examples import UNLABELLED, Counts, Example, examples_of
from wardround.tuning.smoke import make_base

pytestmark = pytest.mark.slow  # PyTorch is imported

CHAT_TEMPLATE = (
    "{% for m in messages %}"
    "{% if loop.index0 % 2 != (m.role == 'assistant') %}{{ raise_exception('turns') }}{% endif %}"
    "<{{ m.role }}>{{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    make_base(folder)
    return folder


@pytest.fixture
def tokenizer(base: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(base)


def test_a_base_whose_end_begins_a_turn_is_refused_before_anything_is_trained(tokenizer: Any, tmp_path: Path) -> None:
    from wardround.tuning.base import load_tokenizer
    from wardround.tuning.configuration import TuningError

    tokenizer.chat_template = CHAT_TEMPLATE.replace("<assistant>", "</s>assistant ")
    tokenizer.save_pretrained(tmp_path / "wrong")
    with pytest.raises(TuningError, match=r"'</s>' begins the model's turn in its chat template, .* correct"):
        load_tokenizer(str(tmp_path / "wrong"))
    of_phi = "{% if not add_generation_prompt %}</s>{% endif %}"  # ends a text
    for number, end in enumerate(("", of_phi)):
        tokenizer.chat_template = CHAT_TEMPLATE + end
        tokenizer.save_pretrained(tmp_path / f"right{number}")
        assert load_tokenizer(str(tmp_path / f"right{number}")).eos_token == "</s>"


def dialogue(*said: str, first: str = "user", system: str = "") -> Dialogue:
    roles: list[Any] = ["user", "assistant"] if first == "user" else ["assistant", "user"]
    spoken = [Message(role=roles[place % 2], content=words) for place, words in enumerate(said)]
    return Dialogue(id="d", messages=[Message(role="system", content=system), *spoken] if system else spoken)


def made(tokenizer: Any, *dialogues: Dialogue, source: int = 400, target: int = 100) -> tuple[list[Example], Counts]:
    return examples_of(dialogues, tokenizer, source, target)


def collated(examples: Sequence[Example], tokenizer: Any) -> dict[str, Any]:
    from trl.trainer.sft_trainer import DataCollatorForLanguageModeling

    found: dict[str, Any] = DataCollatorForLanguageModeling(tokenizer.pad_token_id)([one.row for one in examples])
    return found


def spoken_from(example: Example) -> int:
    return next(place for place, label in enumerate(example.labels) if label != UNLABELLED)


def read(example: Example, tokenizer: Any) -> str:
    text: str = tokenizer.decode(example.tokens[: spoken_from(example)].tolist())
    return text


def said(example: Example, tokenizer: Any) -> str:
    text: str = tokenizer.decode([label for label in example.labels if label != UNLABELLED])
    return text


def test_each_turn_of_the_physician_is_one_example_that_has_read_the_dialogue_so_far(tokenizer: Any) -> None:
    examples, counts = made(tokenizer, dialogue("I cough.", "Since when?", "A week.", "Any fever?"))
    assert [said(example, tokenizer) for example in examples] == ["Since when?</s>", "Any fever?</s>"]
    assert read(examples[0], tokenizer) == "Patient:\nI cough.\nPhysician:\n"
    assert read(examples[1], tokenizer) == (
        "Patient:\nI cough.\nPhysician:\nSince when?</s>\nPatient:\nA week.\nPhysician:\n"
    )
    assert counts == Counts(dialogues=1, examples=2, turns=2)


def test_nothing_but_the_physicians_words_and_their_end_is_labelled(tokenizer: Any) -> None:
    ((example,), _) = made(tokenizer, dialogue("头痛三天了。", "您好，哪里痛？"))
    begin = len(tokenizer("Patient:\n头痛三天了。\nPhysician:\n").input_ids)
    assert example.labels[:begin].tolist() == [UNLABELLED] * begin
    assert example.labels[begin:] == example.tokens[begin:]
    assert said(example, tokenizer) == "您好，哪里痛？</s>"


def test_a_chat_template_of_the_tokenizer_is_used_and_always_given_turns_that_it_takes(tokenizer: Any) -> None:
    tokenizer.chat_template = CHAT_TEMPLATE
    spoken = dialogue("Hello.", "I cough.", "Since when?", first="assistant", system="Be kind.")
    twice = spoken.model_copy(update={"messages": [*spoken.messages, Message(role="assistant", content="Any fever?")]})
    ((example,), counts) = made(tokenizer, twice)
    assert read(example, tokenizer) == "<user>I cough.</s><assistant>"
    assert said(example, tokenizer) == "Since when?\nAny fever?</s>"
    assert counts == Counts(dialogues=1, examples=1, turns=1, openings=1)


def test_of_a_source_that_is_too_long_whole_oldest_turns_are_left_out(tokenizer: Any) -> None:
    long = dialogue("First complaint. " * 12, "First question?", "Second answer.", "Second question?")
    length = len(tokenizer("Patient:\nSecond answer.\nPhysician:\n").input_ids)
    examples, counts = made(tokenizer, long, source=length)
    assert [read(example, tokenizer) for example in examples] == ["Patient:\nSecond answer.\nPhysician:\n"]
    assert counts == Counts(dialogues=1, examples=1, turns=1, shortened_sources=1, unanswerable=1)


@pytest.mark.parametrize("template", [PLAIN_TEMPLATE, CHAT_TEMPLATE, CHAT_TEMPLATE.replace("</s>", "")])
@pytest.mark.parametrize(("too_long", "most"), [(False, 1), (True, 2)])
def test_a_dialogue_that_is_encoded_once_has_the_loss_of_its_turns(
    tokenizer: Any, base: Path, template: str, too_long: bool, most: int
) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    model: Any = AutoModelForCausalLM.from_pretrained(base)
    tokenizer.chat_template = template
    talk = [dialogue("I cough.", "Since when?", "A week, and I have a fever too.", "How high was it?", "No.", "Bye.")]
    read_last = source_tokens(tokenizer, talk[0].spoken[:-1], 400)
    assert read_last is not None
    source = len(read_last.tokens) - too_long
    losses, sizes = [], []
    for unit in ("turn", "dialogue"):
        examples, counts = examples_of(talk, tokenizer, source, 5, unit)
        assert counts.turns == 3 and counts.examples == len(examples)
        with torch.inference_mode():
            found = collated(examples, tokenizer)
            sizes.append(sum(len(example.tokens) for example in examples))
            shifted, labels = model(**found).logits[:, :-1], found["labels"][:, 1:]
            losses.append(torch.nn.functional.cross_entropy(shifted.flatten(0, 1), labels.flatten(), reduction="sum"))
    assert losses[0].item() == pytest.approx(losses[1].item(), rel=1e-4)
    assert sizes[1] < sizes[0] and counts.examples == most


def test_words_beyond_the_target_length_are_cut_counted_and_get_no_end(tokenizer: Any) -> None:
    words = "Do you smoke, and have you had trouble with your lungs before?"
    length = len(tokenizer(words).input_ids)
    ((whole,), none) = made(tokenizer, dialogue("I cough.", words), target=length)
    ((cut,), one) = made(tokenizer, dialogue("I cough.", words), target=length - 1)
    assert said(whole, tokenizer) == words + "</s>" and none.cut_targets == 0
    assert words.startswith(said(cut, tokenizer)) and one.cut_targets == 1
    assert len(cut.tokens) - spoken_from(cut) == length - 1


def test_a_turn_without_words_is_no_example(tokenizer: Any) -> None:
    examples, counts = made(tokenizer, dialogue("I cough.", "  "))
    assert not examples and counts == Counts(dialogues=1, empty=1)


def test_the_plain_template_keeps_what_is_said_as_it_is(tokenizer: Any) -> None:
    words = '{{ 1 + 1 }} <b> "quoted"'
    text = tokenizer.apply_chat_template(
        [{"role": "user", "content": words}], chat_template=PLAIN_TEMPLATE, tokenize=False, add_generation_prompt=True
    )
    assert text == f"Patient:\n{words}\nPhysician:\n"


WORDS = ["Since when?", "Do you bring up any phlegm?"]


def batch(tokenizer: Any) -> dict[str, Any]:
    examples, _ = made(tokenizer, *(dialogue("I cough.", words) for words in WORDS))
    return collated(examples, tokenizer)


def faults(batch: dict[str, Any], tokenizer: Any, words: Sequence[str] = WORDS) -> str:
    return " ".join(smoke.mask_faults(batch, words, tokenizer, target=100))


def test_a_batch_as_it_is_collated_has_no_fault(tokenizer: Any) -> None:
    assert faults(batch(tokenizer), tokenizer) == ""


def test_the_check_sees_a_label_on_the_patients_words(tokenizer: Any) -> None:
    broken = batch(tokenizer)
    broken["labels"][0, 3] = broken["input_ids"][0, 3]
    assert "row 0: the labels say" in faults(broken, tokenizer)


def test_the_check_sees_that_the_end_is_not_labelled(tokenizer: Any) -> None:
    broken = batch(tokenizer)
    place = int(broken["attention_mask"][1].sum()) - 1
    broken["labels"][1, place] = UNLABELLED
    assert "row 1: the labels say" in faults(broken, tokenizer)


def test_the_check_sees_labels_that_have_slipped_by_a_place(tokenizer: Any) -> None:
    broken = batch(tokenizer)
    broken["labels"] = broken["labels"].roll(-1, dims=1)
    assert "differs from the token at its position" in faults(broken, tokenizer)


def test_the_check_sees_padding_that_is_labelled(tokenizer: Any) -> None:
    broken = batch(tokenizer)
    row = int(broken["attention_mask"].sum(dim=1).argmin())
    broken["labels"][row, -1] = broken["input_ids"][row, -1]
    assert f"row {row}" in faults(broken, tokenizer)


def test_the_check_sees_words_of_another_turn(tokenizer: Any) -> None:
    assert "row 0" in faults(batch(tokenizer), tokenizer, WORDS[::-1])
