"""Runs a program for wasm32-wasip1 in wasmtime: `python3 run.py PROGRAM FOLDER ARGUMENT…`

The program has the folder as its current folder, also by its full path, and this process's environment and standard streams.
"""

import os
import sys

from wasmtime import Config, Engine, ExitTrap, Linker, Module, Store, WasiConfig

program, folder, *arguments = sys.argv[1:]
config = Config()
config.cache = True  # a program that has been compiled once starts at once
engine = Engine(config)
linker = Linker(engine)
linker.define_wasi()
wasi = WasiConfig()
wasi.argv = [program, *arguments]
wasi.env = list(os.environ.items())
wasi.inherit_stdin()
wasi.inherit_stdout()
wasi.inherit_stderr()
wasi.preopen_dir(folder, ".")
wasi.preopen_dir(folder, os.path.abspath(folder))
store = Store(engine)
store.set_wasi(wasi)
instance = linker.instantiate(store, Module.from_file(engine, program))
try:
    instance.exports(store)["_start"](store)
except ExitTrap as end:
    sys.exit(end.code)
