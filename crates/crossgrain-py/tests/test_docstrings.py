"""Docstrings: every public function has one in numpydoc's form, and their examples give what they say."""

import doctest
import importlib
import importlib.util
import inspect
import warnings

import numpy as np
import pytest

import crossgrain
import crossgrain.dask

MODULES = ["crossgrain", "_dask_files", "_device", "_files", "_modes", "_plan", "_search", "_search_dask", "_trace", "dask", "fsspec", "parallel", "random", "zarr"]


def module(name):
    return importlib.import_module(name if name == "crossgrain" else f"crossgrain.{name}")


@pytest.mark.parametrize("name", MODULES)
def test_examples_give_what_they_say(name, tmp_path, monkeypatch):
    for needed in {"dask": ["dask.array"], "_search_dask": ["dask.array"], "_dask_files": ["dask"]}.get(name, [name] if name in ("fsspec", "zarr") else []):
        pytest.importorskip(needed)
    monkeypatch.chdir(tmp_path)
    told = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in doctest.DocTestFinder().find(module(name), extraglobs={"np": np}):
        runner.run(test, out=told.append)
    assert runner.failures == 0, "".join(told)


def public():
    """The public functions and methods."""
    found = [importlib.import_module(f"crossgrain.{name}") for name in ("fsspec", "zarr") if importlib.util.find_spec(name)]
    for of in (crossgrain, crossgrain.random, crossgrain.parallel, crossgrain.dask, *found):
        for name in of.__all__:
            thing = getattr(of, name)
            if inspect.isfunction(thing):
                yield name, thing
            elif isinstance(thing, type) and not issubclass(thing, (tuple, BaseException)):
                for method, function in inspect.getmembers(thing, inspect.isfunction):
                    if not method.startswith("_") and function.__module__.startswith("crossgrain"):
                        yield f"{name}.{method}", function


@pytest.mark.parametrize(("name", "function"), list(public()), ids=lambda one: one if isinstance(one, str) else "")
def test_docstrings_name_their_parameters(name, function):
    docscrape = pytest.importorskip("numpydoc.docscrape")
    assert function.__doc__, name
    if "Parameters\n" not in inspect.getdoc(function) and "." in name:
        return  # a method of a file object, or one without parameters
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        doc = docscrape.FunctionDoc(function)
    documented = {one.lstrip("*") for parameter in doc["Parameters"] for one in parameter.name.split(", ")}
    given = {one for one in inspect.signature(function).parameters if one != "self"}
    assert documented == given, name
    assert doc["Returns"] or name in ("crossgrain",), name
