"""Parallel algorithms over NumPy arrays, on CPUs and GPUs: the same bits at every place.

A kernel is a Python function of numbers. It is called once, with symbols that record its operations. The record runs on
all elements. A kernel may use Python's operators, NumPy's functions of arrays, and `numpy.where` in place of branches.
Numbers that it uses are state: a program for a GPU receives them when it runs, and its text does not contain them, except
counts of shifts.

Numbers are bool, uint8, uint32, int32, uint64, float32 and float64. No type is converted implicitly: use `astype`.

The argument `place` is "seq" (one thread), "par" (all threads), "cuda:0" or "wgpu:0" (a GPU), or "auto": the first hardware
GPU, or else "par". Arrays are copied there and back each time. A `Vector` stays there: for vectors, the results are vectors
at the same place.

Examples
--------
>>> import numpy as np
>>> from crossgrain import parallel
>>> x = np.array([1.0, 2.0, 3.0])
>>> parallel.transform(lambda a, x, y: a * x + y, 2.0, x, x)
array([3., 6., 9.])
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from . import _native
from ._trace import Lane, checked, key, recorded, turn, unit

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from ._types import Elements, Made, Number, One, Several

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
    """The elements of an array at a place. `numpy` or `numpy.asarray` copies them back.

    Parameters
    ----------
    array : array
        The elements.
    place : str
        The place.

    Examples
    --------
    >>> from crossgrain.parallel import Vector, sort
    >>> sort(Vector([3.0, 1.0, 2.0], "par")).numpy()
    array([1., 2., 3.])
    """

    __slots__ = ("_dtype", "_numbers", "_shape")

    def __init__(self, array: ArrayLike, place: str = "auto") -> None:
        given = np.asarray(array)
        self._dtype: np.dtype[Any] = checked(given.dtype)
        self._shape: tuple[int, ...] = given.shape
        self._numbers = _native.Numbers(np.ascontiguousarray(given), place)

    @classmethod
    def _of(cls, numbers: _native.Numbers, dtype: np.dtype[Any], shape: tuple[int, ...] | None = None) -> Vector:
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

    def numpy(self) -> NDArray[Any]:
        """The elements as an array."""
        array: NDArray[Any] = np.empty(self._shape, self._dtype)
        # A bool must be 0 or 1; the bytes written here are.
        self._numbers.write(array.view(np.uint8) if self._dtype == np.bool_ else array)
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
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

    def back(self, vector: Vector) -> Made:
        return vector if self.is_vector else vector.numpy()

    def gathered(self, indices: _native.Numbers) -> Made | tuple[Made, ...]:
        """The elements at these indices, of all arrays."""
        made = [Vector._of(vector._numbers.gather(indices), vector._dtype) for vector in self.vectors]
        backs: tuple[Made, ...] = tuple(map(self.back, made))
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


def _mask(f: Callable[..., Any], arguments: Any, place: str | None) -> tuple[_Given, _native.Numbers]:
    given, made, is_several = _made(f, arguments, place)
    if is_several or made[0].dtype != np.bool_:
        raise TypeError(f"a condition gives one truth value, not {', '.join(str(vector.dtype) for vector in made)}: compare something")
    return given, made[0]._numbers


def _key(vector: Vector) -> _native.Numbers:
    kernel, _, _ = recorded(key, [vector.dtype])
    return kernel.transform([vector._numbers])[0]


def _scalar(bits: int, dtype: np.dtype[Any]) -> np.number[Any]:
    scalar: np.number[Any] = np.array([bits], f"u{dtype.itemsize}").view(dtype)[0]
    return scalar


def _sum_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of sums: types shorter than 32 bits are summed in 32 bits."""
    return _U32 if dtype.itemsize == 1 else dtype


def _sum_name(dtype: np.dtype[Any]) -> str:
    return f"Sum{'F' if dtype.kind == 'f' else 'U'}{8 * _sum_type(dtype).itemsize}"


