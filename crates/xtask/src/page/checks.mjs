// Tests the page in Chromium: `node checks.mjs CHROMIUM PAGE PROGRAM FOLDER [large]`
//
// CHROMIUM is the browser, PAGE the folder with the built page, PROGRAM the command line, and FOLDER an empty folder.
// Files are exchanged with the command line, and refusals are compared with its messages. Each check is counted.
// With `large`, a file of 1 GiB is exchanged too, and its speed is compared with a bare loop of WebCrypto.

import { strict as assert } from "node:assert";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { Source } from "../../../crossgrain-page/web/source.mjs";
import { accessible } from "./accessible.mjs";
import { Browser, serve } from "./chromium.mjs";
import { large } from "./large.mjs";
import { closed, sizes } from "./closed.mjs";
import { Tab } from "./tab.mjs";

const [, , chromium, pageFolder, program, folder, mode] = process.argv;
const SUITES = [
  "aes-256-gcm", "aes-128-gcm", "serpent-256-eax", "aes-256-eax", "aes-256-ocb", "serpent-256-ocb", "aes-256-gcm-siv",
];
const CHUNK_BYTES = 16 * 1024;
// The first bytes of a header: magic, version and suite.
const CONTEXT_BYTES = 12;
// Headers of version 2: the length of the slots, their beginning, and the tag after them.
const [SLOTS_LENGTH, SLOTS, HEADER_TAG_BYTES] = [12, 14, 32];
const FORMAT = new URL("../../../../docs/format.md", import.meta.url);
const PASSPHRASE = "correct horse — grüße";
// A cheap derivation, which files state themselves.
const CHEAP = ["--kdf-memory", "1MiB", "--kdf-passes", "1"];

const path = (name) => join(folder, name);
let checks = 0;

function check(is, wanted, what) {
  assert.deepEqual(is, wanted, what);
  checks += 1;
}

function write(name, bytes) {
  writeFileSync(path(name), bytes);
  return path(name);
}

// Runs the command line.
function crossgrain(...args) {
  const { status, stderr } = spawnSync(program, args, { cwd: folder, encoding: "utf8" });
  return { status, message: stderr.trim() };
}

function succeed(...args) {
  const { status, message } = crossgrain(...args);
  assert.equal(status, 0, message);
}

// Files of all suites, in both directions.
async function exchange(tab) {
  for (const suite of SUITES) {
    const key = path(`key-${suite}`);
    succeed("keygen", "--suite", suite, "-o", key);
    const isQuick = suite !== "aes-256-gcm" && suite !== "serpent-256-ocb";
    for (const count of isQuick ? [200_003] : [0, 1, CHUNK_BYTES, 200_003, 5 << 20]) {
      const plain = randomBytes(count);
      const file = write("plain", plain);
      for (const secret of [{ key }, { passphrase: PASSPHRASE }]) {
        const option = secret.key ? ["--key-file", key] : ["--passphrase-file", "passphrase"];
        const what = `${suite}, ${count} bytes, ${option[0]}`;
        const sealed = await tab.run({ task: "seal", file, suite, ...secret });
        check(sealed.error, "", what);
        const by = suite.endsWith("gcm") ? "WebCrypto" : "WebAssembly";
        check(sealed.status.includes(by), true, sealed.status);
        write("sealed", sealed.bytes);
        succeed("decrypt", ...option, "sealed", "--force", "-o", "opened");
        check(readFileSync(path("opened")).equals(plain), true, `from the page: ${what}`);
        const cheap = secret.key ? [] : CHEAP;
        succeed("encrypt", "--suite", suite, ...cheap, ...option, "plain", "--force", "-o", "sealed");
        check(sealed.bytes.subarray(0, CONTEXT_BYTES), readFileSync(path("sealed")).subarray(0, CONTEXT_BYTES), what);
        const opened = await tab.run({ task: "open", file: path("sealed"), ...secret });
        check(opened.error, "", what);
        check(opened.bytes?.equals(plain), true, `to the page: ${what}`);
        if (!tab.hasPicker) await tab.forget();
        check(await tab.stored(), [], "nothing is left in the browser's storage");
      }
    }
  }
}

// The remedy that the page adds to an error.
const REMEDY = / \((on the command line: |under Secret, ).*\)$/;

