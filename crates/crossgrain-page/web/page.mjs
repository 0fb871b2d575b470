// The form. It starts a worker for each file, and shows what the worker reports.

import { Engine } from "./engine.mjs";
import { showPlans } from "./plans.mjs";

const SUFFIX = ".cg";

const at = (id) => document.getElementById(id);
const chosen = (name) => document.querySelector(`input[name="${name}"]:checked`).value;

let module;
let keyFileBytesMax;
// The file that is being worked on: its worker and its names, or null.
let job = null;
// The finished file in the browser's storage, with the lock that keeps other tabs from removing it.
let stored = null;

// Loads the program. Old copies in the browser's storage are removed, unless another tab needs them.
async function load() {
  if (!globalThis.crypto?.subtle || !navigator.storage?.getDirectory) {
    throw new Error("open this page by https, or from localhost, in a current browser");
  }
  module = await WebAssembly.compile(await (await fetch("crossgrain.wasm")).arrayBuffer());
  const engine = new Engine(module);
  keyFileBytesMax = engine.keyFileBytesMax;
  at("suite").append(...engine.suites().map((name) => new Option(name)));
  at("start").disabled = false;
  tell("Choose a file.");
  await removeStored();
  await showPlans();
}

// Deletes copies that no tab holds.
async function removeStored() {
  const folder = await navigator.storage.getDirectory();
  for await (const name of folder.keys()) {
    if (!name.startsWith("crossgrain-")) continue;
    await navigator.locks.request(name, { ifAvailable: true }, async (lock) => {
      if (lock) await remove(name);
    });
  }
}

function tell(text) {
  if (at("status").textContent !== text) at("status").textContent = text;
}

// A name from a file system, without characters that are invisible or reverse the text.
function shown(name) {
  return name.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (char) => `\\u{${char.codePointAt(0).toString(16)}}`);
}

// The name of the output.
function outputName(task, name) {
  if (task === "seal") return name + SUFFIX;
  return name.endsWith(SUFFIX) && name !== SUFFIX ? name.slice(0, -SUFFIX.length) : `${name}.opened`;
}

// Shows only the fields that the choice needs.
function adapt() {
  const isSealing = chosen("task") === "seal";
  const isKey = chosen("kind") === "key";
  at("again-line").hidden = at("suite-line").hidden = !isSealing;
  at("advice").hidden = !isSealing;
  at("by-passphrase").hidden = isKey;
  at("by-key").hidden = !isKey;
  at("start").textContent = isSealing ? "Encrypt" : "Decrypt";
  at("passphrase").type = at("again").type = at("show").checked ? "text" : "password";
}

// The bytes of the secret, or an error for the user.
async function secret(task, isKey) {
  if (isKey) {
    const file = at("key").files[0];
    if (!file) throw new Error("no key file was chosen: choose one");
    return new Uint8Array(await file.slice(0, keyFileBytesMax).arrayBuffer());
  }
  if (at("passphrase").value === "") throw new Error("no passphrase was given: type one");
  if (task === "seal" && at("again").value !== at("passphrase").value) {
    throw new Error("the two passphrases differ: try again");
  }
  return new TextEncoder().encode(at("passphrase").value);
}

// Asks where to save the file. Returns null if the browser has no such dialog, and undefined if the user closed it.
async function ask(suggestedName) {
  if (!window.showSaveFilePicker) return null;
  try {
    return await window.showSaveFilePicker({ suggestedName });
  } catch (error) {
    if (error.name === "AbortError") return undefined;
    throw error;
  }
}

async function start() {
  const task = chosen("task");
  const isKey = chosen("kind") === "key";
  const file = at("file").files[0];
  if (!file) throw new Error("no file was chosen: choose one");
  const bytes = await secret(task, isKey);
  const name = outputName(task, file.name);
  const handle = await ask(name);
  if (handle === undefined) {
    bytes.fill(0);
    return;
  }
  at("passphrase").value = at("again").value = "";
  await forget();
  const storedName = `crossgrain-${crypto.randomUUID()}`;
  if (!handle) stored = { name: storedName, release: await hold(storedName) };
  // A worker from this blob has the page's rule for connections. One from a file has that of the server.
  const code = `import ${JSON.stringify(new URL("worker.mjs", location.href).href)};`;
  const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const worker = new Worker(url, { type: "module" });
  job = { worker, url, task, file, name: handle?.name ?? name, handle, isDeriving: true };
  worker.onmessage = ({ data }) => listen(data);
  worker.onerror = (event) => fail(`the page failed (${event.message}): reload it and try again`);
  const suite = at("suite").value;
  worker.postMessage({ module, task, file, secret: bytes, isKey, suite, handle, storedName }, [bytes.buffer]);
  busy(true);
  tell(isKey ? "Starting." : "Deriving the key from the passphrase. This takes some seconds.");
}

