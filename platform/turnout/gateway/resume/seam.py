"""Where ids and text meet: which text an engine held back, by what a tokenizer says. Pure."""

TAIL = 24
"""Characters of the known text that have to be found again: special tokens before them, which the
client never sees, do not matter then."""
_HALF = "\N{REPLACEMENT CHARACTER}"


def held_text(decoded: str, known: str, hidden: int) -> str | None:
    """Returns the text after the known one, which is exactly `hidden` characters long.

    `decoded` is the text of the answer's ids. None where the two do not fit: then the last id is
    half a character, or the ids are not those of this text.
    """
    if decoded.endswith(_HALF) and (hidden or not known.endswith(_HALF)):
        return None
    if len(decoded) < hidden:
        return None
    cut = len(decoded) - hidden
    head, tail = decoded[:cut], known[-TAIL:]
    # Tokenizers of the SentencePiece kind drop the space before a text's first word.
    fits = head.endswith(tail) or head == tail.removeprefix(" ")
    return decoded[cut:] if fits else None
