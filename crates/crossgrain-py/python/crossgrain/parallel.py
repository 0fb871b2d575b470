"""Parallel algorithms over NumPy arrays, on CPUs and GPUs: the same bits at every place.

    >>> import numpy as np
    >>> from crossgrain import parallel
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> parallel.transform(lambda a, x, y: a * x + y, 2.0, x, x)
    array([3., 6., 9.])

A kernel is a Python function of numbers. It is called once, with symbols that record what it does; what was recorded runs on all
elements. So it has Python's operators and NumPy's functions of arrays, `numpy.where` in place of branches, and any numbers: those are
state, given to a program when it runs, and no program's text says them. Counts to shift by are part of it.

Numbers are bool, uint8, uint32, int32, uint64, float32 and float64. Nothing is converted unasked: two types meet by `astype`.

`place` is "seq" (one thread), "par" (all threads), "cuda:0" or "wgpu:0" (a GPU), or "auto": the first GPU that is no CPU in disguise, or
else "par". Arrays are brought there and back each time. A `Vector` stays where it is: of vectors, an algorithm makes vectors there.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from . import _native
from ._trace import Lane, checked, key, recorded, turn, unit

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Lane",
    "Vector",
    "copy_if",
    "count_if",
    "find",
    "gather",
    "generate",
    "inclusive_scan",
    "max_element",
    "min_element",
    "reduce",
    "sort",
    "sort_by_key",
    "transform",
    "turn",
    "unit",
]

_U32 = np.dtype(np.uint32)


class Vector:
    """An array's elements at a place. `numpy.asarray` brings them back."""

    __slots__ = ("_dtype", "_numbers", "_shape")

    def __init__(self, array: Any, place: str = "auto") -> None:
        array = np.asarray(array)
        self._dtype, self._shape = checked(array.dtype), array.shape
        self._numbers = _native.Numbers(np.ascontiguousarray(array), place)

    @classmethod
    def _of(cls, numbers: Any, dtype: np.dtype[Any], shape: Any = None) -> Vector:
        made = cls.__new__(cls)
        made._numbers, made._dtype, made._shape = numbers, dtype, (len(numbers),) if shape is None else shape
        return made

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the elements."""
        return self._dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self._shape

    @property
    def place(self) -> str:
        """Where they are: "par", "cuda:0"."""
        return self._numbers.place

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError("a vector of no axes has no length")
        return self._shape[0]

    def __repr__(self) -> str:
        return f"<Vector of {self._dtype}, {self._shape}, at {self.place}>"

    def numpy(self) -> np.ndarray:
        """The elements as an array."""
        array = np.empty(self._shape, self._dtype)
        # A bool must be 0 or 1; the bytes written here are.
        self._numbers.write(array.view(np.uint8) if self._dtype == np.bool_ else array)
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the elements are elsewhere: they can only be copied")
        return self.numpy().astype(dtype or self._dtype, copy=False)


class _Given:
    """The arguments of an algorithm: arrays at one place, and the form of the results."""

    def __init__(self, arrays: Any, place: str | None) -> None:
        vectors = [array for array in arrays if isinstance(array, Vector)]
        self.is_vector = bool(vectors)
        places = {vector.place for vector in vectors}
        if place is not None:
            places.add(_native.place_name(place))
        if len(places) > 1:
            raise ValueError(f"vectors live at different places, {' and '.join(sorted(places))}: make all at one")
        self.place = places.pop() if places else "auto"
        self.vectors = [array if isinstance(array, Vector) else Vector(array, self.place) for array in arrays]
        shapes = {vector.shape for vector in self.vectors}
        if len(shapes) > 1:
            raise ValueError(f"arrays have the shapes {' and '.join(map(str, sorted(shapes)))}: give one shape")

    def __getitem__(self, at: int) -> Vector:
        return self.vectors[at]

    def back(self, vector: Vector) -> Any:
        return vector if self.is_vector else vector.numpy()

    def gathered(self, indices: Any) -> Any:
        """The elements at these indices, of all arrays."""
        made = [Vector._of(vector._numbers.gather(indices), vector._dtype) for vector in self.vectors]
        backs = tuple(map(self.back, made))
        return backs if len(backs) > 1 else backs[0]


def _is_array(argument: Any) -> bool:
    """Whether an argument has elements; NumPy's scalars have none."""
    return isinstance(argument, list) or hasattr(argument, "__array__") and not isinstance(argument, np.generic)


def _made(f: Callable[..., Any], arguments: Any, place: str | None) -> tuple[_Given, list[Vector], bool]:
    """Applies a function to arrays and numbers."""
    given = _Given([argument for argument in arguments if _is_array(argument)], place)
    if not given.vectors:
        raise TypeError("a kernel takes one array or more: give some, or use generate")
    types = iter([vector.dtype for vector in given.vectors])
    kernel, dtypes, is_several = recorded(f, [next(types) if _is_array(argument) else argument for argument in arguments])
    made = kernel.transform([vector._numbers for vector in given.vectors])
    shape = given[0].shape
    return given, [Vector._of(numbers, dtype, shape) for numbers, dtype in zip(made, dtypes)], is_several


def _mask(f: Callable[..., Any], arguments: Any, place: str | None) -> tuple[_Given, Any]:
    given, made, is_several = _made(f, arguments, place)
    if is_several or made[0].dtype != np.bool_:
        raise TypeError(f"a condition gives one truth value, not {', '.join(str(vector.dtype) for vector in made)}: compare something")
    return given, made[0]._numbers


def _key(vector: Vector) -> Any:
    kernel, _, _ = recorded(key, [vector.dtype])
    return kernel.transform([vector._numbers])[0]


