// Computes groups of chunks by WebCrypto, for `ciphers.mjs`.

import { answerCalls } from "./remote.mjs";

let key;
let task;
let inBytes;

answerCalls({
  begin(begun) {
    ({ key, task, inBytes } = begun);
  },
  async run({ bytes, chunks, nonces, output }) {
    const one = (_, number) => {
      const iv = nonces.bytes.subarray(number * nonces.each, (number + 1) * nonces.each);
      const chunk = bytes.subarray(number * inBytes, (number + 1) * inBytes);
      return crypto.subtle[task]({ name: "AES-GCM", iv }, key, chunk);
    };
    const results = await Promise.allSettled(Array.from({ length: chunks }, one));
    const refused = results.find(({ status }) => status === "rejected")?.reason;
    if (refused && (task === "encrypt" || refused.name !== "OperationError")) throw refused;
    const all = new Uint8Array(output);
    let used = 0;
    for (const { value } of results) {
      if (!value) continue;
      const part = new Uint8Array(value);
      if (!refused) all.set(part, used);
      if (task === "decrypt") part.fill(0);
      used += part.length;
    }
    const answer = { input: bytes, output: refused ? null : all.subarray(0, used) };
    return [answer, refused ? [bytes.buffer] : [bytes.buffer, output]];
  },
});
