// The chunks of a file: read in groups, computed, and written in order.
//
// Several groups are computed at a time, while another worker reads and writes others. Other workers compute the whole
// chunks of AES-GCM by WebCrypto. The program in WebAssembly computes everything else, and always the last chunk, so it
// decides whether a file is complete.

import { Ciphers } from "./ciphers.mjs";

// Chunks in a group. WebCrypto and the disk need many, WebAssembly enough for the lanes of its kernels.
const GROUP_CHUNKS = { WebCrypto: 128, WebAssembly: 64 };

// Results that wait to be written.
const WRITES_MAX = 3;

// A task on a file: `seal` or `open`. `key` is a key of WebCrypto, or null.
export class Chunks {
  #engine;
  #task;
  #disk;
  #groupChunks;
  #inBytes;
  #ciphers = null;
  #writes = [];

  constructor(engine, task, key, disk) {
    const { chunkBytes, sealedChunkBytes } = engine;
    this.#engine = engine;
    this.#task = task;
    this.#disk = disk;
    this.by = key ? "WebCrypto" : "WebAssembly";
    this.#groupChunks = GROUP_CHUNKS[this.by];
    const [inBytes, outBytes] = task === "seal" ? [chunkBytes, sealedChunkBytes] : [sealedChunkBytes, chunkBytes];
    this.#inBytes = inBytes;
    const call = task === "seal" ? "encrypt" : "decrypt";
    if (key) this.#ciphers = new Ciphers(key, call, this.#groupChunks, inBytes, outBytes);
  }

  // Runs all chunks of a file from a position on. The output begins with `head`. `step` is called after each group with
  // the bytes read so far, and may throw to end the run.
  async run(file, from, head, step) {
    const groupBytes = this.#groupChunks * this.#inBytes;
    const groupsMax = this.#ciphers?.groupsMax ?? 1;
    const groups = [];
    try {
      this.#disk.read(file, from, groupBytes, groupsMax);
      if (head.length > 0) await this.#write([head]);
      for (let first = 0, isLast = false; !isLast; first += this.#groupChunks) {
        const bytes = await this.#disk.next();
        isLast = bytes.length < groupBytes;
        const readBytes = from + first * this.#inBytes + bytes.length;
        const group = this.#group(first, isLast, bytes);
        group.catch(() => {}); // it is awaited later, unless an earlier one fails
        groups.push(group);
        if (groups.length >= groupsMax) await this.#write(await groups.shift());
        step(readBytes);
      }
      for (const group of groups) await this.#write(await group);
      while (this.#writes.length > 0) await this.#written();
    } finally {
      for (const { value } of await Promise.allSettled(groups)) value?.forEach((part) => this.#reuse(part));
      for (const { value } of await Promise.allSettled(this.#writes)) if (value) this.#reuse(value);
      this.#ciphers?.close();
    }
  }

  // Writes the parts of a group.
  async #write(parts) {
    for (const part of parts) {
      this.#writes.push(this.#disk.write(part));
      if (this.#writes.length > WRITES_MAX) await this.#written();
    }
  }

  async #written() {
    this.#reuse(await this.#writes.shift());
  }

  // Takes back the buffer of a part that was written, or overwrites it.
  #reuse({ buffer }) {
    if (buffer.byteLength === this.#ciphers?.outputBytes) this.#ciphers.reuse(buffer);
    else if (buffer.byteLength > 0) new Uint8Array(buffer).fill(0);
  }

  // The results of a group in order.
  async #group(first, isLast, bytes) {
    const wholeChunks = this.#ciphers ? Math.floor(bytes.length / this.#inBytes) : 0;
    const parts = [];
    let input = bytes;
    if (wholeChunks > 0) {
      const done = await this.#ciphers.run(bytes, wholeChunks, this.#engine.nonces(first, wholeChunks));
      input = done.input;
      if (!done.output) this.#refuse(first, input.subarray(0, wholeChunks * this.#inBytes));
      parts.push(done.output);
    }
    const rest = input.subarray(wholeChunks * this.#inBytes);
    if (isLast || rest.length > 0) {
      parts.push(this.#engine.run(this.#task, first + wholeChunks, isLast, rest).slice());
    }
    this.#disk.reuse(input.buffer);
    return parts;
  }

  // WebCrypto does not say which chunk it refuses. The program does, in its message.
  #refuse(first, bytes) {
    this.#engine.run("open", first, false, bytes);
    throw new Error("WebCrypto refuses a chunk that is authentic");
  }
}
