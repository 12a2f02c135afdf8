// npm's `ws` as a client of the bench example: SERVER_BINARY=... node --test ws.test.js
//
// Tests what an independent, widely used client sees, not what it can't be made to send: faults on the wire are the
// business of the conformance suite and of the raw-peer tests.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { on, once } from 'node:events';
import { after, before, test } from 'node:test';
import WebSocket from 'ws';

const MIB = 1024 * 1024;
const MAX_MESSAGE = 16 * MIB;
const ECHOED_CODES = [1000, 1001, 1003, 1008, 1011, 3000, 3999, 4000, 4999];
// A hang guard, not an expectation of speed.
const bounds = { timeout: 60_000 };

/** Starts the server under test on a free port of 127.0.0.1; resolves when it has printed its address. */
function startServer() {
  const child = spawn(process.env.SERVER_BINARY, [], { env: { ...process.env, PORT: '0' }, stdio: ['ignore', 'pipe', 'pipe'] });
  const exit = once(child, 'exit');
  const address = new Promise((resolve, reject) => {
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk;
        const found = /127\.0\.0\.1:\d+(?=\D)/.exec(output);
        if (found) resolve(found[0]);
      });
    }
    child.on('error', reject);
    child.on('exit', () => reject(new Error(`no start line with an address: ${output}`)));
    setTimeout(() => reject(new Error(`no start line with an address: ${output}`)), 10_000).unref();
  });
  return address.then(
    (address) => ({ child, exit, address }),
    (error) => {
      child.kill('SIGKILL');
      throw error;
    },
  );
}

let server;
before(async () => {
  server = await startServer();
});
after(() => server?.child.kill('SIGKILL'));

/** One open session, whose messages are read with `receive`. */
class Session {
  constructor(path, address = server.address) {
    // The client's default offers permessage-deflate; finishRequest is where it shows what it is about to send.
    const finishRequest = (request) => {
      this.offeredExtensions = request.getHeader('Sec-WebSocket-Extensions');
      request.end();
    };
    this.socket = new WebSocket(`ws://${address}${path}`, { finishRequest });
    this.inbox = on(this.socket, 'message');
    this.closed = new Promise((resolve) => this.socket.once('close', resolve));
  }

  static async open(path, address) {
    const session = new Session(path, address);
    await once(session.socket, 'open');
    return session;
  }

  send(data, options) {
    this.socket.send(data, options);
  }

  /** The next message: a string if it was text, a Buffer if it was binary. Rejects if the session ends first. */
  async receive() {
    const ended = this.closed.then((code) => assert.fail(`closed with ${code} while a message was awaited`));
    const { value } = await Promise.race([this.inbox.next(), ended]);
    const [data, isBinary] = value;
    return isBinary ? data : data.toString();
  }

  async echo(data) {
    this.send(data);
    return this.receive();
  }

  /** Waits for the end; the code is the one in the server's Close frame, 1005 if that had none, 1006 without one. */
  closeCode() {
    return this.closed;
  }

  close(code) {
    this.socket.close(code);
    return this.closeCode();
  }
}

/** Compares without printing megabytes on failure. */
function assertSame(actual, expected) {
  const same = Buffer.isBuffer(expected) ? Buffer.isBuffer(actual) && actual.equals(expected) : actual === expected;
  assert.ok(same, `another message came back (${actual.length} for ${expected.length})`);
}

