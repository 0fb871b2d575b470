// The chunks of a file: read in groups, computed, and written in order.
//
// Two groups are computed at a time, while the next one is read and the one before is written. WebCrypto computes the
// whole chunks of an AES-GCM group on the browser's own threads, all of them at once. The program in WebAssembly
// computes everything else, and always the last chunk, so it decides whether a file is complete.

import { readable } from "./source.mjs";

// Chunks in a group. WebCrypto needs many in flight, WebAssembly enough for the lanes of its kernels.
const GROUP_CHUNKS = { WebCrypto: 128, WebAssembly: 64 };

// A task on a file: `seal` or `open`. `key` is a key of WebCrypto, or null.
export class Chunks {
  constructor(engine, task, key) {
    this.engine = engine;
    this.task = task;
    this.key = key;
    this.by = key ? "WebCrypto" : "WebAssembly";
    this.inBytes = task === "seal" ? engine.chunkBytes : engine.sealedChunkBytes;
  }

  // Runs all chunks of a file from a position on. `step` is called after each group with the bytes read so far, and
  // may throw to end the run.
  async run(file, from, sink, step) {
    const groupChunks = GROUP_CHUNKS[this.by];
    const source = readable(file, from, groupChunks * this.inBytes);
    const stage = new Stage(sink);
    try {
      let coming = source.next();
      let before = Promise.resolve([]);
      for (let first = 0, isLast = false; !isLast; first += groupChunks) {
        const bytes = await coming;
        isLast = bytes.length < groupChunks * this.inBytes;
        coming = isLast ? null : source.next();
        coming?.catch(() => {}); // it is awaited in the next turn, unless this one fails
        const current = this.#group(first, isLast, bytes);
        current.catch(() => {}); // as above
        await this.#write(await before, stage);
        before = current;
        step(from + first * this.inBytes + bytes.length);
      }
      await this.#write(await before, stage);
      await stage.flush();
    } finally {
      stage.wipe();
    }
  }

  // Writes the parts of a group, and overwrites plaintext.
  async #write(parts, stage) {
    for (const part of parts) {
      await stage.put(part);
      if (this.task === "open") part.fill(0);
    }
  }

  // The results of a group in order.
  async #group(first, isLast, bytes) {
    const wholeChunks = this.key ? Math.floor(bytes.length / this.inBytes) : 0;
    const whole = bytes.subarray(0, wholeChunks * this.inBytes);
    const parts = wholeChunks > 0 ? await this.#byWebCrypto(first, wholeChunks, whole) : [];
    if (isLast || whole.length < bytes.length) {
      const rest = bytes.subarray(whole.length);
      parts.push(this.engine.run(this.task, first + wholeChunks, isLast, rest).slice());
    }
    if (this.task === "seal") bytes.fill(0);
    return parts;
  }

  async #byWebCrypto(first, count, bytes) {
    const nonces = this.engine.nonces(first, count);
    const call = this.task === "seal" ? "encrypt" : "decrypt";
    const one = (_, number) => {
      const iv = nonces.bytes.subarray(number * nonces.each, (number + 1) * nonces.each);
      const chunk = bytes.subarray(number * this.inBytes, (number + 1) * this.inBytes);
      return crypto.subtle[call]({ name: "AES-GCM", iv }, this.key, chunk);
    };
    try {
      const made = await Promise.all(Array.from({ length: count }, one));
      return made.map((buffer) => new Uint8Array(buffer));
    } catch (error) {
      if (this.task === "seal" || error.name !== "OperationError") throw error;
      // WebCrypto does not say which chunk it refuses. The program does, in its message.
      this.engine.run("open", first, false, bytes);
      throw new Error("WebCrypto refuses a chunk that is authentic");
    }
  }
}

// Collects small results for one write.
class Stage {
  constructor(sink) {
    this.sink = sink;
    this.bytes = new Uint8Array(sink.writeBytes);
    this.used = 0;
  }

  async put(part) {
    if (this.used + part.length > this.bytes.length) await this.flush();
    if (part.length > this.bytes.length) {
      await this.sink.write(part);
    } else {
      this.bytes.set(part, this.used);
      this.used += part.length;
    }
  }

  async flush() {
    if (this.used > 0) await this.sink.write(this.bytes.subarray(0, this.used));
    this.used = 0;
  }

  wipe() {
    this.bytes.fill(0);
  }
}