def _scalar(bits: int, dtype: np.dtype[Any]) -> Any:
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]


def _sum_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of sums: types shorter than 32 bits are summed in 32 bits."""
    return _U32 if dtype.itemsize == 1 else dtype


def _sum_name(dtype: np.dtype[Any]) -> str:
    return f"Sum{'F' if dtype.kind == 'f' else 'U'}{8 * _sum_type(dtype).itemsize}"


def transform(f: Callable[..., Any], *arguments: Any, place: str | None = None) -> Any:
    """What a function makes of every element of arrays: an array, or a tuple if it gives several values.

    Arguments are arrays of one shape, and numbers, which are the same for all elements and are told to a program when it runs.
    """
    given, made, is_several = _made(f, arguments, place)
    backs = tuple(map(given.back, made))
    return backs if is_several else backs[0]


def generate(f: Callable[..., Any], numbers: int | range, *arguments: Any, place: str = "auto", vector: bool = False) -> Any:
    """What a function makes of numbers, which it is given as uint32: those from 0 on, so many, or those of a range.

    Other arguments are the same for all. The result is an array, or with `vector` a `Vector`; a tuple if the function gives several values.
    """
    numbers = numbers if isinstance(numbers, range) else range(0, operator.index(numbers))
    if numbers.step != 1 or not 0 <= numbers.start <= numbers.stop <= 1 << 31:
        raise ValueError("numbers are one after another, from 0 to 2**31: give how many, or a range of those")
    kernel, dtypes, is_several = recorded(f, [_U32, *arguments], is_indexed=True)
    made = kernel.generate(place, numbers.start, numbers.stop)
    vectors = [Vector._of(column, dtype) for column, dtype in zip(made, dtypes)]
    backs = tuple(vectors if vector else (column.numpy() for column in vectors))
    return backs if is_several else backs[0]


def reduce(array: Any, op: str = "sum", *, place: str | None = None) -> Any:
    """All elements combined: their "sum", the "min" or the "max", of which an array without elements has none.

    Sums are of the array's type, and of bool and uint8 uint32; those of integers are modulo their size. What is no number is neither least
    nor greatest. Sums of float32 and float64 are the same at every place, in an order that follows from how many there are.
    """
    if op not in ("sum", "min", "max"):
        raise ValueError(f"elements are not combined by {op!r}: choose sum, min or max")
    given = _Given([array], place)
    vector = given[0]
    if op != "sum":
        if op == "max" and vector.dtype.kind == "f":
            return -reduce(transform(lambda x: -x, vector), "min")
        at = _outermost(vector, op == "max")
        return Vector._of(vector._numbers.gather(_native.Numbers(np.array([at], _U32), vector.place)), vector.dtype).numpy()[0]
    dtype = _sum_type(vector.dtype)
    # The sum of nothing is zero. The reduction of an empty float vector would give -0.
    return _scalar(vector._numbers.reduce(_sum_name(vector.dtype)), dtype) if len(vector._numbers) else dtype.type(0)


def inclusive_scan(array: Any, *, place: str | None = None) -> Any:
    """Of every element the sum of it and all before it, in C's order. Types are as of `reduce`."""
    given = _Given([array], place)
    numbers = given[0]._numbers.inclusive_scan(_sum_name(given[0].dtype))
    return given.back(Vector._of(numbers, _sum_type(given[0].dtype), given[0].shape))


def count_if(f: Callable[..., Any], *arguments: Any, place: str | None = None) -> int:
    """For how many elements a condition holds. Arguments are as of `transform`."""
    return _mask(f, arguments, place)[1].reduce("SumU32")


def find(f: Callable[..., Any], *arguments: Any, place: str | None = None) -> int | None:
    """The index of the first element for which a condition holds, in C's order; None if there is none."""
    return _mask(f, arguments, place)[1].find()


def copy_if(f: Callable[..., Any], *arguments: Any, place: str | None = None) -> Any:
    """The elements for which a condition holds, in their order: of each of the arrays, in a tuple if there are several."""
    given, mask = _mask(f, arguments, place)
    return given.gathered(mask.chosen())


def gather(array: Any, indices: Any, *, place: str | None = None) -> Any:
    """The elements that have these indices, which are uint32; all of them are looked at before one is read."""
    given, at = _Given([array], place), _Given([indices], place)
    if at[0].dtype != _U32:
        raise TypeError(f"indices are uint32, not {at[0].dtype}: convert them by astype")
    both = given if given.is_vector or not at.is_vector else at
    vector, chosen = (part[0] if part[0].place == both.place else Vector(part[0], both.place) for part in (given, at))
    return both.back(Vector._of(vector._numbers.gather(chosen._numbers), vector.dtype, chosen.shape))


def sort(array: Any, *, place: str | None = None) -> Any:
    """The elements in order. -0 comes before 0, and what is no number last."""
    return sort_by_key(array, place=place)


def sort_by_key(keys: Any, *values: Any, place: str | None = None) -> Any:
    """Keys in order, and with each its elements of other arrays; those of equal keys stay in theirs. A tuple, of keys first."""
    given = _Given([keys, *values], place)
    return given.gathered(_key(given[0]).order())


def _outermost(vector: Vector, is_last: bool) -> int:
    at = _key(vector).outermost(is_last)
    if at is None:
        raise ValueError("there are no elements, and so none is least or greatest")
    return at


def min_element(array: Any, *, place: str | None = None) -> int:
    """The index of the first element that is least, in the order of `sort`."""
    return _outermost(_Given([array], place)[0], False)


def max_element(array: Any, *, place: str | None = None) -> int:
    """The index of the first element that is greatest, in the order of `sort`."""
    return _outermost(_Given([array], place)[0], True)
