"""Clini-Recon as a graph: section by section, at once, or by role-play; offline and over the wire."""

import asyncio
import json
import random
import re
from itertools import cycle
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from cases import load_cases
from cases.dialogues import Dialogue, Message
from cases.notes import Note, note_of
from graphs.reconstruction import builder, graph
from llm.errors import AnswerError, RefusedError
from nodes.reconstruction.gates import check_dialogue
from nodes.reconstruction.plan import plan_sections
from nodes.reconstruction.reader import ReadingView, objections_by_rule
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.schema_sampler import sample
from wardround.run.checkpoints import serializer
from wardround.run.tasks import TASKS

GRAPH: Any = graph
CASES = {case.id: case for case in load_cases()}
NOTE = note_of(CASES["internal-medicine-01"])
SECTIONS = [section["name"] for section in plan_sections()]
PLACEHOLDER = re.compile(r"[{}]|<[A-Za-z\u4e00-\u9fff]|\[[A-Z]|XX|@I|@my")
WAYS: list[dict[str, Any]] = [
    {},
    {"whole_dialogue": True},
    {"reconstruction": "direct"},
    {"reconstruction": "interactive"},
    {"reconstruction": "interactive", "max_turns": 40},
]


def run(note: Note = NOTE, **context: Any) -> dict[str, Any]:
    result: dict[str, Any] = GRAPH.invoke({"note": note}, context=context)
    return result


def spec(server: FakeServer) -> dict[str, str]:
    return {"default": f"openai:fake-model@{server.base_url}"}


def wordy(request: ChatRequest) -> Any:
    """A sample of the schema without digits, which no note would hold."""
    text = json.dumps(sample(request.schema or {}, random.Random(request.digest)))
    return json.loads(re.sub(r"(?<= )[0-9a-f]{4}\b", lambda found: found[0].translate(DIGITS), text))


DIGITS = str.maketrans("0123456789", "ghijklmnop")


@pytest.mark.slow
@pytest.mark.parametrize(("case_id", "context"), list(zip(sorted(CASES)[::9], cycle(WAYS), strict=False)), ids=str)
def test_offline_every_way_makes_a_dialogue_that_passes_the_gates_without_a_placeholder(
    case_id: str, context: dict[str, Any]
) -> None:
    dialogue: Dialogue = run(note_of(CASES[case_id]), **context)["dialogue"]
    assert check_dialogue(dialogue) == []
    assert not any(PLACEHOLDER.search(message.content) for message in dialogue.messages)
    assert dialogue.department == CASES[case_id].key.department and dialogue.diseases == CASES[case_id].key.diagnosis


@pytest.mark.slow
def test_clini_recon_goes_through_the_sections_in_order_and_tells_the_whole_history() -> None:
    result = run()
    dialogue: Dialogue = result["dialogue"]
    assert [part.section for part in result["sections"]] == SECTIONS and result["section"] == len(SECTIONS)
    assert list(dialogue.sections) == [name for name in SECTIONS if name in dialogue.sections]
    assert (dialogue.strategy, dialogue.spoken[0].role, dialogue.spoken[-1].role) == (
        "clini_recon",
        "user",
        "assistant",
    )
    said = " ".join(message.content for message in dialogue.spoken if message.role == "user")
    for fact in (
        "3 weeks",
        "one floor",
        "38.2 degrees",
        "4 kg",
        "amoxicillin",
        "five cigarettes",
        "asbestos",
        "My grandfather",
    ):
        assert fact in said, fact


@pytest.mark.slow
def test_the_disease_is_named_in_the_closing_sections_and_nowhere_before() -> None:
    dialogue: Dialogue = run(answer_key="told")["dialogue"]
    closing = dialogue.sections["initial_diagnosis"]
    disease = dialogue.diseases[0]
    assert not any(disease in message.content for message in dialogue.spoken[:closing])
    assert any(disease in message.content for message in dialogue.spoken[closing:])


@pytest.mark.slow
def test_each_section_is_in_the_state_as_soon_as_it_stands() -> None:
    saved = builder.compile(checkpointer=InMemorySaver(serde=serializer()))
    config: Any = {"configurable": {"thread_id": "1"}}
    saved.invoke({"note": NOTE}, config)
    counts = [len(state.values.get("sections", [])) for state in saved.get_state_history(config)]
    assert set(range(len(SECTIONS) + 1)) <= set(counts)
    assert isinstance(saved.get_state(config).values["note"], Note), "the types come back as what they were"


