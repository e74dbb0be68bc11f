"""Imported by the process that commands are forked from: what nearly each of them reads first is read there, once.

Nothing here starts a thread, opens a connection or asks an embedding: a child could not go on with it.
"""

import gc

from cases import load_cases
from cases.text.fact_preservation import terms_in
from cases.text.ordered_tests import ordered_tests
from llm.transport import certificates
from nodes.offline.meaning import subjects, words_of
from nodes.offline.topics import topic_of
from prompts.loading import warm_up
from scoring.metrics.claims import stated
from wardround.config.experiment_file import read_experiment
from wardround.store.manifest import manifest_of

warm_up()
certificates()
load_cases()
manifest_of(read_experiment(None, {}), [])
for language, words in (("en", "Does your chest hurt? Please have an X-ray done."), ("zh", "头痛吗？请做胸部CT。")):
    ordered_tests(words)
    topic_of(words, language)
    terms_in(words, language)
    stated(words)
    for subject in subjects():
        words_of(subject, language)
gc.collect()
gc.freeze()  # no child looks through it again
