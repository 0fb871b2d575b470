// Workers that compute chunks by WebCrypto. In Chromium 156, WebCrypto computes on the thread of its caller, so one
// worker occupies one core.

import { Remote } from "./remote.mjs";

const WORKERS_MAX = 4;

// Groups that each worker has at once: one that it computes, and one that waits.
const GROUPS_EACH = 2;

export class Ciphers {
  #remotes;
  #next = 0;
  #free = [];

  // `task` is `encrypt` or `decrypt`. Groups have `groupChunks` chunks of `inBytes`, of which each becomes `outBytes`.
  constructor(key, task, groupChunks, inBytes, outBytes) {
    const count = Math.min(navigator.hardwareConcurrency || 1, WORKERS_MAX);
    this.#remotes = Array.from({ length: count }, () => new Remote("cipher_worker.mjs"));
    for (const remote of this.#remotes) remote.call("begin", { key, task, inBytes });
    this.groupsMax = count * GROUPS_EACH;
    this.outputBytes = groupChunks * outBytes;
  }

  // Computes the first `chunks` chunks of a group. Gives the group back as `input`, and as `output` the result, or null
  // if WebCrypto refuses a chunk.
  run(bytes, chunks, nonces) {
    const remote = this.#remotes[this.#next];
    this.#next = (this.#next + 1) % this.#remotes.length;
    const output = this.#free.pop() ?? new ArrayBuffer(this.outputBytes);
    return remote.call("run", { bytes, chunks, nonces, output }, [bytes.buffer, output]);
  }

  // Takes the buffer of a result for another one.
  reuse(buffer) {
    this.#free.push(buffer);
  }

  close() {
    for (const buffer of this.#free) new Uint8Array(buffer).fill(0);
    for (const remote of this.#remotes) remote.end();
  }
}
