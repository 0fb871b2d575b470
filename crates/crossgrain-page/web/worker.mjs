// Encrypts or decrypts one file, and then ends.
//
// The page sends one message with the file, the secret and the output, and perhaps the message "cancel". Messages to
// the page: `phase` with the method, `bytes` read so far, and at the end `done` or `failed` with one line.

import { Chunks } from "./chunks.mjs";
import { Disk } from "./disk.mjs";
import { Engine, Refusal } from "./engine.mjs";
import { removeEmpty } from "./sink.mjs";
import { part } from "./source.mjs";

// Progress is shown as often as this. Drawing the page takes time from the ciphers.
const PROGRESS_MS = 250;

class Cancelled extends Error {}

let isCancelled = false;

self.onmessage = async ({ data }) => {
  if (data === "cancel") {
    isCancelled = true;
    return;
  }
  try {
    await work(data);
    self.postMessage({ done: true });
  } catch (error) {
    self.postMessage({ failed: reason(error), isCancelled: error instanceof Cancelled });
  }
};

function checkCancelled() {
  if (isCancelled) throw new Cancelled("cancelled: nothing was written");
}

async function work({ module, task, file, secret, isKey, suite, handle, storedName }) {
  const engine = new Engine(module);
  const disk = new Disk();
  let isCreated = false;
  try {
    engine.takeSecret(secret, isKey);
    self.postMessage({ phase: "deriving" });
    const [head, begun] = await begin(engine, task, file, suite);
    const key = await engine.importKey(task === "seal" ? "encrypt" : "decrypt");
    checkCancelled();
    const chunks = new Chunks(engine, task, key, disk);
    self.postMessage({ phase: "running", by: chunks.by, suite: begun.suite });
    await disk.create(handle, storedName);
    isCreated = true;
    let shown = 0;
    await chunks.run(file, begun.headBytes, head, (bytes) => {
      checkCancelled();
      if (performance.now() - shown < PROGRESS_MS) return;
      shown = performance.now();
      self.postMessage({ bytes });
    });
    checkCancelled();
    await disk.finish();
  } catch (error) {
    if (isCreated) await disk.abandon();
    else if (handle) await removeEmpty(handle);
    throw error;
  } finally {
    await disk.close();
    engine.close();
  }
}

// Derives the keys. Gives the bytes that the output begins with, the suite, and the position of the first chunk.
async function begin(engine, task, file, suite) {
  if (task === "seal") return [engine.sealFile(suite), { suite, headBytes: 0 }];
  const head = await part(file, 0, engine.headBytesMax);
  return [new Uint8Array(0), engine.openFile(head)];
}

// The reason of a failure as one line.
function reason(error) {
  if (error instanceof Refusal || error instanceof Cancelled) return error.message;
  switch (error.name) {
    case "QuotaExceededError":
      return "cannot write the file: no space is left there, free some or write elsewhere";
    case "NotAllowedError":
    case "NoModificationAllowedError":
      return "cannot write the file: permission denied, check the access rights";
    default:
      return `the page failed (${error.message}): reload it and try again`;
  }
}
