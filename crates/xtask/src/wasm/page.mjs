// Runs the example `page` of crossgrain-container in Node, as a browser would: `node page.mjs PAGE`
//
// It compares AES-256-CTR with Node's, opens the file `sealed` under the key in `key`, compares it with `plain`, and
// writes `by-page`, which crossgrain must open.

import { strict as assert } from "node:assert";
import { createCipheriv } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";

const KEY_BYTES = 32;

let page;
// In a page, `crypto.getRandomValues` takes at most 65536 bytes at a time.
const random = (at, count) => crypto.getRandomValues(new Uint8Array(page.memory.buffer, at, count));
const { instance } = await WebAssembly.instantiate(readFileSync(process.argv[2]), { env: { random } });
page = instance.exports;

// Runs a function of the page on a key and data. `null` if it refuses them.
function run(name, key, data) {
  const at = page.make_room(KEY_BYTES + data.length);
  const room = new Uint8Array(page.memory.buffer, at, KEY_BYTES + data.length);
  room.set(key);
  room.set(data, KEY_BYTES);
  const count = page[name]();
  return count < 0 ? null : new Uint8Array(page.memory.buffer, page.result_address(), count).slice();
}

const key = Buffer.from(readFileSync("key", "ascii").trim(), "hex");
const plain = readFileSync("plain");
let answers = 0;
for (const count of [0, 1, 15, 16, 17, 1000, 65536, plain.length]) {
  const data = plain.subarray(0, count);
  const cipher = createCipheriv("aes-256-ctr", key, Buffer.alloc(16));
  assert.deepEqual(run("encrypt_ctr", key, data), new Uint8Array(Buffer.concat([cipher.update(data), cipher.final()])));
  answers += 1;
}

const sealed = readFileSync("sealed");
assert.deepEqual(run("open_file", key, sealed), new Uint8Array(plain));
sealed[sealed.length - 1] ^= 1;
assert.equal(run("open_file", key, sealed), null, "a forged file is refused");
const own = run("seal_file", key, plain);
assert.notDeepEqual(own, run("seal_file", key, plain), "each file has its own salt");
assert.deepEqual(run("open_file", key, own), new Uint8Array(plain));
writeFileSync("by-page", own);
console.log(`${answers} answers of Node's AES-CTR, 2 files exchanged`);
