// The WebAssembly program, with its functions as methods. `src/lib.rs` describes them.
//
// Each worker has one instance, for one file. Memory of WebAssembly does not shrink, but it goes when the worker ends.

// An error of crossgrain, whose message is one line for the user.
export class Refusal extends Error {}

export class Engine {
  #exports;

  constructor(module) {
    // getRandomValues takes at most this many bytes at a time.
    const most = 65536;
    const random = (at, count) => {
      const bytes = new Uint8Array(this.#exports.memory.buffer, at, count);
      for (let from = 0; from < count; from += most) crypto.getRandomValues(bytes.subarray(from, from + most));
    };
    this.#exports = new WebAssembly.Instance(module, { env: { random } }).exports;
    this.chunkBytes = this.#exports.chunk_bytes();
    this.sealedChunkBytes = this.#exports.sealed_chunk_bytes();
    this.headBytesMax = this.#exports.head_bytes_max();
    this.keyFileBytesMax = this.#exports.key_file_bytes_max();
  }

  // Copies bytes to where the next function reads them.
  #give(bytes) {
    const at = this.#exports.room(bytes.length);
    new Uint8Array(this.#exports.memory.buffer, at, bytes.length).set(bytes);
  }

  // Runs a function. Its answer is a view, which is valid until the next call.
  #ask(name, ...numbers) {
    const isRefused = this.#exports[name](...numbers) < 0;
    const count = this.#exports.answer_bytes();
    const answer = new Uint8Array(this.#exports.memory.buffer, this.#exports.answer_address(), count);
    if (isRefused) throw new Refusal(text(answer));
    return answer;
  }

  suites() {
    return text(this.#ask("suites")).split("\n");
  }

  // Takes the content of a key file or the bytes of a passphrase, and overwrites them.
  takeSecret(bytes, isKey) {
    this.#give(bytes);
    bytes.fill(0);
    this.#ask("take_secret", Number(isKey));
  }

  // Begins a new file, and gives the bytes before its first chunk.
  sealFile(suite) {
    return this.#ask("seal_file", this.suites().indexOf(suite)).slice();
  }

  // Begins to open a file by its first bytes, and gives the name of its suite and the position of the first chunk.
  openFile(head) {
    this.#give(head);
    const suite = text(this.#ask("open_file"));
    return { suite, headBytes: this.#exports.head_bytes() };
  }

  // The key of the chunks as one that scripts cannot read, or `null` if WebCrypto does not have the cipher.
  async importKey(usage) {
    try {
      const bytes = this.#ask("take_key");
      if (bytes.length === 0) return null;
      return await crypto.subtle.importKey("raw", bytes, "AES-GCM", false, [usage]);
    } finally {
      this.#exports.wipe_answer();
    }
  }

  // The nonces of consecutive chunks, one after another, and the length of each.
  nonces(first, count) {
    const bytes = this.#ask("nonces", first, count).slice();
    return { bytes, each: bytes.length / count };
  }

  // Seals or opens consecutive chunks. The result is a view, which is valid until the next call.
  run(task, first, isLast, bytes) {
    this.#give(bytes);
    return this.#ask(task, first, Number(isLast));
  }

  close() {
    this.#exports.close();
  }
}

function text(bytes) {
  return new TextDecoder().decode(bytes);
}
