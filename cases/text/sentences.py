"""Where one sentence of a clinical text ends and the next begins."""

import re


def sentences(text: str) -> list[str]:
    """The sentences of a text, with their full stops; decimals are not cut."""
    return [part.strip() for part in re.findall(r".+?(?:[。！？；]|[.!?](?=\s|$)|$)", text, re.DOTALL) if part.strip()]
