// npm's `ws` as a client of the bench example: BENCH is its address, host:port.
//
//     npm install && BENCH=127.0.0.1:8080 node --test

import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "node:test";
import WebSocket from "ws";

const { BENCH } = process.env;
const DEADLINE = { timeout: 60_000 }; // a guard against hanging, not a measure

async function open(route, protocols = [], options = {}) {
  const socket = new WebSocket(`ws://${BENCH}${route}`, protocols, { perMessageDeflate: true, ...options });
  const heard = [];
  const waiting = [];
  socket.on("message", (data, binary) => {
    const message = binary ? data : data.toString();
    if (waiting.length > 0) waiting.shift()(message); else heard.push(message);
  });
  socket.next = () => new Promise((resolve) => { if (heard.length > 0) resolve(heard.shift()); else waiting.push(resolve); });
  await once(socket, "open");
  return socket;
}

async function closed(socket) {
  const [code, reason] = await once(socket, "close");
  return [code, reason.toString()];
}

for (const route of ["/ws", "/ws-callback"]) {
  test(`${route}: text and binary come back as what they were`, DEADLINE, async () => {
    const socket = await open(route);
    assert.equal(socket.extensions, "", "no extension is accepted");
    for (const message of ["", "plain", "Grüße, 世界 🎭", Buffer.from([0, 255]), Buffer.alloc(70_000, 7)]) {
      socket.send(message);
      assert.deepEqual(await socket.next(), message);
    }
    socket.close();
  });

  test(`${route}: one mebibyte comes back`, DEADLINE, async () => {
    const socket = await open(route);
    const message = Buffer.alloc(1024 * 1024, "0123456789");
    socket.send(message);
    assert.ok(message.equals(await socket.next()));
    socket.close();
  });

  test(`${route}: fragments come back as one message, with a ping between them answered`, DEADLINE, async () => {
    const socket = await open(route);
    const pong = once(socket, "pong");
    socket.send("frag", { fin: false });
    socket.ping("between");
    socket.send("ments", { fin: true });
    assert.equal((await pong)[0].toString(), "between");
    assert.equal(await socket.next(), "fragments");
    socket.close();
  });

  test(`${route}: a close is answered with its code`, DEADLINE, async () => {
    for (const code of [1000, 3000, 4999]) {
      const socket = await open(route);
      socket.close(code, "bye");
      assert.equal((await closed(socket))[0], code);
    }
  });

  test(`${route}: bad UTF-8 ends with 1007`, DEADLINE, async () => {
    const socket = await open(route);
    socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    assert.equal((await closed(socket))[0], 1007);
  });

  test(`${route}: a frame without a mask ends with 1002`, DEADLINE, async () => {
    const socket = await open(route);
    socket.send("bare", { mask: false });
    assert.equal((await closed(socket))[0], 1002);
  });

  test(`${route}: two hundred sessions at once`, DEADLINE, async () => {
    await Promise.all(Array.from({ length: 200 }, async (_, number) => {
      const socket = await open(route);
      socket.send(`session ${number}`);
      assert.equal(await socket.next(), `session ${number}`);
      socket.close();
      await closed(socket);
    }));
  });
}

test("a subprotocol that is not served is not chosen, and the client says so", DEADLINE, async () => {
  const socket = new WebSocket(`ws://${BENCH}/ws`, ["greenroom.unknown"]);
  const [error] = await once(socket, "error");
  assert.match(error.message, /no subprotocol/i);
});

test("a foreign origin is refused with 403", DEADLINE, async () => {
  const socket = new WebSocket(`ws://${BENCH}/ws`, { origin: "https://elsewhere.example" });
  socket.on("error", () => {}); // ws also reports the aborted handshake as an error
  const [, response] = await once(socket, "unexpected-response");
  assert.equal(response.statusCode, 403);
  socket.terminate();
});

test("a session that is cut off in the middle of a message harms nobody", DEADLINE, async () => {
  const bystander = await open("/ws");
  const victim = await open("/ws");
  victim.send("unfinished", { fin: false });
  victim._socket.resetAndDestroy();
  bystander.send("still fine");
  assert.equal(await bystander.next(), "still fine");
  bystander.close();
});

test("/fan: each message reaches everybody once and in order", DEADLINE, async () => {
  const sockets = await Promise.all(Array.from({ length: 10 }, () => open("/fan")));
  for (const [number, socket] of sockets.entries()) {
    socket.send(`ws here ${number}`);
    while (await socket.next() !== `ws here ${number}`);
  }
  for (let number = 0; number < 50; number += 1) sockets[0].send(`ws news ${number}`);
  for (const socket of sockets) {
    const heard = [];
    while (heard.length < 50) {
      const message = await socket.next();
      if (message.startsWith("ws news")) heard.push(message);
    }
    assert.deepEqual(heard, Array.from({ length: 50 }, (_, number) => `ws news ${number}`));
  }
  for (const socket of sockets) socket.close();
});