@pytest.mark.slow
def test_a_case_and_the_id_of_one_are_reconstructed_from_its_note() -> None:
    case = CASES["surgery-03"]
    for entry in ({"case": case}, {"case": case.model_dump(mode="json")}, {"case_id": case.id}):
        assert GRAPH.invoke(entry)["dialogue"].note == note_of(case).text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("context", "calls"), [({}, 11), ({"whole_dialogue": True}, 2), ({"reconstruction": "direct"}, 1)]
)
def test_over_the_wire_each_way_makes_its_calls_and_no_more(context: dict[str, Any], calls: int) -> None:
    with FakeServer(answer=wordy) as server:
        result = run(models=spec(server), **context)
        asked = [request.name for request in server.requests]
    assert len(asked) == calls
    assert ("ClinicalKnowledge" in asked) == (context.get("reconstruction") != "direct")
    assert result["dialogue"].spoken[0].role == "user"
    assert "covers_the_note" in {problem.gate for problem in check_dialogue(result["dialogue"])}, (
        "what a server makes up"
    )


def test_in_role_play_both_speak_in_turns_until_the_physician_ends_it_or_the_turns_are_used_up() -> None:
    def answer(request: ChatRequest) -> dict[str, Any]:
        words = {"text": "Tell me more, please." if request.name == "PhysicianTurn" else "It hurts at night."}
        return {**words, "finished": False} if request.name == "PhysicianTurn" else words

    with FakeServer(answer=answer) as server:
        result = run(models=spec(server), reconstruction="interactive", max_turns=3)
        asked = [request.name for request in server.requests]
    dialogue: Dialogue = result["dialogue"]
    assert TASKS["reconstruction"].ends(result) == ({"dialogue": "turn_limit"}, {"dialogue": 3}), "named in the record"
    assert asked == ["PhysicianTurn", "PatientTurn", "PhysicianTurn", "PatientTurn", "PhysicianTurn"]
    assert [message.role for message in dialogue.spoken] == ["user", "assistant"] * 3
    first, second, last = (request.text for request in server.requests if request.name == "PhysicianTurn")
    assert "Now greet the patient and ask your first question." in first and "3 turns left" in first
    assert (
        "Now say to the patient what comes next." in second
        and "the patient does not reply any more: ask nothing" in last
    )


def test_in_role_play_nobody_ends_a_dialogue_in_which_the_patient_has_said_nothing() -> None:
    def answer(request: ChatRequest) -> dict[str, Any]:
        physician = {"text": "What has brought you here?", "finished": True}
        return physician if request.name == "PhysicianTurn" else {"text": "It hurts at night."}

    with FakeServer(answer=answer) as server:
        result = run(models=spec(server), reconstruction="interactive", max_turns=4)
        asked = [request.name for request in server.requests]
    dialogue: Dialogue = result["dialogue"]
    assert TASKS["reconstruction"].ends(result) == ({"dialogue": "concluded"}, {"dialogue": 2})
    assert asked == ["PhysicianTurn", "PatientTurn", "PhysicianTurn"]
    assert "It hurts at night." in [message.content for message in dialogue.spoken]


@pytest.mark.parametrize("case_id", ["general-medicine-06", "internal-medicine-01"])
def test_offline_a_role_play_of_few_turns_tells_the_whole_history_in_longer_ones(case_id: str) -> None:
    few, many = (
        [message.content for message in run(note_of(CASES[case_id]), **play)["dialogue"].spoken]
        for play in ({"reconstruction": "interactive", "max_turns": turns} for turns in (10, 40))
    )
    findings = next(place for place, words in enumerate(many) if place % 2 and re.search(r"\d", words))
    history = [line for words in many[2:findings:2] for line in re.split(r"(?<=[.。])\s*", words) if line]
    assert len(few) < len(many) and len(few) <= 20 and len(history) > 10
    assert [line for line in history if line not in " ".join(few)] == []


def test_in_role_play_the_patient_may_hear_the_physicians_last_words_alone() -> None:
    def answer(request: ChatRequest) -> dict[str, Any]:
        number = len(server.requests)
        physician = {"text": f"Question number {number}?", "finished": False}
        return physician if request.name == "PhysicianTurn" else {"text": f"Reply number {number}."}

    seen = {}
    for context in ("dialogue", "words"):
        with FakeServer(answer=answer) as server:
            run(models=spec(server), reconstruction="interactive", max_turns=3, reply_context=context)
            seen[context] = [request.text for request in server.requests]
    assert "Question number 1?" in seen["dialogue"][3] and "Reply number 2." in seen["dialogue"][3]
    assert not re.search("number [12]", seen["words"][3]) and "Question number 3?" in seen["words"][3]
    assert "Reply number 2." in seen["words"][2], "the physician sees everything"