@overload
def transform(f: One, *arguments: Vector | Number, place: str | None = None) -> Vector: ...
@overload
def transform(f: One, *arguments: ArrayLike, place: str | None = None) -> NDArray[Any]: ...
@overload
def transform(f: One, *arguments: Elements, place: str | None = None) -> Made: ...
@overload
def transform(f: Several, *arguments: Vector | Number, place: str | None = None) -> tuple[Vector, ...]: ...
@overload
def transform(f: Several, *arguments: ArrayLike, place: str | None = None) -> tuple[NDArray[Any], ...]: ...
@overload
def transform(f: Several, *arguments: Elements, place: str | None = None) -> tuple[Made, ...]: ...


def transform(f: One | Several, *arguments: Elements, place: str | None = None) -> Made | tuple[Made, ...]:
    """Apply a function to every element of arrays.

    Parameters
    ----------
    f : callable
        The function.
    *arguments : array, Vector or number
        Arrays of one shape, and numbers, which are the same for all elements.
    place : str, optional
        The place. By default that of the vectors, or "auto".

    Returns
    -------
    numpy.ndarray, Vector, or tuple of them
        The results; a tuple if the function gives several.

    Examples
    --------
    >>> transform(lambda x, k: x * x + k, np.array([1, 2, 3], np.uint32), 5)
    array([ 6,  9, 14], dtype=uint32)
    """
    given, made, is_several = _made(f, arguments, place)
    backs = tuple(map(given.back, made))
    return backs if is_several else backs[0]


@overload
def generate(f: One, numbers: int | range, *arguments: Number, place: str = "auto", vector: Literal[False] = False) -> NDArray[Any]: ...
@overload
def generate(f: One, numbers: int | range, *arguments: Number, place: str = "auto", vector: Literal[True]) -> Vector: ...
@overload
def generate(
    f: Several, numbers: int | range, *arguments: Number, place: str = "auto", vector: Literal[False] = False
) -> tuple[NDArray[Any], ...]: ...
@overload
def generate(f: Several, numbers: int | range, *arguments: Number, place: str = "auto", vector: Literal[True]) -> tuple[Vector, ...]: ...


def generate(
    f: One | Several, numbers: int | range, *arguments: Number, place: str = "auto", vector: bool = False
) -> Made | tuple[Made, ...]:
    """Apply a function to the numbers of a range.

    Parameters
    ----------
    f : callable
        The function. Its first argument is a uint32.
    numbers : int or range
        How many numbers from 0 on, or a range with step 1.
    *arguments : number
        Further arguments, the same for all.
    place : str
        The place.
    vector : bool
        Whether the result is a `Vector`.

    Returns
    -------
    numpy.ndarray, Vector, or tuple of them
        The results; a tuple if the function gives several.

    Examples
    --------
    >>> generate(lambda i: i * i, 5)
    array([ 0,  1,  4,  9, 16], dtype=uint32)
    """
    numbers = numbers if isinstance(numbers, range) else range(0, operator.index(numbers))
    if numbers.step != 1 or not 0 <= numbers.start <= numbers.stop <= 1 << 31:
        raise ValueError("numbers are one after another, from 0 to 2**31: give how many, or a range of those")
    kernel, dtypes, is_several = recorded(f, [_U32, *arguments], is_indexed=True)
    made = kernel.generate(place, numbers.start, numbers.stop)
    vectors = [Vector._of(column, dtype) for column, dtype in zip(made, dtypes)]
    backs: tuple[Made, ...] = tuple(vectors if vector else [column.numpy() for column in vectors])
    return backs if is_several else backs[0]


