"""A custom metric: did the referral recognise how urgent the case is?

    wardround run --plugin examples/own_metric.py --limit 2

It is a column beside the published ones in results, summary, tables and reports. The published average is unchanged.
"""

import wardround as wr

ORDER = ("routine", "urgent", "emergency")


@wr.metric("urgency", suite="medchain")
def urgency(case: wr.Case, answers: wr.Answers) -> float | None:
    """1 if the urgency equals the key's, 0.5 if it is higher (more careful), else 0; higher is better.

    None if the key has no urgency, so that the case does not count. A case without a referral scores 0 instead, because
    a failure must never raise a score.
    """
    if case.key.urgency is None:
        return None
    if answers.referral is None or answers.referral.urgency is None:
        return 0.0
    expected, given = ORDER.index(case.key.urgency), ORDER.index(answers.referral.urgency)
    return 1.0 if given == expected else 0.5 if given > expected else 0.0
