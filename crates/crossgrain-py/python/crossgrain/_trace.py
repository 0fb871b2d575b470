"""Records kernels from Python functions: symbolic numbers whose operators record each operation."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from . import _native

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BOOL, _U8, _U32, _I32 = (np.dtype(kind) for kind in (np.bool_, np.uint8, np.uint32, np.int32))
_U64, _F32, _F64 = (np.dtype(kind) for kind in (np.uint64, np.float32, np.float64))

#: The type of the kernel's words for each NumPy type. Types of at most 32 bits have one word. A truth value
#: is a mask of ones or zeros.
_KINDS = {_BOOL: "U32", _U8: "U32", _U32: "U32", _I32: "U32", _U64: "U64", _F32: "F32", _F64: "F64"}
_BITS = {_BOOL: 32, _U8: 8, _U32: 32, _I32: 32, _U64: 64, _F32: 32, _F64: 64}
_FLOATS = (_F32, _F64)


def _words(dtype: np.dtype[Any]) -> int:
    return -(-_BITS[dtype] // 32)


def checked(dtype: Any) -> np.dtype[Any]:
    """A type that a kernel computes with, in this machine's byte order."""
    given: np.dtype[Any] = np.dtype(dtype)
    if given in _KINDS:
        return given
    native = given.newbyteorder("=")
    told = "give native byte order" if native in _KINDS else "give bool, uint8, uint32, int32, uint64, float32 or float64"
    raise TypeError(f"no kernel takes {given}: {told}, as by astype")


_Operators = np.lib.mixins.NDArrayOperatorsMixin


class Lane(_Operators):
    """A number of every element, within a kernel. Python's operators and NumPy's functions record operations on it."""

    __slots__ = ("_dtype", "_kernel", "_value")
    __hash__ = None  # type: ignore[assignment]

    # A value never changes: `+=` binds the name to a new one.
    __iadd__, __isub__, __imul__, __itruediv__ = _Operators.__add__, _Operators.__sub__, _Operators.__mul__, _Operators.__truediv__
    __iand__, __ior__, __ixor__, __ipow__ = _Operators.__and__, _Operators.__or__, _Operators.__xor__, _Operators.__pow__
    __ilshift__, __irshift__ = _Operators.__lshift__, _Operators.__rshift__

    def __init__(self, kernel: Any, value: int, dtype: np.dtype[Any]) -> None:
        self._kernel, self._value, self._dtype = kernel, value, dtype

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the number."""
        return self._dtype

    def __repr__(self) -> str:
        return f"<{self._dtype} of every element>"

    def __bool__(self) -> bool:
        raise TypeError("a kernel does not branch on its values: choose by numpy.where, and combine by & | ~")

    def __index__(self) -> int:
        raise TypeError("a value of a kernel is no index and no count: choose by numpy.where, or use gather")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        record = _UFUNCS.get(ufunc)
        if record is None or method != "__call__" or options:
            raise TypeError(f"no kernel has numpy.{ufunc.__name__}{'' if method == '__call__' else '.' + method}")
        return record(*inputs)

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> Any:
        if function is not np.where or len(inputs) != 3 or options:
            raise TypeError(f"no kernel has numpy.{function.__name__} as it is called here")
        return _where(*inputs)

    def astype(self, dtype: Any) -> Lane:
        """The same number as another type: integers modulo its size, and of float64 to uint32 without what follows the point."""
        return _converted(self, checked(dtype))

    def _step(self, name: str, *others: Lane, count: int = 0, dtype: Any = None) -> Lane:
        if any(other._kernel is not self._kernel for other in others):
            raise TypeError("a value of another kernel was used: all that a kernel is given are its arguments")
        values = [self._value, *(other._value for other in others)]
        return Lane(self._kernel, self._kernel.step(name, values, count), dtype or self._dtype)

    def _constant(self, value: Any, dtype: Any = None) -> Lane:
        """A constant of this number's type. It reaches the program as data and is not part of its text."""
        dtype = dtype or self._dtype
        bits = _bits(value, dtype)
        return Lane(self._kernel, self._kernel.constant(bits, _words(dtype)), dtype)

    def _by_bits(self, name: str, bits: int) -> Lane:
        """A gate with a constant given as bits, for values of any type."""
        words = _words(self._dtype)
        other = Lane(self._kernel, self._kernel.constant(bits, words), self._dtype)
        return self._step(f"{name}U{32 * words}", other)

    def _narrowed(self) -> Lane:
        return self._by_bits("And", 0xFF) if self._dtype == _U8 else self