// The page refuses a file as the command line does, and leaves nothing.
async function refused(tab, file, secret, option) {
  const { status, message } = crossgrain("decrypt", ...option, file, "--force", "-o", "opened");
  assert.notEqual(status, 0, file);
  const { error, bytes } = await tab.run({ task: "open", file: path(file), ...secret });
  assert.notEqual(error, "", `${file} is refused`);
  const shared = error.replace("the key file ", "").replace(REMEDY, "");
  check(message.includes(shared), true, `${file}: the page says '${error}', the program '${message}'`);
  check(bytes, null, file);
  check([await tab.stored(), tab.complete.length], [[], 0], `${file} leaves nothing`);
  return error;
}

async function refusals(tab) {
  const suite = "aes-256-gcm";
  const key = path(`key-${suite}`);
  const [byKey, keyOption] = [{ key }, ["--key-file", key]];
  const [byWords, wordsOption] = [{ passphrase: PASSPHRASE }, ["--passphrase-file", "passphrase"]];
  for (const [name, suite] of [["gcm", "aes-256-gcm"], ["ocb", "aes-256-ocb"]]) {
    write("plain", randomBytes(5 << 20));
    succeed("encrypt", "--suite", suite, ...keyOption, "plain", "--force", "-o", name);
    const good = readFileSync(path(name));
    const chunks = good.length - 13 - 56;
    const changed = (at) => {
      const bytes = Buffer.from(good);
      bytes[at] ^= 1;
      return bytes;
    };
    const cases = {
      "header-changed": changed(11),
      "commitment-changed": changed(60),
      "first-chunk-changed": changed(100),
      "late-chunk-changed": changed(13 + 56 + 300 * 16400 + 5),
      "last-chunk-changed": changed(good.length - 1),
      "between-chunks": good.subarray(0, 13 + 56 + 256 * 16400),
      "within-a-chunk": good.subarray(0, good.length - (chunks % 16400) - 100),
      "within-the-header": good.subarray(0, 40),
      "no-chunk": good.subarray(0, 13 + 56),
      empty: Buffer.alloc(0),
      longer: Buffer.concat([good, Buffer.from("x")]),
      foreign: randomBytes(1000),
    };
    for (const [what, bytes] of Object.entries(cases)) {
      write(what, bytes);
      await refused(tab, what, byKey, keyOption);
    }
  }
  write("other-key", `${randomBytes(32).toString("hex")}\n`);
  await refused(tab, "gcm", { key: path("other-key") }, ["--key-file", "other-key"]);
  write("short-key", "00112233\n");
  await refused(tab, "gcm", { key: path("short-key") }, ["--key-file", "short-key"]);
  remedied(await refused(tab, "gcm", byWords, wordsOption), "(under Secret, choose Key file)");
  succeed("encrypt", ...CHEAP, ...wordsOption, "plain", "--force", "-o", "words");
  remedied(await refused(tab, "words", byKey, keyOption), "(under Secret, choose Passphrase)");
  write("other-words", "wrong\n");
  await refused(tab, "words", { passphrase: "wrong" }, ["--passphrase-file", "other-words"]);
  const text = readFileSync(path("words")).toString("latin1").replace("m=1024,t=1,", "m=1024,t=9999,");
  const demanding = Buffer.from(text, "latin1");
  demanding.writeUInt16BE(demanding.readUInt16BE(SLOTS_LENGTH) + 3, SLOTS_LENGTH);
  demanding[SLOTS + 1] += 3; // the length of the parameters
  write("demanding", demanding);
  remedied(await refused(tab, "demanding", byWords, wordsOption), "--kdf-passes-max)");
  const bare = ["--bare", "--suite", suite, ...keyOption];
  succeed("encrypt", ...bare, "plain", "--force", "-o", "bare");
  remedied(await refused(tab, "bare", byKey, keyOption), "(on the command line: crossgrain decrypt --bare --suite)");
  const differ = await tab.run({ task: "seal", file: path("plain"), passphrase: "one", again: "two" });
  check(differ.error, "the two passphrases differ: try again");
  const none = await tab.run({ task: "seal", file: path("plain") });
  check(none.error, "no passphrase was given: type one");
}

function remedied(error, remedy) {
  check(error.endsWith(remedy), true, error);
}

