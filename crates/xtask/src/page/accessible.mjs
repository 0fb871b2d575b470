// Checks what people who use a keyboard or a screen reader need: names, the order of the focus, contrast, messages.

import { strict as assert } from "node:assert";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

const CONTRAST_MIN = 4.5;

// Runs the checks, and gives their number.
export async function accessible(tab, folder) {
  const { page } = tab;
  let checks = 0;
  const check = (is, wanted, what) => {
    assert.deepEqual(is, wanted, what);
    checks += 1;
  };
  await page.call("Accessibility.enable");
  const { nodes } = await page.call("Accessibility.getFullAXTree");
  const isFocusable = (node) => node.properties?.some(({ name, value }) => name === "focusable" && value.value);
  const nameless = nodes.filter((node) => isFocusable(node) && node.role.value !== "RootWebArea" && !node.name?.value);
  check(nameless.map((node) => node.role.value), [], "every control has a name");
  check(await page.run(() => [document.documentElement.lang, document.querySelectorAll("h1").length]), ["en", 1]);
  check(await page.run(() => document.querySelectorAll("[tabindex]").length), 0, "the focus has the order of the text");
  check(await page.run(() => document.getElementById("status").getAttribute("aria-live")), "polite");
  check(await page.run(() => document.getElementById("error").getAttribute("role")), "alert");
  for (const value of ["light", "dark"]) {
    await page.call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value }] });
    for (const [what, ratio] of await page.run(contrasts)) {
      assert.ok(ratio >= CONTRAST_MIN, `${what} has a contrast of ${ratio.toFixed(2)} in ${value} mode`);
      checks += 1;
    }
    const { data } = await page.call("Page.captureScreenshot", { captureBeyondViewport: true });
    writeFileSync(join(folder, `${value}.png`), Buffer.from(data, "base64"));
  }
  await page.call("Emulation.setEmulatedMedia", { features: [] });
  checks += await keyboard(tab, folder);
  return checks;
}

// The contrast of colours in the style sheet with what is behind them.
function contrasts() {
  const style = getComputedStyle(document.documentElement);
  const luminance = (name) => {
    const hex = style.getPropertyValue(name).trim().slice(1);
    const [r, g, b] = [0, 2, 4].map((at) => {
      const value = parseInt(hex.slice(at, at + 2), 16) / 255;
      return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const pairs = [["--text", "--ground"], ["--note", "--ground"], ["--accent", "--ground"], ["--error", "--ground"],
    ["--on-accent", "--accent"], ["--line", "--ground"]];
  return pairs.map(([front, back]) => {
    const [a, b] = [luminance(front), luminance(back)].sort((a, b) => b - a);
    return [`${front} on ${back}`, (a + 0.05) / (b + 0.05)];
  });
}

// Fills the form by the keyboard alone, after the file was chosen, and submits it by Enter.
async function keyboard(tab, folder) {
  const { page } = tab;
  const file = join(folder, "small");
  await page.run(() => {
    document.querySelector("input[value=open]").click();
    document.querySelector("input[value=seal]").click();
    document.querySelector("input[value=passphrase]").click();
    document.getElementById("file").focus();
  });
  await page.choose("#file", file);
  const order = [];
  for (let step = 0; step < 7; step += 1) {
    await page.key("Tab", "Tab", 9);
    order.push(await page.run(() => document.activeElement.id || document.activeElement.value));
  }
  assert.deepEqual(order, ["passphrase", "passphrase", "again", "show", "suite", "start", "plan-job"]);
  await page.type("#passphrase", "by keyboard");
  await page.type("#again", "by keyboard");
  await page.run(() => {
    document.getElementById("status").textContent = "";
    window.times = {};
  });
  await page.key("Enter", "Enter", 13);
  const { error } = await tab.end();
  assert.equal(error, "");
  await tab.downloaded();
  await tab.forget();
  return 2;
}
