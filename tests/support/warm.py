"""Imported by the process that commands are forked from, to load once what nearly every command needs.

Nothing here may start a thread, open a connection or compute an embedding: these do not survive a fork.
"""

import gc

from cases import load_cases
from cases.text.fact_preservation import terms_in
from cases.text.ordered_tests import ordered_tests
from llm.transport import certificates
from nodes.offline.subjects import subjects, words_of
from nodes.offline.topics import topic_of
from prompts.complete import warm_up
from scoring.metrics.content import stated
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
gc.freeze()  # keeps it out of the children's garbage collection
