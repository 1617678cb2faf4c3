"""The counter-based generator Philox-4x32-10, and the pooling sequences TensorFlow draws from it.

The generator is that of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011). One
generator serves all axes of a call, in order.
"""

from __future__ import annotations

import math

_MASK = 0xFFFFFFFF


def _block(key: tuple[int, int], counter: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        first, second = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (second >> 32) ^ c1 ^ k0, second & _MASK, (first >> 32) ^ c3 ^ k1, first & _MASK
        k0, k1 = (k0 + 0x9E3779B9) & _MASK, (k1 + 0xBB67AE85) & _MASK
    return c0, c1, c2, c3


class Philox:
    """Blocks of four 32-bit words.

    >>> [f"{word:08x}" for word in Philox(1, 2).words(4)]
    ['e73404cf', '8cedc5d3', '3f071736', '0a0afddd']
    """

    def __init__(self, seed: int, seed2: int) -> None:
        seed, seed2 = seed % 2**64, seed2 % 2**64
        self._key = (seed & _MASK, seed >> 32)
        self._counter = seed2 << 64

    def words(self, count: int) -> list[int]:
        """The next words, in whole blocks: what is left of the last one is dropped."""
        drawn: list[int] = []
        for _ in range(math.ceil(count / 4)):
            c = self._counter
            drawn += _block(self._key, (c & _MASK, c >> 32 & _MASK, c >> 64 & _MASK, c >> 96))
            self._counter = (c + 1) % 2**128
        return drawn[:count]


def _pseudo_random(size: int, outputs: int, generator: Philox) -> list[int]:
    alpha, short = size / outputs, size // outputs
    most = min((short + 2) / alpha - 1, (size + 1 - short) / alpha - (outputs - 1))
    high, low = generator.words(2)
    u = ((high & 0xFFFFF) * 2**32 + low) / 2**52 * most
    return [0, *(math.ceil(alpha * (i + u)) - 1 for i in range(1, outputs)), size]


def _random(size: int, outputs: int, generator: Philox) -> list[int]:
    short, longer = divmod(size, outputs)
    lengths = [short + 1] * longer + [short] * (outputs - longer)
    words = generator.words(outputs)
    for i in range(outputs - 1):
        j = i + words[i] % (outputs - i)
        lengths[i], lengths[j] = lengths[j], lengths[i]
    sequence = [0]
    for length in lengths:
        sequence.append(sequence[-1] + length)
    return sequence


def sequence(size: int, outputs: int, pseudo_random: bool, generator: Philox) -> tuple[int, ...]:
    """Borders of the cells of fractional pooling: ``outputs + 1`` numbers from 0 to ``size``.

    >>> sequence(10, 6, False, Philox(1, 2))
    (0, 1, 3, 4, 6, 8, 10)
    """
    return tuple((_pseudo_random if pseudo_random else _random)(size, outputs, generator))