def _bits(value: Any, dtype: np.dtype[Any]) -> int:
    """The bits of a constant, if it is a number of this type. Errors omit the value, which may be secret."""
    if isinstance(value, np.generic) and value.dtype != dtype:
        raise TypeError(f"{_an(value.dtype)} meets {_an(dtype)}: convert one by astype")
    if dtype == _BOOL:
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError("a number meets a truth value: convert that by astype")
        return 0xFFFFFFFF if value else 0
    if not isinstance(value, (int, float, np.generic)) or isinstance(value, bool):
        what = "an array" if isinstance(value, np.ndarray) else f"a value of type {type(value).__name__}"
        raise TypeError(f"{what} meets {_an(dtype)} in a kernel: give arrays as arguments, and numbers as int or float")
    if dtype in _FLOATS:
        with np.errstate(over="ignore"):
            return int(np.array(value, dtype).view(f"u{dtype.itemsize}")[()])
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"a float meets {_an(dtype)}: convert that by astype(numpy.float64)") from None
    limits = np.iinfo(dtype)
    if not limits.min <= number <= limits.max:
        raise OverflowError(f"a number does not fit {dtype}: give one from {limits.min} to {limits.max}")
    return number & ((1 << _BITS[dtype]) - 1)


def _an(dtype: np.dtype[Any]) -> str:
    return f"{'an' if dtype == _I32 else 'a'} {dtype}"


def _pair(a: Any, b: Any) -> tuple[Lane, Lane]:
    """Two numbers of the same type. One of them may be a constant."""
    if not isinstance(a, Lane):
        return b._constant(a), b
    if not isinstance(b, Lane):
        return a, a._constant(b)
    if a._dtype != b._dtype:
        raise TypeError(f"{_an(a._dtype)} meets {_an(b._dtype)}: convert one by astype")
    return a, b


def _refuse(what: str, dtype: np.dtype[Any], mend: str) -> NoReturn:
    raise TypeError(f"there is no {what} of {dtype}: {mend}")


def _arithmetic(name: str) -> Callable[[Any, Any], Lane]:
    def record(x: Any, y: Any) -> Lane:
        a, b = _pair(x, y)
        if a._dtype == _BOOL:
            _refuse("arithmetic", _BOOL, "convert it by astype(numpy.uint32)")
        return a._step(name + _KINDS[a._dtype], b)._narrowed()

    return record


def _gate(name: str) -> Callable[[Any, Any], Lane]:
    def record(x: Any, y: Any) -> Lane:
        a, b = _pair(x, y)
        if a._dtype in _FLOATS:
            _refuse("gate", a._dtype, "gates are of integers and truth values")
        return a._step(name + _KINDS[a._dtype], b)

    return record


def _of_float(name: str, only: Any = _FLOATS) -> Callable[..., Lane]:
    def record(*given: Any) -> Lane:
        lanes: Sequence[Lane] = _pair(*given) if len(given) == 2 else given
        a, *others = lanes
        if a._dtype not in only:
            wanted = " or ".join(str(dtype) for dtype in only)
            _refuse(name.lower(), a._dtype, f"convert it by astype to {wanted}")
        return a._step(name + _KINDS[a._dtype], *others)

    return record


def _shift(name: str) -> Callable[[Any, Any], Lane]:
    def record(a: Any, by: Any) -> Lane:
        if not isinstance(a, Lane) or isinstance(by, Lane):
            raise TypeError("a count to shift by is a number, the same for all elements")
        count = operator.index(by)
        if a._dtype in (_BOOL, *_FLOATS):
            _refuse("shift", a._dtype, "shifts are of integers")
        if not 0 <= count < _BITS[a._dtype]:
            raise ValueError(f"{_an(a._dtype)} is shifted by 0 to {_BITS[a._dtype] - 1} bits, not by {count}")
        if a._dtype != _I32 or name == "Shl":
            return a._step(name + _KINDS[a._dtype], count=count)._narrowed()
        # XOR moves signed numbers into the unsigned range in order. After the shift, the shifted offset is
        # subtracted.
        above = a._by_bits("Xor", 1 << 31)._step("ShrU32", count=count)
        return above._by_bits("Sub", 1 << (31 - count))

    return record


def _less(x: Any, y: Any) -> Lane:
    a, b = _pair(x, y)
    if a._dtype == _I32:
        a, b = a._by_bits("Xor", 1 << 31), b._by_bits("Xor", 1 << 31)
    return a._step("Less" + _KINDS[a._dtype], b, dtype=_BOOL)


def _equal(x: Any, y: Any) -> Lane:
    a, b = _pair(x, y)
    return a._step("Equal" + _KINDS[a._dtype], b, dtype=_BOOL)


