"""Prompts by their beginnings: a chain of block hashes, and which replica has seen which blocks."""

from collections import OrderedDict

SMALLEST_BLOCK = 256
"""Characters, about 64 tokens: four of the 16-token blocks that vLLM's prefix cache keeps."""
GROWTH = 0.25
"""A block is this share of what lies before it: an equal beginning is known to a fifth."""
MOST_CHARACTERS = 32_768
"""Further text is not looked at: a prompt costs a bounded time, whatever its length."""
MAX_HOLDERS = 4
"""Replicas remembered per block, the latest ones."""

Blocks = tuple[int, ...]


def _ends() -> tuple[int, ...]:
    ends = [SMALLEST_BLOCK]
    while (end := ends[-1] + max(SMALLEST_BLOCK, int(ends[-1] * GROWTH))) <= MOST_CHARACTERS:
        ends.append(end)
    return tuple(ends)


ENDS = _ends()
"""Where each block ends."""
CHARACTERS = (0, *ENDS)
"""How long a beginning of so many blocks is."""


def blocks_of(text: str, salt: str = "") -> Blocks:
    """Returns a hash for each whole block of a text, each over everything before it as well.

    Python's own string hash: fast, and keyed anew in every process, so that nobody can make
    prompts that collide.
    """
    chain: list[int] = []
    last, start, length = hash(salt), 0, len(text)
    for end in ENDS:
        if end > length:
            break
        last = hash((last, text[start:end]))
        chain.append(last)
        start = end
    return tuple(chain)


class PrefixIndex:
    """Which replica was sent which blocks; the least recently used ones are forgotten.

    A guess of what is in the replicas' own caches: they tell nobody what they keep.
    """

    def __init__(self, most: int = 65_536) -> None:
        self._most = most
        self._holders: OrderedDict[int, tuple[str, ...]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._holders)

    def matched(self, blocks: Blocks) -> dict[str, int]:
        """Returns how many of a prompt's first blocks each replica has seen; none are left out."""
        found: dict[str, int] = {}
        holders_of = self._holders.get
        for depth, block in enumerate(blocks):
            is_broken = True
            for holder in holders_of(block, ()):
                if found.get(holder, 0) == depth:
                    found[holder] = depth + 1
                    is_broken = False
            if is_broken:
                break
        return found

    def saw(self, blocks: Blocks, replica_id: str) -> None:
        """Notes that a replica gets a prompt of these blocks."""
        holders = self._holders
        for block in blocks:
            known = holders.get(block, ())
            if replica_id not in known:
                holders[block] = (replica_id, *known[: MAX_HOLDERS - 1])
            holders.move_to_end(block)
        while len(holders) > self._most:
            holders.popitem(last=False)
