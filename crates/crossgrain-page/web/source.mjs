// Inputs. A file that changes while it is read is refused.

import { Refusal } from "./engine.mjs";

// The longest wait for bytes of a stream. In Chromium 156 a stream of a large file sometimes stops for good.
const STALL_MS = 2000;

// Runs a read, and explains its failure.
async function explained(read) {
  try {
    return await read();
  } catch (error) {
    if (error.name === "NotFoundError") {
      throw new Refusal("cannot read the file: there is no such file or directory, check the path");
    }
    if (error.name === "NotReadableError") throw changed();
    throw error;
  }
}

function changed() {
  return new Refusal("the file was changed while it was read: try again when it is at rest");
}

// Reads a part of a file.
export function part(file, from, to) {
  return explained(async () => {
    const bytes = new Uint8Array(await file.slice(from, to).arrayBuffer());
    if (bytes.length !== Math.min(to, file.size) - from) throw changed();
    return bytes;
  });
}

// A file from a position on, in groups of a length. The last one is shorter than the others, and may be empty.
//
// A stream that fills given buffers takes half the processor time of slices. If the browser has none, or if the stream
// stops, slices are read.
export class Source {
  #file;
  #at;
  #groupBytes;
  #stallMs;
  #reader = null;
  #before = Promise.resolve();

  constructor(file, from, groupBytes, stallMs = STALL_MS) {
    this.#file = file;
    this.#at = from;
    this.#groupBytes = groupBytes;
    this.#stallMs = stallMs;
  }

  // Fills a buffer with the next group, and gives the part of the buffer that has it. Calls may overlap.
  next(buffer) {
    const from = this.#at;
    const to = Math.min(from + this.#groupBytes, this.#file.size);
    this.#at = to;
    const read = this.#before.then(() => explained(() => this.#read(buffer, from, to)));
    this.#before = read.catch(() => {});
    return read;
  }

  async #read(buffer, from, to) {
    let group = new Uint8Array(buffer);
    for (let used = 0; used < to - from;) {
      this.#reader ??= byteReader(this.#file.slice(from + used));
      const read = this.#reader && (await this.#inTime(this.#reader.read(group.subarray(used, to - from))));
      if (!read) {
        this.#reader?.cancel().catch(() => {});
        this.#reader = null;
        return part(this.#file, from, to);
      }
      if (read.done) throw changed();
      group = new Uint8Array(read.value.buffer);
      used += read.value.length;
    }
    return group.subarray(0, to - from);
  }

  // The value of a promise, or null if it takes too long.
  #inTime(promise) {
    return new Promise((done, fail) => {
      const late = setTimeout(done, this.#stallMs, null);
      promise.then(done, fail).finally(() => clearTimeout(late));
    });
  }
}

// A reader that writes into given buffers, or null if the browser has none for files.
function byteReader(part) {
  try {
    return part.stream().getReader({ mode: "byob" });
  } catch {
    return null;
  }
}
