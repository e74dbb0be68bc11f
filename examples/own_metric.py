"""A metric of one's own: did the referral see how urgent the case is?

    wardround run --plugin examples/own_metric.py --limit 2

It is a column beside the published ones in results, summary, tables and reports. The published average does not move.
"""

import wardround as wr

ORDER = ("routine", "urgent", "emergency")


@wr.metric("urgency", suite="medchain")
def urgency(case: wr.Case, answers: wr.Answers) -> float | None:
    """1 if the referral has the key's urgency, 0.5 if it is more careful than the key, else 0; higher is better.

    None if the key names no urgency: such a case does not count. A course that came to no referral is wrong, not left
    out: a failure never raises a score.
    """
    if case.key.urgency is None:
        return None
    if answers.referral is None or answers.referral.urgency is None:
        return 0.0
    expected, given = ORDER.index(case.key.urgency), ORDER.index(answers.referral.urgency)
    return 1.0 if given == expected else 0.5 if given > expected else 0.0