def _less_equal(x: Any, y: Any) -> Lane:
    a, b = _pair(x, y)
    return _gate("Or")(_less(a, b), _equal(a, b)) if a._dtype in _FLOATS else _invert(_less(b, a))


def _invert(a: Lane) -> Lane:
    if a._dtype in _FLOATS:
        _refuse("gate", a._dtype, "gates are of integers and truth values")
    return a._step("Not" + _KINDS[a._dtype])._narrowed()


def _negative(a: Lane) -> Lane:
    if a._dtype in _FLOATS:
        return a._by_bits("Xor", 1 << (_BITS[a._dtype] - 1))
    return _arithmetic("Sub")(0 if a._dtype != _BOOL else False, a)


def _absolute(a: Lane) -> Lane:
    if a._dtype in _FLOATS:
        return a._by_bits("And", (1 << (_BITS[a._dtype] - 1)) - 1)
    return _where(_less(a, 0), _negative(a), a) if a._dtype == _I32 else a


def _where(mask: Any, x: Any, y: Any) -> Lane:
    if not isinstance(mask, Lane) or mask._dtype != _BOOL:
        raise TypeError("numpy.where chooses by a truth value of the kernel: compare something")
    if not isinstance(x, Lane) and not isinstance(y, Lane):
        raise TypeError("numpy.where chooses among values of the kernel: one of the two may be a number")
    a, b = _pair(x, y)
    kind = "U64" if _BITS[a._dtype] == 64 else "U32"
    return mask._step("Select" + kind, a, b, dtype=a._dtype)


def _outer(name: str, is_number_first: bool) -> Callable[[Any, Any], Lane]:
    """The minimum or maximum. With one NaN, the result is the number, or NaN as in NumPy's `minimum` and `maximum`."""

    def record(x: Any, y: Any) -> Lane:
        a, b = _pair(x, y)
        if a._dtype not in _FLOATS:
            return _where(_less(a, b) if name == "Min" else _less(b, a), a, b)
        chosen = a._step(name + _KINDS[a._dtype], b)
        return chosen if is_number_first else _where(_equal(a, a), _where(_equal(b, b), chosen, b), a)

    return record


def _power(a: Any, exponent: Any) -> Lane:
    if not isinstance(exponent, int) or exponent != 2:
        raise TypeError("of powers a kernel has squares: write others as products, or by numpy.exp")
    return _arithmetic("Mul")(a, a)


def _logical(name: str) -> Callable[[Any, Any], Lane]:
    def record(x: Any, y: Any) -> Lane:
        a, b = _pair(x, y)
        return _gate(name)(a.astype(_BOOL), b.astype(_BOOL))

    return record


def _converted(a: Lane, to: np.dtype[Any]) -> Lane:
    of = a._dtype
    if of == to:
        return a
    if to == _BOOL:
        return _invert(_equal(a, 0))
    if of == _BOOL:
        return _converted(Lane(a._kernel, a._by_bits("And", 1)._value, _U32), to)
    if of in (_U8, _U32, _I32) and to in (_U8, _U32, _I32):
        return Lane(a._kernel, a._value, to)._narrowed()
    if of == _I32 and to == _U64:
        wide = a._step("U64OfU32", dtype=_U64)
        return _where(_less(a, 0), wide | (0xFFFFFFFF << 32), wide)
    if of == _I32 and to == _F32:
        # Positive and negative numbers round alike.
        size = _absolute(a)._step("F32OfU32", dtype=_F32)
        return _where(_less(a, 0), -size, size)
    if of == _U64 and to in (_U8, _U32, _I32):
        return a._step("U32OfU64", dtype=to)._narrowed()
    if of == _F32 and to == _U32:
        return _converted(_converted(a, _F64), to)
    name = f"{_KINDS[to]}Of{'I32' if of == _I32 else _KINDS[of]}"
    if name not in ("U64OfU32", "F32OfU32", "F64OfU32", "F64OfI32", "F64OfU64", "F64OfF32", "U32OfF64") or to in (_U8, _I32):
        raise TypeError(f"no kernel converts {of} to {to}: convert the array before, or the result")
    return a._step(name, dtype=to)


