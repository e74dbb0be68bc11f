"""Write the embeddings that are shipped: ``python -m wardround.run.ship_embeddings``.

With them a run of the built-in cases needs no embedding model. They are the symptom descriptions that the memory holds,
those that the offline workflow asks it with, the names of the clinics, and what the offline doctors and the items of
the tracker's test set say; run this again when built-in cases, or the rules that describe them, change (a test says
when).
"""

from cases import load_cases
from cases.text.sentences import sentences
from graphs import clinical_workflow
from nodes.offline.meaning import clauses, heard
from nodes.offline.whole_picture import clinic_names
from prompts import load_words
from retrieval import remember
from retrieval.embedding import ship
from scoring.aie.simulator_set import read_items, shipped_files


def stock_words() -> list[str]:
    """What the offline doctors say in every case, and those of the test set, as the offline patients read it."""
    said = [
        *(doctor := load_words("medchain/words", "en")["doctor"])["questions"],
        *(doctor["farewell"], doctor["farewell"] + doctor["suggestion"]),
        *(physician := load_words("clini_eval/words", "en")["physician"])["questions"],
        physician["results"],
        *load_words("consultation/words", "en")["doctor"].values(),
        load_words("saps/words", "en")["greeting"],
        *(item.doctor for path in shipped_files() for item in read_items(path).records if item.language == "en"),
    ]
    whole = [part for text in said for part in (text, text.partition(": ")[0])]
    return [heard(part) for text in whole for part in (text, *sentences(text), *clauses(text, "en"))]


def shipped_texts() -> list[str]:
    """Every text that an offline run of the built-in cases has embedded."""
    texts = {*clinic_names("en"), *stock_words()}
    for case in load_cases():
        texts.add(remember(case).symptoms)
        calls = clinical_workflow.invoke({"case": case}, context={"feedback": "off"})["trace"].calls
        texts |= {call.answer["symptoms"] for call in calls if call.role == "refiner"}
    return sorted(texts)


if __name__ == "__main__":
    print(f"{ship(shipped_texts())} embeddings shipped")
