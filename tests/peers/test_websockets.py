"""Python's `websockets` as a client of the bench example: BENCH is its address, host:port.

    BENCH=127.0.0.1:8080 python -m unittest -v test_websockets
"""

import asyncio
import os
import unittest

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Close

BENCH = os.environ["BENCH"]
ROUTES = ("/ws", "/ws-callback")
DEADLINE = 20  # seconds: a guard against hanging, not a measure


def open_session(route, **options):
    return connect(f"ws://{BENCH}{route}", max_size=32 * 1024 * 1024, compression=None, **options)


async def within(awaitable):
    return await asyncio.wait_for(awaitable, DEADLINE)


class Echo(unittest.IsolatedAsyncioTestCase):
    async def each_route(self, check, **options):
        for route in ROUTES:
            with self.subTest(route=route):
                async with open_session(route, **options) as session:
                    await check(session)

    async def test_text_and_binary_come_back_as_what_they_were(self):
        async def check(session):
            for message in ("", "plain", "Grüße, 世界 🎭", b"", b"\x00\xff", "x" * 125, "x" * 126, "x" * 65536):
                await session.send(message)
                self.assertEqual(await within(session.recv()), message)

        await self.each_route(check)

    async def test_one_mebibyte_comes_back(self):
        async def check(session):
            for message in (os.urandom(1024 * 1024), "ü" * (512 * 1024)):
                await session.send(message)
                self.assertEqual(await within(session.recv()), message)

        await self.each_route(check)

    async def test_fragments_come_back_as_one_message(self):
        async def check(session):
            await session.send(iter(["frag", "", "ments", " ü"]))
            self.assertEqual(await within(session.recv()), "fragments ü")
            await session.send(iter([b"\x01" * 70000, b"\x02"]))
            self.assertEqual(await within(session.recv()), b"\x01" * 70000 + b"\x02")

        await self.each_route(check)

    async def test_a_ping_is_answered_also_between_messages(self):
        async def check(session):
            for _ in range(3):
                await within(await session.ping(b"still there?"))
                await session.send("yes")
                self.assertEqual(await within(session.recv()), "yes")

        await self.each_route(check)

    async def test_order_holds_over_many_messages(self):
        async def check(session):
            async def send():
                for number in range(2000):
                    await session.send(str(number))

            sending = asyncio.create_task(send())
            for number in range(2000):
                self.assertEqual(await within(session.recv()), str(number))
            await sending

        await self.each_route(check)

    async def test_a_close_is_answered_with_its_code(self):
        for route in ROUTES:
            for code in (1000, 1001, 3000, 4999):
                with self.subTest(route=route, code=code):
                    session = await open_session(route)
                    await session.close(code, "bye")
                    await within(session.wait_closed())
                    self.assertEqual(session.protocol.close_rcvd.code, code)

    async def test_bad_utf8_ends_with_1007(self):
        for route in ROUTES:
            with self.subTest(route=route):
                async with open_session(route) as session:
                    await session.send(b"\xff\xfe", text=True)
                    with self.assertRaises(ConnectionClosed):
                        await within(session.recv())
                    self.assertIsInstance(session.protocol.close_rcvd, Close)
                    self.assertEqual(session.protocol.close_rcvd.code, 1007)

    async def test_more_than_the_limit_ends_with_1009(self):
        for route in ROUTES:
            with self.subTest(route=route):
                # Not "async with": closing a connection that the server has dropped fails inside the library.
                session = await open_session(route)
                with self.assertRaises(ConnectionClosed):
                    await session.send(b"x" * (16 * 1024 * 1024 + 1))
                    await within(session.recv())
                await within(session.wait_closed())
                self.assertEqual(session.protocol.close_rcvd.code, 1009)

    async def test_a_subprotocol_nobody_serves_is_not_chosen(self):
        async def check(session):
            self.assertIsNone(session.subprotocol)

        await self.each_route(check, subprotocols=["greenroom.unknown"])

    async def test_a_foreign_origin_and_an_unknown_path_are_refused(self):
        for route, origin, status in (("/ws", "https://elsewhere.example", 403), ("/nowhere", None, 404)):
            with self.subTest(route=route):
                with self.assertRaises(InvalidStatus) as refused:
                    async with open_session(route, origin=origin):
                        pass
                self.assertEqual(refused.exception.response.status_code, status)

    async def test_three_hundred_sessions_at_once(self):
        async def talk(number):
            async with open_session(ROUTES[number % 2], open_timeout=DEADLINE) as session:
                for _ in range(3):
                    await session.send(f"session {number}")
                    self.assertEqual(await within(session.recv()), f"session {number}")

        await asyncio.gather(*(talk(number) for number in range(300)))


class Fan(unittest.IsolatedAsyncioTestCase):
    async def test_each_message_reaches_everybody_once_and_in_order(self):
        sessions = [await open_session("/fan") for _ in range(20)]
        try:
            # A session has joined when it hears itself.
            for number, session in enumerate(sessions):
                await session.send(f"here {number}")
                while await within(session.recv()) != f"here {number}":
                    pass
            for number in range(50):
                await sessions[0].send(f"news {number}")
            for session in sessions:
                heard = []
                while len(heard) < 50:
                    message = await within(session.recv())
                    if message.startswith("news"):
                        heard.append(message)
                self.assertEqual(heard, [f"news {number}" for number in range(50)])
        finally:
            await asyncio.gather(*(session.close() for session in sessions))


if __name__ == "__main__":
    unittest.main()