_UFUNCS: dict[Any, Callable[..., Lane]] = {
    np.add: _arithmetic("Add"),
    np.subtract: _arithmetic("Sub"),
    np.multiply: _arithmetic("Mul"),
    np.divide: _of_float("Div"),
    np.square: lambda a: a * a,
    np.power: _power,
    np.negative: _negative,
    np.absolute: _absolute,
    np.fabs: _absolute,
    np.bitwise_and: _gate("And"),
    np.bitwise_or: _gate("Or"),
    np.bitwise_xor: _gate("Xor"),
    np.invert: _invert,
    np.left_shift: _shift("Shl"),
    np.right_shift: _shift("Shr"),
    np.less: _less,
    np.greater: lambda a, b: _less(b, a),
    np.less_equal: _less_equal,
    np.greater_equal: lambda a, b: _less_equal(b, a),
    np.equal: _equal,
    np.not_equal: lambda a, b: ~_equal(a, b),
    np.logical_and: _logical("And"),
    np.logical_or: _logical("Or"),
    np.logical_xor: _logical("Xor"),
    np.logical_not: lambda a: ~a.astype(_BOOL),
    np.minimum: _outer("Min", False),
    np.maximum: _outer("Max", False),
    np.fmin: _outer("Min", True),
    np.fmax: _outer("Max", True),
    np.isnan: lambda a: ~_equal(a, a),
    np.sqrt: _of_float("Sqrt"),
    np.floor: _of_float("Floor"),
    np.ceil: lambda a: -np.floor(-a),
    np.rint: _of_float("Round"),
    np.exp: _of_float("Exp", (_F64,)),
    np.log: _of_float("Ln", (_F64,)),
}


def turn(x: Lane) -> tuple[Lane, Lane]:
    """Return the cosine and the sine of an angle in turns. Whole turns are subtracted exactly.

    Parameters
    ----------
    x : Lane
        A float64 of a kernel: the angle, divided by 2 pi.

    Returns
    -------
    tuple of Lane
        The cosine and the sine.

    Examples
    --------
    >>> from crossgrain import parallel
    >>> parallel.transform(parallel.turn, np.array([0.25, 1.0]))
    (array([-0.,  1.]), array([1., 0.]))
    """
    if not isinstance(x, Lane) or x._dtype != _F64:
        raise TypeError("turn is of a kernel's float64: convert it by astype(numpy.float64)")
    return x._step("TurnF64"), x._step("TurnF64", count=1)


def unit(x: Lane) -> Lane:
    """Return a number in [0, 1) made of random bits, as `Generator.random` makes it.

    Parameters
    ----------
    x : Lane
        A uint32 or uint64 of a kernel.

    Returns
    -------
    Lane
        A float32 of a uint32, a float64 of a uint64.

    Examples
    --------
    >>> from crossgrain import parallel
    >>> parallel.transform(parallel.unit, np.array([0, 1 << 31], np.uint32))
    array([0. , 0.5], dtype=float32)
    """
    if not isinstance(x, Lane) or x._dtype not in (_U32, _U64):
        raise TypeError("unit is of a kernel's uint32 or uint64: convert it by astype")
    to = _F32 if x._dtype == _U32 else _F64
    return x._step("Unit" + _KINDS[to], dtype=to)


def key(x: Lane) -> Lane:
    """The sort key of a number, as an unsigned integer."""
    if x._dtype in _FLOATS:
        return x._step("Key" + _KINDS[x._dtype], dtype=_U32 if x._dtype == _F32 else _U64)
    bits = x._by_bits("Xor", 1 << 31) if x._dtype == _I32 else x
    return Lane(x._kernel, bits._value, x._dtype if x._dtype == _U64 else _U32)


def recorded(
    function: Callable[..., Any], arguments: Sequence[Any], is_indexed: bool = False
) -> tuple[_native.Kernel, list[np.dtype[Any]], bool]:
    """Records a function of types and numbers. Returns the kernel, its result types, and whether it gives several."""
    dtypes = [argument for argument in arguments if isinstance(argument, np.dtype)]
    kernel = _native.Kernel([] if is_indexed else [_words(dtype) for dtype in dtypes])
    lanes = (_entered(Lane(kernel, at, dtype)) for at, dtype in enumerate(dtypes))
    made = function(*(next(lanes) if isinstance(argument, np.dtype) else argument for argument in arguments))
    is_several = isinstance(made, (tuple, list))
    results = list(made) if is_several else [made]
    if not results or not all(isinstance(result, Lane) and result._kernel is kernel for result in results):
        kind = ", ".join(type(result).__name__ for result in results) or "nothing"
        raise TypeError(f"a kernel gives values that it computed of its arguments, one or a tuple of them, not {kind}")
    for result in results:
        kernel.give(_left(result)._value)
    return kernel, [result._dtype for result in results], is_several


def _entered(x: Lane) -> Lane:
    """A truth value enters as 0 or 1. Within a kernel it is a mask."""
    if x._dtype != _BOOL:
        return x
    zero = x._constant(False)
    return zero._step("SubU32", x)


def _left(x: Lane) -> Lane:
    if x._dtype in _FLOATS:
        return x._step("Leave" + _KINDS[x._dtype])
    return x._by_bits("And", 1) if x._dtype == _BOOL else x
