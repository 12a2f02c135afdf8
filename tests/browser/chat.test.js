// The chat page in headless Chromium: CHAT names the built example, CHROMIUM the browser.
//
//     npm install && CHAT=../../target/release/examples/chat node --test

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { chromium } from "playwright-core";
import { start } from "./server.js";

const CHAT = process.env.CHAT ?? "../../target/release/examples/chat";
const SHOTS = process.env.SCREENSHOTS;
const WAIT = { timeout: 20_000 };

let browser;
let server;
let context;
let complaints;

before(async () => {
  browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync"],
  });
});
after(() => browser.close());

beforeEach(async () => {
  server = await start(CHAT);
  context = await browser.newContext();
  complaints = [];
});
afterEach(async () => {
  await context.close();
  await server.stop();
});

/** Opens the page in a tab that notes every error and every violation of the content security policy. */
async function open(name, address = "/", options = {}) {
  const page = await context.newPage();
  if (options.viewport) await page.setViewportSize(options.viewport);
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (line) => {
    // A browser reports a refused connection by itself; the restart test makes some.
    if (line.type() === "error" && !/WebSocket connection to/.test(line.text())) complaints.push(line.text());
  });
  page.on("dialog", (dialog) => { complaints.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  if (name) await page.addInitScript((name) => sessionStorage.setItem("greenroom.name", JSON.stringify(name)), name);
  await page.goto(`http://${server.host}${address}`);
  await page.locator('#connection[data-state="connected"]').waitFor(WAIT);
  return page;
}

async function say(page, text) {
  await page.getByLabel("Message", { exact: true }).fill(text);
  await page.keyboard.press("Enter");
}

const saying = (page, text) => page.locator(".message .bubble", { hasText: text });

test("two tabs see each other and a message each way", async () => {
  const ada = await open("Ada");
  const bob = await open("Bob");
  await ada.locator("#people").getByText("Bob").waitFor(WAIT);
  await say(ada, "hello from Ada");
  await saying(bob, "hello from Ada").waitFor(WAIT);
  await say(bob, "hello from Bob");
  await saying(ada, "hello from Bob").waitFor(WAIT);
  assert.equal(await ada.locator("#count").textContent(), "2");
  await bob.close();
  await ada.getByText("Bob left").waitFor(WAIT);
  assert.deepEqual(complaints, []);
});

test("a newcomer sees the history once and in order, and another room sees nothing", async () => {
  const ada = await open("Ada", "/#history");
  for (const text of ["first", "second", "third"]) { await say(ada, text); await saying(ada, text).waitFor(WAIT); }
  await ada.locator(".message.pending").waitFor({ state: "detached", ...WAIT });
  const bob = await open("Bob", "/?room=history");
  assert.deepEqual(await bob.locator(".bubble").allTextContents(), ["first", "second", "third"]);
  const eve = await open("Eve", "/#elsewhere");
  assert.equal(await eve.locator(".bubble").count(), 0);
  assert.deepEqual(complaints, []);
});

test("markup in a message, a name and a room is shown as text", async () => {
  const markup = '<script>alert(1)</script><img src=x onerror="alert(2)">';
  const ada = await open("Ada");
  const bob = await open("<b>Bob</b>");
  await say(bob, markup);
  const bubble = saying(ada, "alert(1)");
  await bubble.waitFor(WAIT);
  assert.equal(await bubble.textContent(), markup);
  assert.equal(await ada.locator("#messages script, #messages img, #messages b, #people b").count(), 0);
  await ada.locator("#people").getByText("<b>Bob</b>").waitFor(WAIT);
  assert.deepEqual(complaints, []);
});

test("after a restart of the server the page reconnects and sends what waited", async () => {
  const ada = await open("Ada");
  const bob = await open("Bob");
  const { port } = server;
  await server.stop("SIGKILL");
  await ada.locator('#connection:not([data-state="connected"])').waitFor(WAIT);
  await say(ada, "written while the server was away");
  await ada.getByText("Waiting to be sent").waitFor(WAIT);
  assert.match(await ada.locator("#unsent").textContent(), /1 message waits/);
  server = await start(CHAT, port);
  await saying(bob, "written while the server was away").waitFor(WAIT);
  await ada.locator('#connection[data-state="connected"]').waitFor(WAIT);
  await ada.locator(".message.pending").waitFor({ state: "detached", ...WAIT });
  assert.equal(await saying(ada, "written while the server was away").count(), 1);
  assert.equal(await ada.locator("#unsent").textContent(), "");
  assert.deepEqual(complaints, []);
});

test("everything works by keyboard alone", async () => {
  const ada = await open("Ada");
  const focus = () => ada.evaluate(() => document.activeElement.id || document.activeElement.className);
  assert.equal(await focus(), "text");
  await ada.keyboard.type("typed");
  await ada.keyboard.press("Shift+Enter");
  await ada.keyboard.type("in two lines");
  await ada.keyboard.press("Enter");
  await saying(ada, "typed").waitFor(WAIT);
  assert.equal(await saying(ada, "typed").textContent(), "typed\nin two lines");
  await ada.evaluate(() => document.activeElement.blur());
  await ada.reload();
  await ada.locator('#connection[data-state="connected"]').waitFor(WAIT);
  const reached = new Set();
  for (let step = 0; step < 14; step += 1) {
    await ada.keyboard.press("Tab");
    reached.add(await focus());
    assert.ok(await ada.evaluate(() => document.activeElement === document.body ||
      getComputedStyle(document.activeElement).outlineStyle !== "none"), `no visible focus: ${await focus()}`);
  }
  for (const id of ["skip", "theme", "room-input", "name-input", "log", "text"]) assert.ok(reached.has(id), `${id} not reached: ${[...reached]}`);
  await ada.locator("#name-input").focus();
  await ada.keyboard.press("Control+A");
  await ada.keyboard.type("Countess");
  await ada.keyboard.press("Enter");
  await ada.locator("#people").getByText("Countess").waitFor(WAIT);
  assert.equal(await focus(), "text");
  await ada.locator("#room-input").focus();
  await ada.keyboard.type("Green Room");
  await ada.keyboard.press("Enter");
  await ada.locator("#room-title", { hasText: "green-room" }).waitFor(WAIT);
  assert.equal(await focus(), "text");
  assert.deepEqual(complaints, []);
});

test("a name already taken gets a number, and a bad one is explained", async () => {
  const ada = await open("Ada");
  await open("Ada");
  await ada.locator("#people").getByText("Ada (2)").waitFor(WAIT);
  await ada.locator("#name-input").fill("   ");
  await ada.locator("#name-input").press("Enter");
  assert.match(await ada.locator("#name-error").textContent(), /at least one/);
  assert.equal(await ada.locator("#name-input").getAttribute("aria-invalid"), "true");
});

test("the phone's drawer opens, holds the focus, and closes with Escape", async () => {
  const ada = await open("Ada", "/", { viewport: { width: 390, height: 780 } });
  const button = ada.locator("#drawer-button");
  assert.equal(await ada.locator("#side").isVisible(), false);
  await button.click();
  assert.equal(await button.getAttribute("aria-expanded"), "true");
  await ada.locator("#side").waitFor(WAIT);
  await ada.keyboard.press("Escape");
  assert.equal(await button.getAttribute("aria-expanded"), "false");
  assert.equal(await ada.evaluate(() => document.activeElement.id), "drawer-button");
  assert.ok(await ada.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "scrolls sideways");
});

for (const colorScheme of ["light", "dark"]) {
  for (const [size, viewport] of [["desktop", { width: 1280, height: 800 }], ["phone", { width: 390, height: 780 }]]) {
    test(`axe finds nothing to complain about: ${colorScheme}, ${size}`, async () => {
      await context.close();
      context = await browser.newContext({ colorScheme, viewport, bypassCSP: true, reducedMotion: "reduce" });
      const ada = await open("Ada Lovelace");
      if (SHOTS) await ada.screenshot({ path: `${SHOTS}/${colorScheme}-${size}-empty.png` });
      const bob = await open("Bob");
      await say(ada, "Is the engine warm yet?");
      await saying(bob, "Is the engine warm").waitFor(WAIT);
      await say(bob, "Nearly. Give it a minute, the first card is already in.");
      await say(bob, "And mind the third column.");
      await saying(ada, "third column").waitFor(WAIT);
      await say(ada, "The Analytical Engine weaves algebraic patterns just as the Jacquard loom weaves flowers and leaves.");
      await saying(bob, "Jacquard").waitFor(WAIT);
      await ada.locator(".message.pending").waitFor({ state: "detached", ...WAIT });
      await ada.evaluate(await readFile(new URL("./node_modules/axe-core/axe.min.js", import.meta.url), "utf8"));
      const { violations } = await ada.evaluate(() => window.axe.run());
      if (SHOTS) {
        await ada.screenshot({ path: `${SHOTS}/${colorScheme}-${size}.png` });
        if (size === "phone") {
          await ada.locator("#drawer-button").click();
          await ada.screenshot({ path: `${SHOTS}/${colorScheme}-${size}-drawer.png` });
        }
      }
      assert.deepEqual(violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`), []);
    });
  }
}
