// A file of 1 GiB: its memory, and its speed next to two loops of WebCrypto with the same chunks. The bare loop reads
// and writes nothing. The reading loop reads the same file and drops the results.

import { strict as assert } from "node:assert";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { closeSync, openSync, readFileSync, writeSync } from "node:fs";
import { loadavg } from "node:os";
import { join } from "node:path";

const MIB = 1 << 20;
const FILE_MIB = 1024;
// The most memory of the tab's process above what it had before. The file is twice as large.
const GROWTH_MIB_MAX = 512;
const TURNS = 3;
const CHUNK_BYTES = 16 * 1024;
const GROUP_CHUNKS = 128;

// Encrypts and decrypts the file in turns with the loops. The best turn of each counts.
export async function large(browser, tab, { program, folder }) {
  const file = join(folder, "large");
  writeLarge(file);
  const key = join(folder, "key-aes-256-gcm");
  const best = { seal: Infinity, open: Infinity, bare: Infinity, reading: Infinity };
  const note = (what, ms) => {
    best[what] = Math.min(best[what], ms);
  };
  const before = peakMib(await processes(browser));
  for (let turn = 0; turn < TURNS; turn += 1) {
    for (const task of ["seal", "open"]) {
      await tab.start({ task, file: task === "seal" ? file : join(tab.downloads, "seal"), key, suite: "aes-256-gcm" });
      const { error, ms } = await tab.end();
      assert.equal(error, "");
      note(task, ms);
      const result = await tab.downloaded(task);
      await tab.forget();
      const compared = task === "open" ? ["cmp", [result, file]] : [program, ["verify", "--key-file", key, result]];
      assert.equal(spawnSync(...compared).status, 0, `${task} of 1 GiB`);
      note("bare", await tab.page.value(`(${loop})(${CHUNK_BYTES}, ${GROUP_CHUNKS}, ${FILE_MIB * 64}, null)`));
      const input = 'document.getElementById("file").files[0]';
      note("reading", await tab.page.value(`(${loop})(${CHUNK_BYTES}, ${GROUP_CHUNKS}, 0, ${input})`));
    }
  }
  const growth = peakMib(await processes(browser)) - before;
  const speed = (ms) => `${((FILE_MIB * MIB) / 1e6 / ms).toFixed(2)} GB/s`;
  console.log(`bare WebCrypto ${speed(best.bare)}, with reading ${speed(best.reading)}`);
  for (const task of ["seal", "open"]) {
    const [bare, reading] = [best.bare / best[task], best.reading / best[task]].map((ratio) => ratio.toFixed(2));
    console.log(`${task} 1 GiB: ${speed(best[task])}, ${bare} of bare WebCrypto, ${reading} of it with reading`);
  }
  console.log(`memory of the tab: ${growth.toFixed(0)} MiB more at most; load ${loadavg()[0].toFixed(1)}`);
  assert.ok(growth < GROWTH_MIB_MAX, `${growth} MiB more`);
}

function writeLarge(file) {
  const block = randomBytes(MIB);
  const handle = openSync(file, "w");
  for (let number = 0; number < FILE_MIB; number += 1) {
    block.writeUInt32LE(number);
    writeSync(handle, block);
  }
  closeSync(handle);
}

// The processes that run pages.
async function processes(browser) {
  const { processInfo } = await browser.call("SystemInfo.getProcessInfo");
  return processInfo.filter(({ type }) => type === "renderer").map(({ id }) => id);
}

// The largest peak of memory of these processes, in MiB.
function peakMib(ids) {
  const peak = (id) => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${id}/status`, "utf8"))[1]) / 1024;
  return Math.max(...ids.map(peak));
}

// Runs in the page: a worker encrypts so many chunks of zeros, or a file, a group at a time with the next one waiting,
// as the page does. Gives the milliseconds.
function loop(chunkBytes, groupChunks, chunks, file) {
  const work = async ({ data: { chunkBytes, groupChunks, chunks, file } }) => {
    const key = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, ["encrypt"]);
    const how = { name: "AES-GCM", iv: new Uint8Array(12) };
    const encrypt = (bytes) => crypto.subtle.encrypt(how, key, bytes);
    const zeros = new Uint8Array(groupChunks * chunkBytes);
    const from = performance.now();
    let before = Promise.resolve();
    const group = async (bytes) => {
      const pieces = Array.from({ length: Math.ceil(bytes.length / chunkBytes) }, (_, number) => number * chunkBytes);
      const current = Promise.all(pieces.map((at) => encrypt(bytes.subarray(at, at + chunkBytes))));
      await before;
      before = current;
    };
    for (let done = 0; done < chunks; done += groupChunks) await group(zeros);
    const reader = file?.stream().getReader();
    for (let read; reader && !(read = await reader.read()).done;) await group(read.value);
    await before;
    postMessage(performance.now() - from);
  };
  const worker = new Worker(URL.createObjectURL(new Blob([`onmessage = ${work}`], { type: "text/javascript" })));
  return new Promise((resolve) => {
    worker.onmessage = ({ data }) => {
      worker.terminate();
      resolve(data);
    };
    worker.postMessage({ chunkBytes, groupChunks, chunks, file });
  });
}