def reduce(array: Elements, op: Literal["sum", "min", "max"] = "sum", *, place: str | None = None) -> np.number[Any]:
    """Combine all elements.

    Parameters
    ----------
    array : array or Vector
        The elements.
    op : {"sum", "min", "max"}
        The operation. Sums have the type of the array; those of bool and uint8 are uint32. Sums of integers wrap. Sums of
        floats are the same at every place: their order depends on the number of elements only. NaN is neither the minimum
        nor the maximum.
    place : str, optional
        The place. By default that of the vectors, or "auto".

    Returns
    -------
    number
        The result.

    Raises
    ------
    ValueError
        If there are no elements and `op` is "min" or "max".

    Examples
    --------
    >>> int(reduce(np.arange(10, dtype=np.uint32)))
    45
    """
    if op not in ("sum", "min", "max"):
        raise ValueError(f"elements are not combined by {op!r}: choose sum, min or max")
    given = _Given([array], place)
    vector = given[0]
    if op != "sum":
        if op == "max" and vector.dtype.kind == "f":
            return -reduce(transform(lambda x: -x, vector), "min")
        at = _outermost(vector, op == "max")
        one = vector._numbers.gather(_native.Numbers(np.array([at], _U32), vector.place))
        outermost: np.number[Any] = Vector._of(one, vector.dtype).numpy()[0]
        return outermost
    dtype = _sum_type(vector.dtype)
    # The sum of nothing is zero. The reduction of an empty float vector would give -0.
    return _scalar(vector._numbers.reduce(_sum_name(vector.dtype)), dtype) if len(vector._numbers) else dtype.type(0)


@overload
def inclusive_scan(array: Vector, *, place: str | None = None) -> Vector: ...
@overload
def inclusive_scan(array: ArrayLike, *, place: str | None = None) -> NDArray[Any]: ...


def inclusive_scan(array: Elements, *, place: str | None = None) -> Made:
    """Replace each element by the sum of all elements up to and including it, in C's order.

    Parameters
    ----------
    array : array or Vector
        The elements. Types are those of `reduce`.
    place : str, optional
        The place. By default that of the vectors, or "auto".

    Returns
    -------
    numpy.ndarray or Vector
        The sums.

    Examples
    --------
    >>> inclusive_scan(np.array([1, 2, 3], np.uint32))
    array([1, 3, 6], dtype=uint32)
    """
    given = _Given([array], place)
    numbers = given[0]._numbers.inclusive_scan(_sum_name(given[0].dtype))
    return given.back(Vector._of(numbers, _sum_type(given[0].dtype), given[0].shape))


def count_if(f: One, *arguments: Elements, place: str | None = None) -> int:
    """Count the elements for which a condition holds.

    Parameters
    ----------
    f : callable
        The condition, which gives a truth value.
    *arguments : array, Vector or number
        As of `transform`.
    place : str, optional
        The place. By default that of the vectors, or "auto".

    Returns
    -------
    int
        The count.

    Examples
    --------
    >>> count_if(lambda x: x < 2.5, np.array([1.0, 2.0, 3.0]))
    2
    """
    return _mask(f, arguments, place)[1].reduce("SumU32")


def find(f: One, *arguments: Elements, place: str | None = None) -> int | None:
    """Find the first element for which a condition holds, in C's order.

    Parameters
    ----------
    f : callable
        The condition, which gives a truth value.
    *arguments : array, Vector or number
        As of `transform`.
    place : str, optional
        The place. By default that of the vectors, or "auto".

    Returns
    -------
    int or None
        The index; None if there is no such element.

    Examples
    --------
    >>> find(lambda x: x > 1.5, np.array([1.0, 2.0, 3.0]))
    1
    """
    return _mask(f, arguments, place)[1].find()


def copy_if(f: One, *arguments: Elements, place: str | None = None) -> Made | tuple[Made, ...]:
    """Select the elements for which a condition holds, in order.

    Parameters
    ----------
    f : callable
        The condition, which gives a truth value.
    *arguments : array, Vector or number
        As of `transform`.
    place : str, optional
        The place. By default that of the vectors, or "auto".

    Returns
    -------
    numpy.ndarray, Vector, or tuple of them
        The elements; a tuple if there are several arrays.

    Examples
    --------
    >>> copy_if(lambda x: x != 2.0, np.array([1.0, 2.0, 3.0]))
    array([1., 3.])
    """
    given, mask = _mask(f, arguments, place)
    return given.gathered(mask.chosen())


@overload
def gather(array: Vector, indices: Elements, *, place: str | None = None) -> Vector: ...
@overload
def gather(array: ArrayLike, indices: Vector, *, place: str | None = None) -> Vector: ...
@overload
def gather(array: ArrayLike, indices: ArrayLike, *, place: str | None = None) -> NDArray[Any]: ...


