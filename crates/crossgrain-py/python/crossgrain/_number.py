"""Checks integers that callers give. The error for one out of range is one line with the parameter and the range.

It omits the value, which may be secret or very long.
"""

from __future__ import annotations

import operator
import sys
from typing import Any

from . import _native

#: The maximum of thread and byte counts.
SIZE_MAX = 2 * sys.maxsize + 1


def number(name: str, value: Any, most: int | None = SIZE_MAX, least: int = 0) -> int:
    """The integer of a parameter, from `least` to `most` inclusive. `most` None means no upper limit."""
    try:
        given = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is an integer, not a {type(value).__name__}") from None
    if given < least or most is not None and given > most:
        range_ = f"from {_shown(least)} on" if most is None else f"from {_shown(least)} to {_shown(most)}"
        raise _native.Error(f"{name} is out of range: give an integer {range_}")
    return given


def _shown(limit: int) -> str:
    """A limit in digits, or as a power of two if it is large."""
    if abs(limit) < 1 << 16:
        return str(limit)
    sign, log = "-" if limit < 0 else "", (abs(limit) + 1).bit_length() - 1
    return f"{sign}2**{log}" if abs(limit) == 1 << log else f"2**{log} - 1"
