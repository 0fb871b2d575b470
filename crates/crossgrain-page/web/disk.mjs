// The worker that reads the input and writes the output, as the coordinating worker sees it.

import { Remote } from "./remote.mjs";

// Groups that are read before they are needed.
const READ_AHEAD = 3;

export class Disk {
  #remote = new Remote("disk_worker.mjs");
  #reads = [];

  // Reads a file from a position on, in groups of a length, of which the caller holds so many at once.
  read(file, from, groupBytes, held) {
    this.#remote.call("read", { file, from, groupBytes });
    const bufferBytes = Math.min(groupBytes, file.size - from);
    const groups = Math.ceil((file.size - from + 1) / groupBytes);
    const buffers = Math.min(READ_AHEAD + held, groups);
    for (let count = 0; count < buffers; count += 1) this.reuse(new ArrayBuffer(bufferBytes));
  }

  // The next group. The last one is shorter than the others, and may be empty.
  next() {
    return this.#reads.shift();
  }

  // Takes the buffer of a group for a later one.
  reuse(buffer) {
    this.#reads.push(this.#remote.call("next", buffer, [buffer]));
  }

  create(handle, storedName) {
    return this.#remote.call("create", { handle, storedName });
  }

  // Writes bytes, and gives them back.
  write(bytes) {
    return this.#remote.call("write", bytes, [bytes.buffer]);
  }

  // Completes the output.
  finish() {
    return this.#remote.call("finish");
  }

  // Removes the output.
  abandon() {
    return this.#remote.call("abandon");
  }

  // Overwrites the buffers that are being read into, and ends the worker.
  async close() {
    for (const { value } of await Promise.allSettled(this.#reads)) {
      if (value) new Uint8Array(value.buffer).fill(0);
    }
    this.#remote.end();
  }
}