@pytest.mark.slow
def test_a_section_that_the_gates_object_to_is_written_again_with_the_objections_in_the_prompt() -> None:
    def answer(request: ChatRequest) -> Any:
        if request.name != "SectionDialogue":
            return None
        mended = "'dyspnea'" in request.text and '"objection to exchange 1"' in request.text
        return {"exchanges": [{"physician": "What is it?", "patient": "I cough." if mended else jargon}]}

    jargon = "I have dyspnea and orthopnea."
    for revisions, said in ((0, jargon), (1, "I cough.")):
        with FakeServer(answer=answer) as server:
            result = run(models=spec(server), section_revisions=revisions)
            assert len(server.requests) == 1 + len(SECTIONS) * (1 + revisions)
        assert {part.exchanges[0].patient for part in result["sections"]} == {said}


def asked_of(request: ChatRequest) -> tuple[int, int]:
    first, last = re.findall(r"Of turns (\d+) to (\d+) alone", request.text)[-1]
    return int(first), int(last)


@pytest.mark.slow
def test_a_reader_sees_note_and_turns_and_what_it_objects_to_fails_the_dialogue() -> None:
    def answer(request: ChatRequest) -> Any:
        if request.name != "Reading":
            return None
        first, last = asked_of(request)
        beyond = first == 1 and "the turns asked about are" not in request.messages[-1]["content"]
        supported = {"turn": last, "says": "Pain.", "note": "Chest pain.", "kind": "supported"}
        invented = {"turn": 99 if beyond else 3, "says": "A rash.", "note": "", "kind": "invented"}
        return {"turns": [supported, invented] if first == 1 else [supported]}

    with FakeServer(answer=answer) as server:
        models = {"dialogue_reader": spec(server)["default"]}
        dialogue: Dialogue = run(models=models, entailment=True)["dialogue"]
        asked = server.requests
    parts = [asked_of(request) for request in asked]
    assert len(parts) == len(set(parts)) + 1, "a turn that there is not is asked about"
    assert len(set(parts)) > 1 and all(NOTE.text[:40] in request.text for request in asked)
    assert all(one.content in request.text for one in dialogue.spoken for request in asked)
    (problem,) = check_dialogue(dialogue)
    assert str(problem) == "entailed_by_the_note (turn 3): invented: 'A rash.': the note says nothing of it"


@pytest.mark.slow
def test_turns_for_which_the_reader_gives_no_readable_answer_fail_the_dialogue_and_do_not_lose_it() -> None:
    def answer(request: ChatRequest) -> Any:
        if request.name != "Reading":
            return None
        return {"turns": []} if asked_of(request)[0] == 1 else {"turns": "all fine"}

    with FakeServer(answer=answer) as server:
        models = {"dialogue_reader": spec(server)["default"]}
        dialogue: Dialogue = run(models=models, entailment=True)["dialogue"]
    unread = dialogue.objections or []
    assert {one.kind for one in unread} == {"unread"} and dialogue.spoken
    assert all(problem.gate == "entailed_by_the_note" for problem in check_dialogue(dialogue))
    assert unread[0].reason.startswith(f"turns {unread[0].turn} to ") and "not a valid Reading" in unread[0].reason


@pytest.mark.slow
def test_once_a_server_refuses_the_reader_nothing_more_is_asked_about_other_turns() -> None:
    def first(request: ChatRequest) -> bool:
        return asked_of(request)[0] == 1

    async def read(server: FakeServer) -> tuple[int, int]:
        context = {"models": {"dialogue_reader": spec(server)["default"]}, "entailment": True}
        with pytest.raises(RefusedError):
            await GRAPH.ainvoke({"note": NOTE}, context=context)
        at_once = len(server.requests)
        await asyncio.sleep(1)
        return at_once, len(server.requests)

    with FakeServer(
        answer=lambda request: {"turns": "unreadable"},
        faults=lambda request: "401" if first(request) else None,
        latency=lambda request: 0.1 if first(request) else 0.4,
    ) as server:
        at_once, later = asyncio.run(read(server))
    assert at_once == later > 1


@pytest.mark.slow
def test_offline_the_reader_goes_by_the_rules_and_unasked_nobody_reads() -> None:
    assert run()["dialogue"].objections is None
    dialogue: Dialogue = run(entailment=True)["dialogue"]
    assert dialogue.objections == [] and check_dialogue(dialogue) == []
    worse = [*dialogue.messages, Message(role="user", content="I have had a cough for 77 weeks.")]
    view = ReadingView(
        dialogue.note,
        [("patient", "", False)] * 99,
        list(range(1, 100)),
        dialogue.model_copy(update={"messages": worse}),
        "en",
    )
    assert [(one.turn, one.kind) for one in objections_by_rule(view).objections] == [(len(worse), "contradicted")]


