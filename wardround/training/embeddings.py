"""Write the embeddings that are shipped: ``python -m wardround.training.embeddings``.

With them, a run of the built-in cases needs no embedding model. They are those of the symptom descriptions in the
memory, of the offline workflow's queries, and of the names of the clinics, by the multilingual model for Chinese cases
too; and, by that model, of what the offline doctors say in every case, what the offline patients may answer, and the
clauses of reports, which the judge of claims compares. Run this again when built-in cases, or the rules that describe
them, change (a test says when).
"""

from functools import cache

from cases import load_cases
from cases.case import ExaminationRecord
from cases.text.record_sentences import HISTORIES, record_sentences
from cases.text.sentences import sentences
from cases.vocabulary import IMAGE_CLASSES, Language
from graphs import clinical_workflow
from nodes.offline.classifiers import without_listed_tests
from nodes.offline.clauses import clauses, split
from nodes.offline.hearing import weighed_texts
from nodes.offline.pairs import said_in
from nodes.offline.whole_picture import clinic_names
from prompts import load_words
from retrieval import MULTILINGUAL_MODEL, remember
from retrieval.embedding import ship
from retrieval.vector_cache import COMPARED, HEARD, REPORTED
from scoring.metrics.content import clauses_of


def stock_words(language: Language) -> list[str]:
    """Return the texts that the offline patients embed of what the offline doctors say in every case."""
    doctor = load_words("medchain/words", language)["doctor"]
    texts = [
        *(text for of in (doctor, doctor["of_a_child"]) for text in (*of["questions"], of["in_particular"])),
        *(doctor["farewell"], doctor["farewell"] + doctor["suggestion"]),
        *(physician := load_words("clini_eval/words", language)["physician"])["questions"],
        physician["results"],
        *load_words("consultation/words", language)["doctor"].values(),
        load_words("saps/words", language)["greeting"],
    ]
    turns = [part for text in texts for part in (text, text.partition(": ")[0])]
    parts = [
        part
        for text in turns
        for part in (text, *sentences(text), *split(sentences(text), language), *clauses(text, language))
    ]
    return [*map(without_listed_tests, parts), *(classified for part in parts for classified in weighed_texts(part))]


def tellable_sentences() -> list[str]:
    """Return the sentences of the built-in cases' histories and their clauses, which are compared with questions."""
    return [
        part
        for case in load_cases()
        for fact in record_sentences(case.patient, ExaminationRecord(), case.language)
        if fact.section in HISTORIES
        for part in said_in(fact.text)
    ]


def reported_clauses() -> list[str]:
    """Return the clauses of the built-in cases' reports and described pictures, without what the examiner lacks."""
    texts = [
        text
        for case in load_cases()
        for reports in (case.key.imaging_reports, case.examinations.results)
        for item, text in reports.items()
        if item in IMAGE_CLASSES
    ]
    texts += [load_words("medchain/words", language)["group"]["no_description"] for language in ("en", "zh")]
    return [clause.text for text in texts for clause in clauses_of(text)]


def remembered_texts() -> list[str]:
    """Return every text that the memory embeds in an offline run of the built-in cases."""
    return sorted({*clinic_names("en"), *(remember(case).symptoms for case in load_cases())}.union(*queries().values()))


def compared_texts() -> list[str]:
    """Return every text that is embedded by the multilingual model to compare a Chinese case with others."""
    texts = {*clinic_names("zh"), *(remember(case).symptoms for case in load_cases())}
    return sorted(texts.union(*(queries()[case.id] for case in load_cases() if case.language == "zh")))


@cache
def queries() -> dict[str, set[str]]:
    """Return the symptom descriptions by which the offline workflow searches the memory for each built-in case."""
    found: dict[str, set[str]] = {}
    for case in load_cases():
        calls = clinical_workflow.invoke({"case": case}, context={"feedback": "off"})["trace"].calls
        found[case.id] = {call.answer["symptoms"] for call in calls if call.role == "refiner"}
    return found


if __name__ == "__main__":
    print(f"{ship(remembered_texts())} embeddings shipped")
    print(f"{ship(compared_texts(), COMPARED, MULTILINGUAL_MODEL)} for Chinese cases shipped")
    spoken = [*stock_words("en"), *stock_words("zh"), *tellable_sentences()]
    print(f"{ship(spoken, HEARD, MULTILINGUAL_MODEL)} of what doctors and patients say shipped")
    print(f"{ship(reported_clauses(), REPORTED, MULTILINGUAL_MODEL)} of clauses of reports shipped")
