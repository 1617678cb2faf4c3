"""Pooling sequences of the fractional ops, drawn from the Philox-4x32-10 counter generator."""

import math
from collections.abc import Iterator

MASK = 0xFFFFFFFF


class Philox:
    """A position in the stream of a (seed, seed2) pair."""

    def __init__(self, seed: int, seed2: int) -> None:
        low, high = seed % 2**64, seed2 % 2**64
        self.key = (low & MASK, low >> 32)
        self.counter = high << 64

    def block(self, ahead: int) -> tuple[int, int, int, int]:
        """The four words of the block `ahead` of the current one."""
        counter = (self.counter + ahead) % 2**128
        c0, c1, c2, c3 = ((counter >> shift) & MASK for shift in (0, 32, 64, 96))
        k0, k1 = self.key
        for _ in range(10):
            p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
            c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK, (p0 >> 32) ^ c3 ^ k1, p0 & MASK
            k0, k1 = (k0 + 0x9E3779B9) & MASK, (k1 + 0xBB67AE85) & MASK
        return c0, c1, c2, c3

    def words(self) -> Iterator[int]:
        ahead = 0
        while True:
            yield from self.block(ahead)
            ahead += 1

    def skip(self, blocks: int) -> None:
        self.counter = (self.counter + blocks) % 2**128


def pooling_sequence(size: int, length: int, generator: Philox, pseudo_random: bool) -> list[int]:
    """Boundaries 0 = b[0] < … < b[length] = size of the cells along one axis; advances the generator."""
    lengths = _pseudo_random if pseudo_random else _shuffled
    boundaries = [0]
    for cell in lengths(size, length, generator):
        boundaries.append(boundaries[-1] + cell)
    return boundaries


def _pseudo_random(size: int, length: int, generator: Philox) -> list[int]:
    alpha, k = size / length, size // length
    limit = min((k + 2) / alpha - 1, (size + 1 - k) / alpha - (length - 1))
    words = generator.words()
    high, low = next(words), next(words)
    generator.skip(1)
    u = ((high & 0xFFFFF) * 2**32 + low) / 2**52 * limit
    edges = [1, *(math.ceil(alpha * (i + u)) for i in range(1, length)), size + 1]
    return [edges[i + 1] - edges[i] for i in range(length)]


def _shuffled(size: int, length: int, generator: Philox) -> list[int]:
    k, longer = divmod(size, length)
    cells = [k + 1] * longer + [k] * (length - longer)
    words = generator.words()
    for i in range(length - 1):
        j = i + next(words) % (length - i)
        cells[i], cells[j] = cells[j], cells[i]
    generator.skip(-(-length // 4))
    return cells
