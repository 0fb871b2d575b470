"""The places where work can run."""

from __future__ import annotations

from typing import NamedTuple

from . import _native


class Device(NamedTuple):
    """A place where work can run."""

    #: Its name: "cpu", "cuda:0", "wgpu:0".
    name: str
    #: The model.
    model: str
    #: The CPU's instruction sets, or the GPU's driver.
    features: str
    #: The number of hardware threads; 0 for a GPU, which does not report it.
    threads: int
    #: Whether it is a GPU emulated in software on the CPU.
    is_software: bool = False


def devices() -> list[Device]:
    """List the devices of this machine: the CPU, and GPUs if the package was installed with them.

    Returns
    -------
    list of Device
        The CPU first. `search_shard` and `crossgrain.parallel` take GPUs by name.

    Examples
    --------
    >>> import crossgrain
    >>> crossgrain.devices()[0].name
    'cpu'
    """
    gpus = (Device(name, model, driver, 0, is_software) for name, model, driver, is_software in _native.gpus())
    return [Device("cpu", *_native.cpu()), *gpus]