// Files with several slots, and slots that were replaced.
async function slots(tab) {
  const key = path("key-aes-256-gcm");
  const [byKey, keyOption] = [{ key }, ["--key-file", key]];
  const [byWords, wordsOption] = [{ passphrase: PASSPHRASE }, ["--passphrase-file", "passphrase"]];
  const [byOther, otherOption] = [{ passphrase: "wrong" }, ["--passphrase-file", "other-words"]];
  const plain = randomBytes(40_000);
  write("plain", plain);
  const opens = async (file, secret, what) => {
    const opened = await tab.run({ task: "open", file: path(file), ...secret });
    check([opened.error, opened.bytes?.equals(plain)], ["", true], what);
    await tab.forget();
  };
  const sealed = await tab.run({ task: "seal", file: path("plain"), suite: "aes-256-gcm", ...byWords });
  write("by-page", sealed.bytes);
  await tab.forget();
  succeed("rekey", ...wordsOption, ...CHEAP, "--new-passphrase-file", "other-words", "by-page", "-o", "rekeyed");
  await opens("rekeyed", byOther, "the new passphrase");
  await refused(tab, "rekeyed", byWords, wordsOption);
  succeed("rekey", ...otherOption, "--keep", "--new-key-file", key, "rekeyed", "-o", "two-slots");
  await opens("two-slots", byOther, "the passphrase of two slots");
  await opens("two-slots", byKey, "the key of two slots");
  succeed("keygen", "--x25519", "-o", "identity");
  const [recipient] = /age1\w+/.exec(readFileSync(path("identity"), "utf8"));
  succeed("encrypt", ...wordsOption, ...CHEAP, "--recipient", recipient, "plain", "-o", "shared");
  await opens("shared", byWords, "the passphrase of a file that has a recipient too");
  succeed("encrypt", "--recipient", recipient, "plain", "-o", "recipient-only");
  for (const [secret, option] of [[byWords, wordsOption], [byKey, keyOption]]) {
    const error = await refused(tab, "recipient-only", secret, option);
    remedied(error, "(on the command line: crossgrain decrypt --identity)");
  }
  const good = readFileSync(path("shared"));
  const tag = SLOTS + good.readUInt16BE(SLOTS_LENGTH);
  const commitment = tag + HEADER_TAG_BYTES + 24;
  const cases = { "tag-changed": tag, "slot-changed": tag - 1, "commitment-of-2-changed": commitment };
  for (const [what, at] of Object.entries(cases)) {
    const bytes = Buffer.from(good);
    bytes[at] ^= 1;
    write(what, bytes);
    await refused(tab, what, byWords, wordsOption);
  }
  write("within-the-slots", good.subarray(0, tag));
  await refused(tab, "within-the-slots", byWords, wordsOption);
  const newer = Buffer.from(good);
  newer[CONTEXT_BYTES - 2] = 3;
  write("newer", newer);
  await refused(tab, "newer", byWords, wordsOption);
}

// The files of docs/format.md, of both versions.
async function vectors(tab) {
  for (const [, text] of readFileSync(FORMAT, "utf8").matchAll(/^```text\n(suite = [^]*?)```/gm)) {
    const fields = new Map(text.trim().split("\n").map((line) => line.split(" = ")));
    if (fields.has("bare")) continue;
    const file = write("vector", Buffer.from(fields.get("file").replaceAll(" ", ""), "hex"));
    const secrets = [];
    if (fields.has("passphrase")) secrets.push({ passphrase: fields.get("passphrase") });
    if (fields.has("key")) secrets.push({ key: write("vector-key", `${fields.get("key")}\n`) });
    for (const secret of secrets) {
      const opened = await tab.run({ task: "open", file, ...secret });
      check([opened.error, opened.bytes?.toString()], ["", JSON.parse(fields.get("plaintext"))], text);
      await tab.forget();
    }
  }
}

// Reads bytes by groups of 300 bytes. `stream` makes the stream of a part of them.
async function readBy(bytes, stream) {
  const blob = new Blob([bytes]);
  const slice = (from, to) => {
    const part = blob.slice(from, to);
    return { stream: () => stream(part), arrayBuffer: () => part.arrayBuffer() };
  };
  const source = new Source({ size: bytes.length, slice }, 0, 300, 20);
  const groups = [];
  for (let isLast = false; !isLast;) {
    const group = await source.next(new ArrayBuffer(300));
    groups.push(Buffer.from(group));
    isLast = group.length < 300;
  }
  return Buffer.concat(groups);
}

