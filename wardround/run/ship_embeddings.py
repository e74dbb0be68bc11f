"""Write the embeddings that are shipped: ``python -m wardround.run.ship_embeddings``.

With them a run of the built-in cases needs no embedding model. They are the symptom descriptions that the memory holds
and those that the offline workflow asks it with, and the names of the clinics; run this again when built-in cases, or
the rules that describe them, change (a test says when).
"""

from cases import load_cases
from graphs import clinical_workflow
from nodes.offline.whole_picture import clinic_names
from retrieval import remember
from retrieval.embedding import ship


def shipped_texts() -> list[str]:
    """Every text that an offline run of the built-in cases has embedded."""
    texts = {*clinic_names("en")}
    for case in load_cases():
        texts.add(remember(case).symptoms)
        calls = clinical_workflow.invoke({"case": case}, context={"feedback": "off"})["trace"].calls
        texts |= {call.answer["symptoms"] for call in calls if call.role == "refiner"}
    return sorted(texts)


if __name__ == "__main__":
    print(f"{ship(shipped_texts())} embeddings shipped")
