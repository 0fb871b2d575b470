"""Chooses the native half: that of the package `crossgrain-gpu` if it is installed, or else the one without GPUs."""

import importlib
import importlib.util
import sys
import warnings
from importlib import metadata


def _choose() -> None:
    if importlib.util.find_spec("crossgrain_gpu") is None:
        return
    try:
        ours, theirs = (metadata.version(name) for name in ("crossgrain", "crossgrain-gpu"))
    except metadata.PackageNotFoundError:
        return
    if ours != theirs:
        told = f"crossgrain-gpu {theirs} is ignored, because crossgrain has version {ours}: install the same version"
        warnings.warn(told, stacklevel=4)
        return
    native = importlib.import_module("crossgrain_gpu._native")
    sys.modules["crossgrain._native"] = native
    setattr(sys.modules["crossgrain"], "_native", native)


_choose()
