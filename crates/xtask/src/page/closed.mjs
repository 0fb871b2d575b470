// Checks that the page connects to no other place, that its pictures are there, and that it is small.

import { strict as assert } from "node:assert";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

import { serve } from "./chromium.mjs";

// All files of the page together, each compressed by `gzip -9`.
const COMPRESSED_BYTES_MAX = 600_000;

// Runs the checks, and gives their number.
export async function closed(tab, server) {
  const { page } = tab;
  const elsewhere = await serve("/nonexistent");
  const foreign = [];
  page.browser.onEvent(({ method, params }) => {
    const url = method === "Network.requestWillBeSent" ? params.request.url : "";
    if (url.startsWith("http") && !url.startsWith(server.url) && !url.startsWith(elsewhere.url)) foreign.push(url);
  });
  const attempt = (url) => fetch(url).then(() => "connected", () => "refused");
  assert.equal(await page.run(attempt, elsewhere.url), "refused", "the page connects to no other place");
  assert.equal(await page.run(inWorker, elsewhere.url), "refused", "nor does a worker");
  assert.equal(await page.run(byImage, elsewhere.url), "refused", "nor does a picture");
  assert.deepEqual([elsewhere.requests, foreign], [[], []]);
  const { plans } = await page.run(() => fetch("plans/list.json").then((reply) => reply.json()));
  for (const name of Object.keys(plans)) {
    assert.ok(await page.run(hasPicture, name), `the picture ${name}`);
  }
  elsewhere.close();
  return 4 + Object.keys(plans).length;
}

// The page's workers begin like this one.
function inWorker(url) {
  const code = `fetch("${url}").then(() => postMessage("connected"), () => postMessage("refused"));`;
  const worker = new Worker(URL.createObjectURL(new Blob([code], { type: "text/javascript" })), { type: "module" });
  return new Promise((resolve) => {
    worker.onmessage = ({ data }) => resolve(data);
  });
}

function byImage(url) {
  const image = new Image();
  return new Promise((resolve) => {
    image.onload = () => resolve("connected");
    image.onerror = () => resolve("refused");
    image.src = `${url}x.svg`;
  });
}

function hasPicture(name) {
  const image = new Image();
  return new Promise((resolve) => {
    image.onload = () => resolve(image.naturalWidth > 100);
    image.onerror = () => resolve(false);
    image.src = `plans/${name}.svg`;
  });
}

// The sizes of all files of a folder together. Fails if they are too large.
export function sizes(folder) {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const total = { files: files.length, bytes: 0, gzip: 0, brotli: 0 };
  for (const { parentPath, path, name } of files) {
    const bytes = readFileSync(join(parentPath ?? path, name));
    total.bytes += bytes.length;
    total.gzip += gzipSync(bytes, { level: 9 }).length;
    total.brotli += brotliCompressSync(bytes).length;
  }
  assert.ok(total.gzip <= COMPRESSED_BYTES_MAX, `the page has ${total.gzip} bytes, compressed`);
  return total;
}
