"""The worked example of CliniChat's page (its Figure 9): note, decisions and dialogue of one built-in case a language.

After a change of the offline writer, ``python -m tests.docs.test_worked_example`` writes it anew.
"""

import re

import pytest

from cases.dialogues import PATIENT
from graphs import reconstruction
from nodes.reconstruction.gates import check_dialogue
from tests.test_architecture import ROOT

PAGE = ROOT / "docs" / "papers" / "clinichat-example.md"
CASES = ("pediatrics-02", "pediatrics-05")
WRITTEN = re.compile(r"(?<=\n\n)## .*", re.DOTALL)


def example(case_id: str) -> str:
    """What is said of a case: the note, what the expert decided, and who says what under which section."""
    made = reconstruction.invoke({"case_id": case_id}, context={"answer_key": "told"})
    dialogue, known = made["dialogue"], made["knowledge"].diagnostic
    assert check_dialogue(dialogue) == []
    decided = {name: getattr(known, name) for name in type(known).model_fields}
    starts = {place: section for section, place in dialogue.sections.items()}
    lines = [f"## `{case_id}`", "", "```text", dialogue.note, "```", ""]
    lines += ["| decided by the clinical expert | |", "|---|---|"]
    lines += [f"| {name.replace('_', ' ')} | {_shown(value)} |" for name, value in decided.items() if value]
    lines += [f"| the family speaks for the | {made['roles'].speaker} |", ""]
    lines += ["| section | who | says |", "|---|---|---|"]
    for place, message in enumerate(dialogue.spoken):
        who = "patient's side" if message.role == PATIENT else "physician"
        lines.append(f"| {starts.get(place, '').replace('_', ' ')} | {who} | {_shown(message.content)} |")
    return "\n".join([*lines, ""])


def _shown(value: object) -> str:
    text = "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text.replace("|", "\\|").replace("\n", " ")


def written() -> str:
    """All of the page after its beginning."""
    return "\n".join(map(example, CASES))


@pytest.mark.slow
def test_the_worked_example_is_what_the_graph_makes() -> None:
    assert WRITTEN.findall(PAGE.read_text("utf-8")) == [written()]


if __name__ == "__main__":
    PAGE.write_text(WRITTEN.sub(lambda _: written(), PAGE.read_text("utf-8")), "utf-8")