@pytest.mark.parametrize("mends", [True, False])
def test_a_basis_of_more_than_a_hundred_words_is_asked_for_once_more_then_kept(mends: bool) -> None:
    def answer(request: ChatRequest) -> Any:
        if request.name != "ClinicalKnowledge":
            return None
        found = sample(request.schema or {}, random.Random(1))
        again = "use fewer than 100" in request.messages[-1]["content"]
        found["diagnostic"] |= {"diagnosis_basis": "Fever." if again and mends else long}
        return found

    long = " ".join(f"sign{number}" for number in range(150))
    with FakeServer(answer=answer) as server:
        result = run(models={"clinical_expert": spec(server)["default"]}, whole_dialogue=True)
        assert len(server.requests) == 2
    assert len(result["knowledge"].diagnostic.diagnosis_basis.split()) == (1 if mends else 150)


@pytest.mark.parametrize("way", [{"reconstruction": "interactive"}, {"whole_dialogue": True}], ids=str)
def test_three_questions_in_a_turn_stand_where_the_paper_asks_for_two_in_the_prompt_alone(way: dict[str, Any]) -> None:
    """Its Table 2 counts them (Clini-Eval), and so do the gates of `reconstruct`."""

    def answer(request: ChatRequest) -> Any:
        assert "two questions" in request.text
        turn = {"physician": "Where? When? How?", "patient": "It hurts."}
        if request.name == "PhysicianTurn":
            return {"text": turn["physician"], "finished": turn["patient"] in request.text}
        return {"sections": [{"section": "chief_complaint", "exchanges": [turn]}]}

    with FakeServer(answer=answer) as server:
        models = {role: spec(server)["default"] for role in ("doctor", "dialogue_writer")}
        dialogue = run(models=models, max_turns=2, **way)["dialogue"]
        assert len(server.requests) == (2 if "reconstruction" in way else 1), "nothing is asked again"
    assert dialogue.spoken[1].content == "Where? When? How?"
    assert "few_questions" in {problem.gate for problem in check_dialogue(dialogue)}


def test_a_section_with_three_questions_in_a_turn_goes_back_to_its_writer() -> None:
    def answer(request: ChatRequest) -> Any:
        again = "3 questions at once" in request.text
        asked = "Where is it?" if again or "Chief complaint." not in request.text else "Where? When? How?"
        return {"exchanges": [{"physician": asked, "patient": "It hurts."}]}

    with FakeServer(answer=answer) as server:
        dialogue = run(models={"dialogue_writer": spec(server)["default"]})["dialogue"]
        assert any("3 questions at once" in request.text for request in server.requests)
    assert dialogue.spoken[1].content == "Where is it?"


def test_direct_role_play_keeps_three_questions_in_a_turn_which_the_gate_then_tells() -> None:
    def answer(request: ChatRequest) -> Any:
        assert "two questions" not in request.text
        return {"exchanges": [{"physician": "Where? When? How?", "patient": "It hurts."}]}

    with FakeServer(answer=answer) as server:
        dialogue = run(models=spec(server), reconstruction="direct")["dialogue"]
        assert len(server.requests) == 1
    assert dialogue.spoken[1].content == "Where? When? How?"
    assert "few_questions" in {problem.gate for problem in check_dialogue(dialogue)}


@pytest.mark.slow
def test_the_prompts_show_the_note_and_the_plan_without_a_placeholder() -> None:
    with FakeServer(answer=wordy) as server:
        run(models=spec(server))
        sections = [request.text for request in server.requests if request.name == "SectionDialogue"]
    assert len(sections) == len(SECTIONS)
    for text in sections:
        assert "The illness began 3 weeks ago" in text
        assert not re.search(r"\{\w+\}|<you|<who|<have|<您|<谁", text)


@pytest.mark.parametrize("how", [{"reconstruction": "direct"}, {"whole_dialogue": True}])
def test_offline_a_note_that_tells_nothing_of_a_patient_is_a_named_failure(how: Any) -> None:
    note = Note(id="a", text="Family and social history: Reviewed and remained unchanged.")
    with pytest.raises(AnswerError, match="says nothing about a patient"):
        GRAPH.invoke({"note": note}, context=how)


def test_a_whole_dialogue_in_which_nobody_speaks_is_asked_for_again() -> None:
    """A small model wrote one section, without an exchange; greeting and farewell were filed as an interview."""
    asked: list[str] = []

    def answer(request: ChatRequest) -> Any:
        asked.append(request.text)
        said = [{"physician": "Since when?", "patient": "Since yesterday."}] if len(asked) > 1 else []
        return {"sections": [{"section": "chief_complaint", "exchanges": said}]}

    with FakeServer(answer=answer) as server:
        result = run(models={"dialogue_writer": spec(server)["default"]}, whole_dialogue=True)
    assert "Since yesterday." in [message.content for message in result["dialogue"].messages]
    assert "no section has an exchange" in asked[1] and "no section has an exchange" not in asked[0]
