"""Python's `websockets` as a client of the bench example: test_websockets.py SERVER_BINARY.

Tests what an independent, widely used client sees, not what it can't be made to send: faults on the wire are the
business of the conformance suite and of the raw-peer tests. Ends with `N passed, N failed`.
"""

import asyncio
import functools
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from websockets.asyncio.client import connect

MIB = 1024 * 1024
MAX_MESSAGE = 16 * MIB
ECHOED_CODES = (1000, 1001, 1003, 1008, 1011, 3000, 3999, 4000, 4999)
# Hang guards, not expectations of speed.
TEST_SECONDS = 60
START_SECONDS = 10
STOP_SECONDS = 30


class Server:
    """The server under test on a free port of 127.0.0.1."""

    def __init__(self, binary):
        self.output = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [binary],
            env={**os.environ, "PORT": "0"},
            stdin=subprocess.DEVNULL,
            stdout=self.output,
            stderr=subprocess.STDOUT,
        )
        self.address = self._address()

    def _address(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if found := re.search(rb"127\.0\.0\.1:\d+(?=\D)", os.pread(self.output.fileno(), 65536, 0)):
                return found[0].decode()
            time.sleep(0.02)
        self.kill()
        raise RuntimeError(f"no start line with an address: {os.pread(self.output.fileno(), 65536, 0)!r}")

    def connect(self, path):
        # Compression stays at the client's default, which offers permessage-deflate. No proxy, whatever the environment.
        return connect(
            f"ws://{self.address}{path}", max_size=None, ping_interval=None, proxy=None, open_timeout=TEST_SECONDS
        )

    def terminate(self):
        self.process.send_signal(signal.SIGTERM)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.output.close()


def bounded(test):
    """Fails a test that hangs."""

    @functools.wraps(test)
    async def with_deadline(*args):
        async with asyncio.timeout(TEST_SECONDS):
            await test(*args)

    return with_deadline


async def echo(session, message):
    await session.send(message)
    return await session.recv()


async def code_after(session, message, **options):
    """The code of the Close frame that answers a message; None if the connection ended without one.

    Whether `send` itself fails depends on how far it came. `close` is not called: under Python 3.11 it can fail inside
    asyncio once a connection with much left to write has ended.
    """
    await asyncio.gather(session.send(message, **options), return_exceptions=True)
    await session.wait_closed()
    return session.protocol.close_rcvd and session.protocol.close_rcvd.code


class PeerTest(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server(SERVER_BINARY)
        cls.addClassCleanup(cls.server.kill)


class EchoTests:
    """What both echo routes promise."""

    path: str

    def connect(self):
        return self.server.connect(self.path)

    @bounded
    async def test_text_binary_and_empty_messages_come_back_in_their_kind(self):
        async with self.connect() as session:
            for message in ("hello", "Grüße, 世界 🎭", "", b"\x00\xff\x80", b""):
                self.assertEqual(await echo(session, message), message)

    @bounded
    async def test_sizes_around_the_length_encodings_come_back(self):
        async with self.connect() as session:
            for size in (1, 125, 126, 127, 65535, 65536, 65537):
                message = os.urandom(size)
                self.assertEqual(await echo(session, message), message)

    @bounded
    async def test_large_messages_come_back(self):
        async with self.connect() as session:
            for message in (os.urandom(MIB), "ö" * (MIB // 2), os.urandom(5 * MIB), "x" * (5 * MIB)):
                self.assertTrue(await echo(session, message) == message)

    @bounded
    async def test_fragments_come_back_as_one_message(self):
        async with self.connect() as session:
            for fragments in (["Hel", "lo, ", "wörld"], [b"\x00", b"\x01\x02", b""], ["", "", "end"], ["x" * 70000] * 5):
                self.assertEqual(await echo(session, fragments), fragments[0][:0].join(fragments))

    @bounded
    async def test_ping_between_fragments_is_answered_before_the_message_ends(self):
        async with self.connect() as session:

            async def fragments():
                yield "be"
                await (await session.ping(b"in between"))
                yield "tween"

            self.assertEqual(await echo(session, fragments()), "between")

    @bounded
    async def test_pings_are_answered_with_their_payload(self):
        async with self.connect() as session:
            for payload in (b"", b"p", os.urandom(125)):
                await (await session.ping(payload))
            await session.pong(b"unasked")
            self.assertEqual(await echo(session, "still here"), "still here")

    @bounded
    async def test_messages_sent_in_one_go_come_back_in_order(self):
        messages = [f"{number}" * (number % 50) for number in range(1000)]
        async with self.connect() as session:
            for message in messages:
                await session.send(message)
            self.assertEqual([await session.recv() for _ in messages], messages)

    @bounded
    async def test_close_codes_are_echoed(self):
        for code in ECHOED_CODES:
            with self.subTest(code=code):
                async with self.connect() as session:
                    await session.close(code, "bye")
                    self.assertIsNotNone(session.protocol.close_rcvd, "no Close frame came back")
                    self.assertEqual(session.protocol.close_rcvd.code, code)
                    self.assertFalse(session.protocol.close_rcvd_then_sent)

    @bounded
    async def test_message_of_the_limit_passes_and_one_byte_more_is_1009(self):
        session = await self.connect()
        message = os.urandom(MAX_MESSAGE)
        self.assertTrue(await echo(session, message) == message)
        self.assertEqual(await code_after(session, message + b"x"), 1009)

    @bounded
    async def test_text_that_is_no_utf_8_is_1007(self):
        self.assertEqual(await code_after(await self.connect(), b"\xce\xba\xff", text=True), 1007)

    @bounded
    async def test_offered_compression_is_not_negotiated(self):
        async with self.connect() as session:
            self.assertIn("permessage-deflate", session.request.headers["Sec-WebSocket-Extensions"])
            self.assertNotIn("Sec-WebSocket-Extensions", session.response.headers)
            self.assertEqual(await echo(session, "a" * 1000), "a" * 1000)

    @bounded
    async def test_two_hundred_connections_at_once(self):
        async with asyncio.TaskGroup() as tasks:
            opening = [tasks.create_task(self.open()) for _ in range(200)]
        sessions = [task.result() for task in opening]
        echoes = await asyncio.gather(*(echo(session, f"of {n}") for n, session in enumerate(sessions)))
        self.assertEqual(echoes, [f"of {n}" for n in range(200)])
        await asyncio.gather(*(session.close() for session in sessions))
        self.assertEqual({session.close_code for session in sessions}, {1000})

    async def open(self):
        return await self.connect()


class LoopHandlerTest(EchoTests, PeerTest):
    path = "/ws"


class CallbackHandlerTest(EchoTests, PeerTest):
    path = "/ws-callback"


class FanTest(PeerTest):
    async def join(self, name):
        """A session that is certainly subscribed: it has received a message of its own."""
        session = await self.server.connect("/fan")
        await session.send(f"hello {name}")
        while await session.recv() != f"hello {name}":
            pass
        return session

    async def receive(self, session, count):
        """The next `count` messages but the greetings of sessions that joined later."""
        messages = []
        while len(messages) < count:
            message = await session.recv()
            if not (isinstance(message, str) and message.startswith("hello ")):
                messages.append(message)
        return messages

    @bounded
    async def test_everyone_gets_every_message_in_order_the_sender_too(self):
        sessions = [await self.join(name) for name in range(20)]
        sent = [f"{number}" if number % 2 else f"{number}".encode() for number in range(200)]
        receiving = [asyncio.create_task(self.receive(session, len(sent))) for session in sessions]
        for message in sent:
            await sessions[0].send(message)
        for received in await asyncio.gather(*receiving):
            self.assertEqual(received, sent)
        await asyncio.gather(*(session.close() for session in sessions))

    @bounded
    async def test_with_many_senders_each_senders_order_holds_for_everyone(self):
        sessions = [await self.join(name) for name in range(10)]
        numbers = range(50)
        receiving = [asyncio.create_task(self.receive(session, len(numbers) * len(sessions))) for session in sessions]

        async def send_all(sender, session):
            for number in numbers:
                await session.send(f"{sender}:{number}")

        await asyncio.gather(*(send_all(sender, session) for sender, session in enumerate(sessions)))
        for received in await asyncio.gather(*receiving):
            for sender in range(len(sessions)):
                own = [message for message in received if message.startswith(f"{sender}:")]
                self.assertEqual(own, [f"{sender}:{number}" for number in numbers])
        await asyncio.gather(*(session.close() for session in sessions))

    @bounded
    async def test_who_has_left_is_not_missed(self):
        stays, leaves = await self.join("stays"), await self.join("leaves")
        await leaves.close()
        await stays.send("after")
        self.assertEqual(await self.receive(stays, 1), ["after"])
        await stays.close()


class DrainTest(PeerTest):
    @bounded
    async def test_sigterm_closes_sessions_with_1001_and_the_process_ends_with_0(self):
        sessions = [await self.server.connect(path) for path in ("/ws", "/ws-callback", "/fan") for _ in range(20)]
        for session in sessions:
            self.assertEqual(await echo(session, "here") if session.request.path != "/fan" else "here", "here")
        self.server.terminate()
        await asyncio.gather(*(session.wait_closed() for session in sessions))
        received = [session.protocol.close_rcvd and session.protocol.close_rcvd.code for session in sessions]
        self.assertEqual(received, [1001] * len(sessions))
        self.assertEqual(await asyncio.to_thread(self.server.process.wait, STOP_SECONDS), 0)
        with self.assertRaises(ConnectionRefusedError):
            await self.server.connect("/ws")


def main():
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])
    result = unittest.TextTestRunner(sys.stdout, verbosity=2).run(suite)
    # A test with several failed sub-tests is one failed test; a failed class set-up fails what it kept from running.
    broken = {getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors}
    passed = result.testsRun - len([name for name in broken if not name.startswith("setUpClass")])
    failed = suite.countTestCases() - passed
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    SERVER_BINARY = sys.argv[1]
    sys.exit(main())
