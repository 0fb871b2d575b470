// Chromium without a window, controlled by its DevTools protocol through a pipe, and a server of static files.

import { spawn } from "node:child_process";
import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

const CLOSE_MS = 5000;
const TYPES = {
  ".css": "text/css", ".html": "text/html", ".json": "application/json", ".mjs": "text/javascript",
  ".svg": "image/svg+xml", ".wasm": "application/wasm",
};

// Serves a folder on a free port of this machine. `requests` lists the paths asked for.
export async function serve(folder) {
  const requests = [];
  const server = createServer((request, reply) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    requests.push(path);
    const file = join(folder, path === "/" ? "index.html" : path);
    if (!existsSync(file)) return reply.writeHead(404).end();
    reply.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
    return createReadStream(file).pipe(reply);
  });
  await new Promise((listening) => server.listen(0, "127.0.0.1", listening));
  return { url: `http://127.0.0.1:${server.address().port}/`, requests, close: () => server.close() };
}

// A browser with one profile folder.
export class Browser {
  #next = 0;
  #waiting = new Map();
  #listeners = new Set();

  constructor(program, profile) {
    const flags = [
      "--headless=new", "--remote-debugging-pipe", `--user-data-dir=${profile}`, "--no-first-run", "--disable-gpu",
      "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--mute-audio",
    ];
    if (process.getuid?.() === 0) flags.push("--no-sandbox"); // Chromium has no sandbox for root
    this.child = spawn(program, flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
    this.child.on("exit", () => this.#waiting.forEach(({ fail }) => fail(new Error("Chromium has ended"))));
    let rest = "";
    this.child.stdio[4].setEncoding("utf8").on("data", (text) => {
      const messages = (rest + text).split("\0");
      rest = messages.pop();
      messages.forEach((message) => this.#receive(JSON.parse(message)));
    });
  }

  #receive(message) {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (waiting && message.error) waiting.fail(new Error(`${waiting.method}: ${message.error.message}`));
    else if (waiting) waiting.done(message.result);
    else this.#listeners.forEach((listener) => listener(message));
  }

  // Calls a method, of a page if `sessionId` is given.
  call(method, params = {}, sessionId = undefined) {
    const id = (this.#next += 1);
    this.child.stdio[3].write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    return new Promise((done, fail) => this.#waiting.set(id, { done, fail, method }));
  }

  onEvent(listener) {
    this.#listeners.add(listener);
  }

  // Opens a page.
  async open(url, before) {
    const { targetId } = await this.call("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await this.call("Target.attachToTarget", { targetId, flatten: true });
    const page = new Page(this, sessionId, targetId);
    for (const domain of ["Page", "Runtime", "DOM", "Network"]) await page.call(`${domain}.enable`);
    if (before) await page.call("Page.addScriptToEvaluateOnNewDocument", { source: before });
    await page.call("Page.navigate", { url });
    return page;
  }

  // Ends the browser. A page that is at work asks the user first, so it is killed after a while.
  async close() {
    const ended = new Promise((done) => this.child.on("exit", done));
    const late = setTimeout(() => this.child.kill("SIGKILL"), CLOSE_MS);
    this.call("Browser.close").catch(() => {});
    await ended;
    clearTimeout(late);
  }
}

// A page of the browser.
export class Page {
  constructor(browser, sessionId, targetId) {
    Object.assign(this, { browser, sessionId, targetId });
  }

  call(method, params) {
    return this.browser.call(method, params, this.sessionId);
  }

  // The value of an expression, which may be a promise. It runs as if the user had clicked.
  async value(expression) {
    const how = { expression, awaitPromise: true, returnByValue: true, userGesture: true };
    const { result, exceptionDetails } = await this.call("Runtime.evaluate", how);
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  // The value of a function of this script, which runs in the page.
  run(work, ...values) {
    return this.value(`(${work})(...${JSON.stringify(values)})`);
  }

  // Chooses files in an input.
  async choose(selector, ...files) {
    const { root } = await this.call("DOM.getDocument");
    const { nodeId } = await this.call("DOM.querySelector", { nodeId: root.nodeId, selector });
    await this.call("DOM.setFileInputFiles", { nodeId, files });
  }

  // Types text into an element by the keyboard.
  async type(selector, text) {
    await this.run((selector) => document.querySelector(selector).focus(), selector);
    await this.call("Input.insertText", { text });
  }

  async key(key, code, number) {
    for (const type of ["keyDown", "keyUp"]) {
      const text = type === "keyDown" && key === "Enter" ? "\r" : undefined;
      await this.call("Input.dispatchKeyEvent", { type, key, code, windowsVirtualKeyCode: number, text });
    }
  }

  close() {
    return this.browser.call("Target.closeTarget", { targetId: this.targetId });
  }
}
