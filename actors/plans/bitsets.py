"""Sets of indices as bit sets in Python integers: bit i is set iff i is in the set."""

from collections.abc import Iterator, Sequence


def bits(mask: int) -> Iterator[int]:
    """Yield the indices of the set bits, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def mask_of(indices: Sequence[int]) -> int:
    """Return the bit set of the indices, in time linear in the highest one."""
    if len(indices) == 1:
        return 1 << indices[0]
    if not indices:
        return 0
    buffer = bytearray(max(indices) // 8 + 1)
    for index in indices:
        buffer[index >> 3] |= 1 << (index & 7)
    return int.from_bytes(buffer, "little")


def transposed(count: int, rows: Sequence[int]) -> list[int]:
    """Return the transpose of a bit matrix with `count` columns: for each column, its rows."""
    columns: list[list[int]] = [[] for _ in range(count)]
    for number, row in enumerate(rows):
        for index in bits(row):
            columns[index].append(number)
    return [mask_of(column) for column in columns]