for (const path of ['/ws', '/ws-callback']) {
  test(`${path}: text, binary and empty messages come back in their kind`, bounds, async () => {
    const session = await Session.open(path);
    for (const message of ['hello', 'Grüße, 世界 🎭', '', Buffer.from([0, 255, 128]), Buffer.alloc(0)]) {
      assert.deepEqual(await session.echo(message), message);
    }
    assert.equal(await session.close(1000), 1000);
  });

  test(`${path}: sizes around the length encodings come back`, bounds, async () => {
    const session = await Session.open(path);
    for (const size of [1, 125, 126, 127, 65535, 65536, 65537]) {
      const message = randomBytes(size);
      assertSame(await session.echo(message), message);
    }
    await session.close(1000);
  });

  test(`${path}: large messages come back`, bounds, async () => {
    const session = await Session.open(path);
    for (const message of [randomBytes(MIB), 'ö'.repeat(MIB / 2), randomBytes(5 * MIB), 'x'.repeat(5 * MIB)]) {
      assertSame(await session.echo(message), message);
    }
    await session.close(1000);
  });

  test(`${path}: fragments come back as one message, with a ping answered between them`, bounds, async () => {
    const session = await Session.open(path);
    const pong = once(session.socket, 'pong');
    session.send('Hel', { fin: false });
    session.socket.ping('in between');
    assert.equal((await pong)[0].toString(), 'in between');
    session.send('', { fin: false });
    session.send('lo', { fin: true });
    assert.equal(await session.receive(), 'Hello');

    session.send(Buffer.from([0]), { fin: false });
    session.send(Buffer.from([1, 2]), { fin: true });
    assert.deepEqual(await session.receive(), Buffer.from([0, 1, 2]));
    await session.close(1000);
  });

  test(`${path}: a character may be cut by fragments at every byte`, bounds, async () => {
    const session = await Session.open(path);
    const bytes = Buffer.from('aé世🎭');
    for (let cut = 1; cut < bytes.length; cut++) {
      session.send(bytes.subarray(0, cut), { binary: false, fin: false });
      session.send(bytes.subarray(cut), { binary: false, fin: true });
      assert.equal(await session.receive(), 'aé世🎭');
    }
    await session.close(1000);
  });

  test(`${path}: pings are answered with their payload`, bounds, async () => {
    const session = await Session.open(path);
    for (const payload of [Buffer.alloc(0), Buffer.from('p'), randomBytes(125)]) {
      const pong = once(session.socket, 'pong');
      session.socket.ping(payload);
      assert.deepEqual((await pong)[0], payload);
    }
    session.socket.pong('unasked');
    assert.equal(await session.echo('still here'), 'still here');
    await session.close(1000);
  });

  test(`${path}: messages sent in one go come back in order`, bounds, async () => {
    const session = await Session.open(path);
    const messages = Array.from({ length: 1000 }, (_, number) => `${number}`.repeat(number % 50));
    for (const message of messages) session.send(message);
    for (const message of messages) assert.equal(await session.receive(), message);
    await session.close(1000);
  });

  test(`${path}: close codes are echoed, and none is answered with none`, bounds, async () => {
    for (const code of ECHOED_CODES) {
      const session = await Session.open(path);
      assert.equal(await session.close(code), code);
    }
    assert.equal(await (await Session.open(path)).close(), 1005);
  });

  test(`${path}: a message of the limit passes, one byte more is 1009`, bounds, async () => {
    const session = await Session.open(path);
    const message = randomBytes(MAX_MESSAGE);
    assertSame(await session.echo(message), message);
    session.send(Buffer.concat([message, Buffer.from('x')]));
    assert.equal(await session.closeCode(), 1009);
  });

  test(`${path}: text that is no UTF-8 is 1007`, bounds, async () => {
    const session = await Session.open(path);
    session.send(Buffer.from([0xce, 0xba, 0xff]), { binary: false });
    assert.equal(await session.closeCode(), 1007);
  });

  test(`${path}: offered compression is not negotiated`, bounds, async () => {
    const session = new Session(path);
    const [[response]] = await Promise.all([once(session.socket, 'upgrade'), once(session.socket, 'open')]);
    assert.match(session.offeredExtensions, /permessage-deflate/);
    assert.equal(response.headers['sec-websocket-extensions'], undefined);
    assert.equal(await session.echo('a'.repeat(1000)), 'a'.repeat(1000));
    await session.close(1000);
  });

  test(`${path}: two hundred connections at once`, bounds, async () => {
    const sessions = await Promise.all(Array.from({ length: 200 }, () => Session.open(path)));
    const echoes = await Promise.all(sessions.map((session, number) => session.echo(`of ${number}`)));
    assert.deepEqual(echoes, sessions.map((_, number) => `of ${number}`));
    const codes = await Promise.all(sessions.map((session) => session.close(1000)));
    assert.deepEqual(new Set(codes), new Set([1000]));
  });
}

/** A `/fan` session that is certainly subscribed: it has received a message of its own. */
async function joinFan(name) {
  const session = await Session.open('/fan');
  session.send(`hello ${name}`);
  while ((await session.receive()) !== `hello ${name}`);
  return session;
}

/** The next `count` messages but the greetings of sessions that joined later. */
async function receiveFromFan(session, count) {
  const messages = [];
  while (messages.length < count) {
    const message = await session.receive();
    if (!(typeof message === 'string' && message.startsWith('hello '))) messages.push(message);
  }
  return messages;
}

test('/fan: everyone gets every message in order, the sender too', bounds, async () => {
  const sessions = await Promise.all(Array.from({ length: 20 }, (_, number) => joinFan(number)));
  const sent = Array.from({ length: 200 }, (_, number) => (number % 2 ? `${number}` : Buffer.from(`${number}`)));
  for (const message of sent) sessions[0].send(message);
  for (const session of sessions) assert.deepEqual(await receiveFromFan(session, sent.length), sent);
  await Promise.all(sessions.map((session) => session.close(1000)));
});

test("/fan: with many senders each sender's order holds for everyone", bounds, async () => {
  const sessions = await Promise.all(Array.from({ length: 10 }, (_, number) => joinFan(number)));
  for (let number = 0; number < 50; number++) {
    sessions.forEach((session, sender) => session.send(`${sender}:${number}`));
  }
  for (const session of sessions) {
    const received = await receiveFromFan(session, 50 * sessions.length);
    for (let sender = 0; sender < sessions.length; sender++) {
      const own = received.filter((message) => message.startsWith(`${sender}:`));
      assert.deepEqual(own, Array.from({ length: 50 }, (_, number) => `${sender}:${number}`));
    }
  }
  await Promise.all(sessions.map((session) => session.close(1000)));
});

test('SIGTERM closes sessions with 1001, and the process ends with 0', bounds, async () => {
  const draining = await startServer();
  try {
    const paths = ['/ws', '/ws-callback', '/fan'].flatMap((path) => Array(20).fill(path));
    const sessions = await Promise.all(paths.map((path) => Session.open(path, draining.address)));
    const ends = sessions.map((session) => session.closeCode());
    draining.child.kill('SIGTERM');
    assert.deepEqual(await Promise.all(ends), Array(sessions.length).fill(1001));
    assert.deepEqual(await draining.exit, [0, null]);
  } finally {
    draining.child.kill('SIGKILL');
  }
});
