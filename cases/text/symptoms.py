"""The symptom description: the one feature of a case that is embedded and searched by (MedCase-RAG, B.3).

The paper refines the patient's words to "approximately 70 characters" of Chinese. Seventy Chinese characters say
about what forty English words say, so the English budget is 240 characters. The rule is deterministic: what is
refined when a case is filed and when a new patient is looked up comes out alike.
"""

import re
from collections.abc import Iterator

from cases.vocabulary import Language, normalise

_BUDGET: dict[Language, int] = {"en": 240, "zh": 70}
_JOINT: dict[Language, str] = {"en": ", ", "zh": "，"}

_SENTENCE_EN = re.compile(r"[;!?\n]+|[.:](?=\s|$)")
_CLAUSE_EN = re.compile(r",(?=\s|$)|\s(?=(?:but|however|although|though)\b)", re.IGNORECASE)
_CLAUSE_ZH = re.compile(r"[。；，！？：;!?:\n]+|[,.](?!\d)|但是?|不过|然而")

# What follows "no" or "without" in a complaint rather than in a denial: "no appetite" is a symptom.
_LACK_EN = (
    r"(?!\s+(?:longer|appetite|sleep|energy|strength|relief|improvement|feeling|sensation|bowel|stools?|urine|periods?"
    r"|vision|sense|interest|motivation|effect|apparent|obvious|known|clear)\b)"
)
_NEGATION_EN = re.compile(
    rf"""(?:\b(?:and|or|also|who)\s+)?(?:\b(?:i|he|she|they|(?:the\s+)?patient|there)\s+)?(?:
    \b(?:den(?:y|ies|ied|ying)|negative\s+for|nor|absence\s+of)\b
    |\b(?:without|(?:has|have|had|is|are|was|were|with|reports?|reported|and|or)\s+no){_LACK_EN}\b
    |^\s*(?:no|not\s+any){_LACK_EN}\b
    |\b(?:do|does|did|has|have|had)(?:\s+not|n['’]t)\s+(?:have|had|any|notic\w+|experienc\w+|report\w*|seen|been\s+any)\b
    |\bnever\s+(?:had|been|experienced)\b)""",
    re.IGNORECASE | re.VERBOSE,
)
# A denial runs on through its list ("denies fever, chills or sweats") until a clause says something of its own.
_NEW_STATEMENT_EN = re.compile(
    r"\b(?:i|he|she|they|it|patient|has|have|had|is|was|are|were|reports?|complains?|started|began|feels?|felt)\b"
    r"|^\s*(?:but|however|although|though|yet|which|that|radiating|spreading|worsen\w+|lasting|relieved|aggravated"
    r"|associated|accompanied|especially|mostly|mainly)\b",
    re.IGNORECASE,
)
_LEAD_EN = re.compile(
    r"^(?:(?:and|also|so|then|but|however|although|though|yet)\s+)*"
    r"(?:(?:(?:the\s+)?patient|he|she|i|they)(?:\s+|(?=['’]))(?:also\s+)?"
    r"(?:['’](?:ve|m|s)\s+|(?:have|has|had|am|is|was)\s+)?(?:been\s+)?"
    r"(?:(?:having|got|a|an|also|noticed|reports?|reported|describes?|experienc(?:ed|es|ing|e)|feel(?:s|ing)?|felt"
    r"|complain(?:s|ed|ing)?\s+of|present(?:s|ed|ing)?\s+with|suffer(?:s|ed|ing)?\s+from)\s+)*)?",
    re.IGNORECASE,
)
_FILLER_EN = re.compile(
    r"(?:(?:hi|hello|hey|good|morning|afternoon|evening|thanks?|you|please|doctor|dr|well|yes|yeah|no|okay|ok|um|uh|so"
    r"|patient|i|he|she|and)\b\W*)*"
)

