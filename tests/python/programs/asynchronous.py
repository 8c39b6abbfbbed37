"""asyncio: a server and many clients in one loop, each with a context of its own."""

import asyncio
import os
import ssl

import windlass
from handshake import served

assert windlass.attach() == "attached"


async def answer(reader, writer):
    writer.write(await reader.readline())
    await writer.drain()
    writer.close()


async def ask(port, context):
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname="localhost")
    writer.write(b"hello\n")
    said = await reader.readline()
    writer.close()
    return said


async def main():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(os.environ["CHAIN"])
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    server_port = server.sockets[0].getsockname()[1]
    said = await asyncio.gather(*(ask(server_port, ssl.create_default_context()) for _ in range(50)))
    assert said == [b"hello\n"] * 50
    distrusting = ssl.create_default_context(cafile=os.environ["OTHER_BUNDLE"])
    try:
        await ask(server_port, distrusting)
        raise SystemExit("accepted")
    except ssl.SSLCertVerificationError:
        pass
    server.close()


asyncio.run(main())
assert served() == 50, windlass.status()