// A stream of bytes that stops after the first of them, or ends there.
function broken(part, isEnding) {
  let isFirst = true;
  return new ReadableStream({
    type: "bytes",
    async pull(controller) {
      if (isFirst) {
        isFirst = false;
        controller.enqueue(new Uint8Array(await part.slice(0, 100).arrayBuffer()));
      } else if (isEnding) {
        controller.close();
        controller.byobRequest?.respond(0);
      } else {
        await new Promise(() => {});
      }
    },
  });
}

// Inputs are read whole if a stream stops, and if the browser has no streams into buffers.
async function sources() {
  const bytes = randomBytes(1000);
  check((await readBy(bytes, (part) => part.stream())).equals(bytes), true, "a stream");
  check((await readBy(bytes, (part) => broken(part, false))).equals(bytes), true, "a stream that stops");
  check((await readBy(bytes, () => new ReadableStream({}))).equals(bytes), true, "a stream without buffers");
  await assert.rejects(readBy(bytes, (part) => broken(part, true)), /was changed while it was read/);
  checks += 1;
}

// A cancelled file leaves nothing, whenever it is cancelled.
async function cancelled(tab) {
  write("plain", randomBytes(64 << 20));
  const key = path("key-serpent-256-eax");
  const click = () => tab.page.run(() => document.getElementById("cancel").click());
  await tab.start({ task: "seal", file: path("plain"), key, suite: "serpent-256-eax" });
  await tab.page.run(async () => {
    while (document.getElementById("progress").value === 0) await new Promise((resume) => setTimeout(resume, 5));
  });
  await click();
  check((await tab.end()).status, "cancelled: nothing was written");
  check([await tab.stored(), tab.complete.length], [[], 0], "cancelled while encrypting");
  const costs = ["--kdf-memory", "256MiB", "--kdf-passes", "16"];
  write("small", "text");
  succeed("encrypt", ...costs, "--passphrase-file", "passphrase", "small", "--force", "-o", "slow");
  await tab.start({ task: "open", file: path("slow"), passphrase: PASSPHRASE });
  await new Promise((resume) => setTimeout(resume, 500));
  await click();
  check((await tab.end()).status, "cancelled: nothing was written");
  check([await tab.stored(), tab.complete.length], [[], 0], "cancelled while deriving the key");
}

// A tab that was closed leaves a file in the browser's storage. The next visit removes it, unless another tab holds it.
async function leftovers(tab) {
  await tab.page.run(async () => {
    const folder = await navigator.storage.getDirectory();
    for (const name of ["crossgrain-left", "crossgrain-held"]) await folder.getFileHandle(name, { create: true });
    navigator.locks.request("crossgrain-held", () => new Promise((release) => (window.release = release)));
  });
  const other = await Tab.open(tab.page.browser, tab.url, tab.downloads);
  while ((await tab.stored()).includes("crossgrain-left")) await new Promise((resume) => setTimeout(resume, 50));
  check(await tab.stored(), ["crossgrain-held"]);
  await tab.page.run(async () => {
    window.release();
    await (await navigator.storage.getDirectory()).removeEntry("crossgrain-held");
  });
  await other.page.close();
}

async function run(browser, server) {
  const downloads = path("downloads");
  mkdirSync(downloads);
  write("passphrase", `${PASSPHRASE}\n`);
  const tab = await Tab.open(browser, server.url, downloads);
  await sources();
  await exchange(tab);
  await refusals(tab);
  await slots(tab);
  await vectors(tab);
  await cancelled(tab);
  await leftovers(tab);
  checks += await accessible(tab, folder);
  checks += await closed(tab, server);
  if (mode === "large") await large(browser, tab, { program, folder });
  await tab.page.close();
  const picking = await Tab.open(browser, server.url, downloads, true);
  const key = path("key-aes-256-gcm");
  const sealed = await picking.run({ task: "seal", file: path("gcm"), key, suite: "aes-256-gcm" });
  const again = await picking.run({ task: "open", file: write("twice", sealed.bytes), key });
  check(again.bytes.equals(readFileSync(path("gcm"))), true, "a file that the user chose");
  for (const changed of ["first-chunk-changed", "last-chunk-changed"]) {
    await refused(picking, changed, { key }, ["--key-file", key]);
  }
  await cancelled(picking);
}

const server = await serve(pageFolder);
const browser = new Browser(chromium, path("profile"));
try {
  await run(browser, server);
} finally {
  await browser.close();
  server.close();
}
const { files, bytes, gzip, brotli } = sizes(pageFolder);
console.log(`${checks} checks passed; ${files} files, ${bytes} bytes, ${gzip} by gzip -9, ${brotli} by brotli`);
