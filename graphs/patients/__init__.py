"""The patient systems of the papers: one subgraph a file, which answers one turn of the doctor.

Its state is `PatientSideState`, its output `PatientSideOutput`; ``graphs/interview.py`` names it in ``PATIENTS``.
"""
