// The page of crossgrain in a tab, as a user operates it.

import { readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

// Instead of a dialog for files, the page gets files of its own storage.
const WITH_PICKER = `window.showSaveFilePicker = async ({ suggestedName }) => {
  const folder = await navigator.storage.getDirectory();
  return folder.getFileHandle("picked-" + suggestedName, { create: true });
};`;
const WITHOUT_PICKER = "delete window.showSaveFilePicker;";

export class Tab {
  // Opens the page. Downloads go to a folder.
  static async open(browser, url, downloads, hasPicker = false) {
    const tab = new Tab();
    Object.assign(tab, { url, downloads, complete: [], hasPicker });
    const behavior = { behavior: "allowAndName", downloadPath: downloads, eventsEnabled: true };
    await browser.call("Browser.setDownloadBehavior", behavior);
    browser.onEvent(({ method, params }) => {
      if (method === "Browser.downloadProgress" && params.state === "completed") tab.complete.push(params.guid);
    });
    tab.page = await browser.open(url, hasPicker ? WITH_PICKER : WITHOUT_PICKER);
    await tab.page.run(async () => {
      while (!document.getElementById("start") || document.getElementById("start").disabled) {
        const message = document.getElementById("error")?.textContent;
        if (message) throw new Error(message);
        await new Promise((resume) => setTimeout(resume, 20));
      }
    });
    return tab;
  }

  // Fills the form and submits it.
  async start({ task, file, passphrase, again, key, suite }) {
    await this.page.run((task, kind, suite) => {
      document.querySelector(`input[value="${task}"]`).click();
      document.querySelector(`input[value="${kind}"]`).click();
      for (const id of ["passphrase", "again"]) document.getElementById(id).value = "";
      if (suite) document.getElementById("suite").value = suite;
    }, task, key ? "key" : "passphrase", suite);
    await this.page.choose("#file", file);
    if (key) await this.page.choose("#key", key);
    if (passphrase) await this.page.type("#passphrase", passphrase);
    if (passphrase && task === "seal") await this.page.type("#again", again ?? passphrase);
    await this.page.run(() => {
      const at = (id) => document.getElementById(id);
      at("status").textContent = at("error").textContent = "";
      window.times = {};
      const watch = new MutationObserver(() => {
        if (/^(En|De)crypting/.test(at("status").textContent)) window.times.from ??= performance.now();
        if (/is complete|^Saved/.test(at("status").textContent)) window.times.to ??= performance.now();
      });
      watch.observe(at("status"), { childList: true, characterData: true, subtree: true });
      at("form").requestSubmit();
    });
  }

  // Waits until the page has finished, and gives its messages and the milliseconds that the chunks took.
  end() {
    return this.page.run(async () => {
      const at = (id) => document.getElementById(id);
      const text = (id) => at(id).textContent;
      while (!text("error") && !/is complete|^Saved|^cancelled/.test(text("status"))) {
        await new Promise((resume) => setTimeout(resume, 20));
      }
      const ms = window.times.to - window.times.from;
      return { error: text("error"), status: text("status"), ms };
    });
  }

  // Runs a job. `bytes` are those of the output, or null.
  async run(job) {
    await this.start(job);
    const told = await this.end();
    if (told.error || told.status.startsWith("cancelled")) return { ...told, bytes: null };
    return { ...told, bytes: this.hasPicker ? await this.picked() : readFileSync(await this.downloaded()) };
  }

  // The path of the next finished download, which gets this name.
  async downloaded(name = "last") {
    while (this.complete.length === 0) await new Promise((resume) => setTimeout(resume, 10));
    const path = join(this.downloads, this.complete.shift());
    const kept = join(this.downloads, name);
    rmSync(kept, { force: true });
    renameSync(path, kept);
    return kept;
  }

  // The bytes of the file that the dialog gave, which is then removed.
  async picked() {
    const text = await this.page.run(async () => {
      const folder = await navigator.storage.getDirectory();
      for await (const [name, handle] of folder.entries()) {
        if (!name.startsWith("picked-")) continue;
        const bytes = new Uint8Array(await (await handle.getFile()).arrayBuffer());
        await folder.removeEntry(name);
        let text = "";
        for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192));
        return btoa(text);
      }
      return null;
    });
    return text === null ? null : Buffer.from(text, "base64");
  }

  // The names of all files in the storage of the page.
  stored() {
    return this.page.run(async () => {
      const names = [];
      for await (const name of (await navigator.storage.getDirectory()).keys()) names.push(name);
      return names;
    });
  }

  // Deletes the browser's copy, as the user does.
  async forget() {
    await this.page.run(async () => {
      const button = document.getElementById("forget");
      button.click();
      while (!/is deleted/.test(document.getElementById("status").textContent)) {
        await new Promise((resume) => setTimeout(resume, 10));
      }
    });
  }
}