# "无力", "无法", "没胃口", "无明显诱因", "无痛性肿块" are findings, not denials.
_NEGATION_ZH = re.compile(
    r"^(?:患者|病人|患儿|我|他|她|自诉|并|且|也|亦|目前|近来|发病以来|病程中|期间|平时|同时|均|还|又|从)*+"
    r"(?>否认|未诉|未见|未出现|未伴|未觉|未发现|未曾|未有|不伴|无|没有|没)"
    r"(?!明?显?(?:诱因|原因|好转|缓解|改善)|力|劲|法|尿|汗|意识|食欲|胃口|精神|味|知觉|感觉|痛性|大便|排便|排气|月经|睡|办法)"
)
_RUN_ON_ZH = re.compile(r"(?:，|并|且)?(?:否认|不伴|未伴)")
_LEAD_ZH = re.compile(r"^(?:患者|病人|患儿|自诉|主诉|现病史|诉|我|他(?!汀)|她|感觉|感到|觉得|自觉|出现|有)+")
_FILLER_ZH = re.compile(r"(?:您好|你好|医生|大夫|谢谢|好的|好|嗯|是的|请问|麻烦了?|您|你|啊)+")


def describe_symptoms(*parts: str, language: Language) -> str:
    """Refine the patient's words to a symptom description.

    Clauses are taken in the order given, whole, until the budget is used up (70 characters in Chinese, 240 in
    English). Denied symptoms, courtesies, lead-ins ("the patient reports") and repetitions are left out; the opening
    clause is the complaint itself and is kept whatever its form ("No bowel movement for three days").

    Args:
        *parts: texts in order of weight: the chief complaint first, then the present illness or further words.
        language: the language of the texts.

    Returns:
        One line, at most the budget long; empty if the parts say nothing.
    """
    budget, joint = _BUDGET[language], _JOINT[language]
    kept: list[str] = []
    for clause in _clauses(parts, language):
        bare = normalise(clause)
        if bare in normalise(joint.join(kept)):
            continue
        # A clause that says an earlier one again, and more, takes its place.
        longer = [*(earlier for earlier in kept if normalise(earlier) not in bare), clause]
        if len(joint.join(longer)) <= budget:
            kept = longer
        elif kept:
            break
        else:
            kept = [_shorten(clause, budget)]
    return joint.join(kept)


def _clauses(parts: tuple[str, ...], language: Language) -> Iterator[str]:
    split, lead = (_affirmed_en, _LEAD_EN) if language == "en" else (_affirmed_zh, _LEAD_ZH)
    opening = True
    for part in parts:
        for clause, affirmed in split(part):
            if _is_filler(clause, language):
                continue
            told = affirmed or (clause if opening else "")
            told = " ".join(lead.sub("", told.strip()).split()).strip(" ,，、.。")
            if told:
                yield told
            opening = False


def _affirmed_en(text: str) -> Iterator[tuple[str, str]]:
    """Each clause with what of it is affirmed (empty if all of it is denied)."""
    for sentence in _SENTENCE_EN.split(text):
        denying = False
        for clause in _CLAUSE_EN.split(sentence):
            if denial := _NEGATION_EN.search(clause):
                denying = True
                yield clause, clause[: denial.start()]
            else:
                denying = denying and not _NEW_STATEMENT_EN.search(clause)
                yield clause, "" if denying else clause


def _affirmed_zh(text: str) -> Iterator[tuple[str, str]]:
    for clause in map(str.strip, _CLAUSE_ZH.split(text)):
        run_on = _RUN_ON_ZH.search(clause)
        yield clause, "" if _NEGATION_ZH.search(clause) else clause[: run_on.start()] if run_on else clause


def _is_filler(clause: str, language: Language) -> bool:
    bare = normalise(clause)
    return not bare or (_FILLER_ZH if language == "zh" else _FILLER_EN).fullmatch(bare) is not None


def _shorten(clause: str, budget: int) -> str:
    if len(clause) <= budget:
        return clause
    cut = clause[:budget]
    at_word = cut.rsplit(None, 1)[0]  # Chinese has no spaces: nothing to cut back to
    return at_word if len(at_word) > budget // 2 else cut
