// Runs a program for wasm32-wasip1 in Node: `node run.mjs PROGRAM FOLDER ARGUMENT…`
//
// The program has the folder as its current folder, also by its full path, and this process's environment and standard streams.

import { fstatSync, openSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { env, exit } from "node:process";
import { WASI } from "node:wasi";

// Node makes pipes non-blocking, which programs for WASI do not expect. Opened again, they block.
function blocking(path, flags, number) {
  try {
    return fstatSync(number).isFIFO() ? openSync(path, flags) : number;
  } catch {
    return number; // closed, or a system without such paths
  }
}

const [program, folder, ...arguments_] = process.argv.slice(2);
const wasi = new WASI({
  version: "preview1",
  args: [program, ...arguments_],
  env,
  preopens: { ".": folder, [resolve(folder)]: folder },
  stdin: blocking("/dev/stdin", "r", 0),
  stdout: blocking("/dev/stdout", "w", 1),
  returnOnExit: true,
});
const module_ = await WebAssembly.compile(readFileSync(program));
const instance = await WebAssembly.instantiate(module_, wasi.getImportObject());
exit(wasi.start(instance));
