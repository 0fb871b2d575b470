// Runs a program for wasm32-wasip1 in Node: `node run.mjs PROGRAM FOLDER ARGUMENT…`
//
// The program has the folder as its current folder, and this process's environment and standard streams.

import { readFile } from "node:fs/promises";
import { env, exit } from "node:process";
import { WASI } from "node:wasi";

const [program, folder, ...arguments_] = process.argv.slice(2);
const wasi = new WASI({
  version: "preview1",
  args: [program, ...arguments_],
  env,
  preopens: { ".": folder },
  returnOnExit: true,
});
const module_ = await WebAssembly.compile(await readFile(program));
const instance = await WebAssembly.instantiate(module_, wasi.getImportObject());
exit(wasi.start(instance));
