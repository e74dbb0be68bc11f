"""What the gates catch, and whom they let through: dialogues spoiled by functions, and those that people had."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from cases import load_cases
from cases.dialogues import PHYSICIAN, Dialogue
from cases.notes import Note, note_of
from nodes.reconstruction.filing import assemble
from nodes.reconstruction.gates import GATES, check_dialogue
from nodes.reconstruction.parsed import ParsedDialogue
from nodes.reconstruction.role_setting import roles_of
from nodes.reconstruction.script import script
from tests.nodes.reconstruction.spoiling import SPOILED, Spoil
from tests.nodes.reconstruction.spoiling_by_words import BY_WORDS
from wardround.training.gates import mts_dialogues, number_of

MTS = Path(__file__).resolve().parents[4] / "shared" / "datasets" / "mts_dialog" / "MTS-Dialog-TestSet-1.csv"
SETTLED, HELD_OUT = 0, 1  # the rules were settled on the even half of MTS-Dialog


def of_half(half: int) -> list[Dialogue]:
    """Every other dialogue of MTS-Dialog."""
    return [dialogue for dialogue in mts_dialogues(MTS) if number_of(dialogue) % 2 == half]


def caught(dialogues: list[Dialogue], kinds: Mapping[str, Spoil] = SPOILED) -> dict[str, tuple[int, int]]:
    """Of each kind of spoiling, how many of those made were caught."""
    made: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for dialogue in dialogues:
        for kind, spoil in kinds.items():
            if (spoiled := spoil(dialogue)) is not None:
                made[kind] += 1
                found[kind] += is_caught(spoiled)
    return {kind: (found[kind], count) for kind, count in made.items()}


def is_caught(dialogue: Dialogue) -> bool:
    """Whether a gate finds anything; those after it are not tried."""
    parsed = ParsedDialogue(dialogue)
    return any(True for gate in GATES.values() for _ in gate(parsed))


def written(note: Note) -> Dialogue:
    roles = roles_of(note)
    return assemble(note, roles, script(note, roles, ""), "", note.language).model_copy(
        update={"diseases": note.diseases}
    )


@pytest.mark.slow
def test_of_our_own_dialogues_every_kind_of_spoiling_is_caught_in_nineteen_of_twenty() -> None:
    own = [written(note_of(case)) for case in load_cases()[::24]]
    assert [str(problem) for dialogue in own for problem in check_dialogue(dialogue)] == []
    counts = caught(own)
    assert len(counts) >= 12
    assert sum(found for found, _ in counts.values()) >= 0.95 * sum(made for _, made in counts.values()), counts


@pytest.mark.slow
def test_of_the_kinds_written_later_those_that_the_page_calls_caught_are_caught() -> None:
    own = [written(next(note for note in map(note_of, load_cases()) if note.language == "en"))]
    counts = caught(own, BY_WORDS)
    assert len(counts) >= 12
    for kind in ("foreign", "heading", "broken_off", "unwilling"):
        assert counts[kind] == (1, 1), kind
    assert 2 * sum(found for found, _ in counts.values()) >= len(counts), counts


@pytest.mark.slow
@pytest.mark.skipif(not MTS.is_file(), reason=f"no data set at {MTS}")
@pytest.mark.parametrize("half", [SETTLED, HELD_OUT])
def test_real_dialogues_pass_and_spoiled_ones_are_caught(half: int) -> None:
    real = of_half(half)
    sound = [dialogue for dialogue in real if not check_dialogue(dialogue)]
    assert len(sound) >= 0.95 * len(real)
    counts = caught(sound[::4])
    assert sum(found for found, _ in counts.values()) >= 0.95 * sum(made for _, made in counts.values()), counts


def test_offline_a_family_is_asked_how_old_the_child_is_and_not_for_its_work_or_for_tobacco() -> None:
    history = "Personal history: She lives at home."
    child = written(Note(id="a", text=f"Patient: 3-year-old female.\nChief complaint: Rash for 2 days.\n{history}"))
    asked = " ".join(message.content for message in child.spoken if message.role == PHYSICIAN)
    assert "how old is your daughter" in asked.casefold() and "work" not in asked
    assert any("lives at home" in message.content for message in child.spoken)
    assert not any(word in asked for word in ("smok", "alcohol", "tobacco"))
    infant = written(Note(id="a", text="Patient: 10-month-old male.\nChief complaint: Vomiting."))
    assert "My son is 10 months old." in [message.content for message in infant.spoken]
    ages = {"3-week-old": "3 weeks", "5-day-old": "5 days", "8-year-old": "8 years", "18-month-old": "18 months"}
    for stated, told in ages.items():
        young = written(Note(id="a", text=f"Patient: {stated} female.\nChief complaint: Vomiting."))
        assert f"My daughter is {told} old." in [message.content for message in young.spoken]
    newborn = written(Note(id="a", text="患者：4天，女，新生儿。\n主诉：皮肤发黄。", language="zh"))
    assert "出生4天。孩子是新生儿。" in [message.content for message in newborn.spoken]