// Holds a lock until the returned function is called.
function hold(name) {
  return new Promise((held) => {
    navigator.locks.request(name, () => new Promise((release) => held(release)));
  });
}

function listen(data) {
  if (data.phase === "running") {
    job.isDeriving = false;
    job.how = `${data.suite} by ${data.by === "WebCrypto" ? "the browser (WebCrypto)" : "crossgrain (WebAssembly)"}`;
    at("progress").hidden = false;
    tell(`${job.task === "seal" ? "Encrypting" : "Decrypting"} ${shown(job.file.name)}: ${job.how}.`);
  } else if (data.bytes !== undefined) {
    at("progress").value = job.file.size ? data.bytes / job.file.size : 1;
  } else if (data.done) {
    succeed().catch((error) => fail(error.message));
  } else if (data.failed) {
    fail(data.failed, data.isCancelled);
  }
}

// The file is complete. One in the browser's storage is offered as a download.
async function succeed() {
  const { name, how, handle } = job;
  end();
  if (handle) {
    tell(`Saved ${shown(name)}: ${how}.`);
    return;
  }
  const folder = await navigator.storage.getDirectory();
  const file = await (await folder.getFileHandle(stored.name)).getFile();
  const link = at("download");
  link.href = stored.url = URL.createObjectURL(file);
  link.download = name;
  link.textContent = `Save ${shown(name)}`;
  at("result").hidden = false;
  tell(`${shown(name)} is complete: ${how}. When it is saved, delete the browser's copy.`);
  link.click();
}

function fail(message, isCancelled = false) {
  end();
  forget();
  if (isCancelled) tell(message);
  else {
    tell("Nothing was written.");
    at("error").textContent = message;
  }
}

// Ends the worker, and with it all that its memory holds.
function end() {
  job?.worker.terminate();
  if (job) URL.revokeObjectURL(job.url);
  job = null;
  busy(false);
}

// Deletes the finished file in the browser's storage.
async function forget() {
  at("result").hidden = true;
  if (!stored) return;
  const { name, url, release } = stored;
  stored = null;
  if (url) URL.revokeObjectURL(url);
  await remove(name);
  release();
}

// Removes a file from the browser's storage. A worker that was just ended may still hold it.
async function remove(name) {
  const folder = await navigator.storage.getDirectory();
  for (let tries = 0; tries < 50; tries += 1) {
    try {
      return await folder.removeEntry(name);
    } catch (error) {
      if (error.name === "NotFoundError") return undefined;
      await new Promise((resume) => setTimeout(resume, 100));
    }
  }
  return tell("The browser's copy cannot be deleted now. Loading the page again deletes it.");
}

function busy(isBusy) {
  for (const element of at("form").elements) element.disabled = isBusy;
  at("start").disabled = isBusy || !module;
  at("cancel").disabled = !isBusy;
  at("progress").hidden = true;
  at("progress").value = 0;
  if (isBusy) at("error").textContent = "";
  (isBusy ? at("cancel") : at("start")).focus();
}

// A derivation cannot be interrupted, but nothing was written before it ends.
async function cancel() {
  if (!job) return;
  if (!job.isDeriving) {
    job.worker.postMessage("cancel");
    return;
  }
  const { handle } = job;
  end();
  await handle?.remove?.().catch(() => {});
  fail("cancelled: nothing was written", true);
}

at("form").addEventListener("change", adapt);
at("form").addEventListener("submit", (event) => {
  event.preventDefault();
  at("error").textContent = "";
  at("start").disabled = true; // a second press must not begin a second file
  start().catch((error) => fail(error.message)).finally(() => {
    at("start").disabled = job !== null;
  });
});
at("cancel").addEventListener("click", cancel);
at("forget").addEventListener("click", () => forget().then(() => tell("The browser's copy is deleted.")));
window.addEventListener("beforeunload", (event) => {
  if (job) event.preventDefault();
});
adapt();
load().catch((error) => fail(`the page cannot run here: ${error.message}`));