def gather(array: Elements, indices: Elements, *, place: str | None = None) -> Made:
    """Select elements by their indices.

    Parameters
    ----------
    array : array or Vector
        The elements.
    indices : array or Vector of uint32
        The indices. All are checked before an element is read.
    place : str, optional
        The place. By default that of the vectors, or "auto".

    Returns
    -------
    numpy.ndarray or Vector
        The elements.

    Examples
    --------
    >>> gather(np.array([1.0, 2.0, 3.0]), np.array([2, 0], np.uint32))
    array([3., 1.])
    """
    given, at = _Given([array], place), _Given([indices], place)
    if at[0].dtype != _U32:
        raise TypeError(f"indices are uint32, not {at[0].dtype}: convert them by astype")
    both = given if given.is_vector or not at.is_vector else at
    vector, chosen = (part[0] if part[0].place == both.place else Vector(part[0], both.place) for part in (given, at))
    return both.back(Vector._of(vector._numbers.gather(chosen._numbers), vector.dtype, chosen.shape))


@overload
def sort(array: Vector, *, place: str | None = None) -> Vector: ...
@overload
def sort(array: ArrayLike, *, place: str | None = None) -> NDArray[Any]: ...


def sort(array: Elements, *, place: str | None = None) -> Made:
    """Sort elements. -0 comes before 0, and NaN last.

    Parameters
    ----------
    array : array or Vector
        The elements.
    place : str, optional
        The place. By default that of the vectors, or "auto".

    Returns
    -------
    numpy.ndarray or Vector
        The elements in order.

    Examples
    --------
    >>> sort(np.array([3.0, 1.0, 2.0]))
    array([1., 2., 3.])
    """
    return sort_by_key(array, place=place)


@overload
def sort_by_key(keys: Elements, *, place: str | None = None) -> Made: ...
@overload
def sort_by_key(keys: Elements, value: Elements, /, *values: Elements, place: str | None = None) -> tuple[Made, ...]: ...


def sort_by_key(keys: Elements, *values: Elements, place: str | None = None) -> Made | tuple[Made, ...]:
    """Sort keys, and the elements of other arrays in the order of their keys. The sort is stable.

    Parameters
    ----------
    keys : array or Vector
        The keys.
    *values : array or Vector
        Arrays of the same shape.
    place : str, optional
        The place. By default that of the vectors, or "auto".

    Returns
    -------
    numpy.ndarray, Vector, or tuple of them
        The keys in order, and the elements of each of the other arrays; a tuple if there are others.

    Examples
    --------
    >>> sort_by_key(np.array([2.0, 1.0]), np.array([20, 10], np.uint32))
    (array([1., 2.]), array([10, 20], dtype=uint32))
    """
    given = _Given([keys, *values], place)
    return given.gathered(_key(given[0]).order())


def _outermost(vector: Vector, is_last: bool) -> int:
    at = _key(vector).outermost(is_last)
    if at is None:
        raise ValueError("there are no elements, and so none is least or greatest")
    return at


def min_element(array: Elements, *, place: str | None = None) -> int:
    """Find the first minimum, in the order of `sort`.

    Parameters
    ----------
    array : array or Vector
        The elements.
    place : str, optional
        The place. By default that of the vectors, or "auto".

    Returns
    -------
    int
        The index.

    Examples
    --------
    >>> min_element(np.array([2.0, 1.0, 3.0]))
    1
    """
    return _outermost(_Given([array], place)[0], False)


def max_element(array: Elements, *, place: str | None = None) -> int:
    """Find the first maximum, in the order of `sort`.

    Parameters
    ----------
    array : array or Vector
        The elements.
    place : str, optional
        The place. By default that of the vectors, or "auto".

    Returns
    -------
    int
        The index.

    Examples
    --------
    >>> max_element(np.array([2.0, 1.0, 3.0]))
    2
    """
    return _outermost(_Given([array], place)[0], True)
