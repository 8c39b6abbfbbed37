"""The address of `windlass top --metrics`: wrong and slow requests, many at once, its beginning and its end."""

import os
import signal
import socket
import subprocess
import threading

from context import PATIENCE
from scrape import Agent
from suites.unprivileged import NOBODY, run

GET = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"


def cases(_):
    yield "http: answers", answers
    yield "http: slow and silent clients keep nobody", slow
    yield "http: scrapes at once", at_once
    yield "http: a client that does not read", unread
    yield "http: nothing is left of connections", nothing_left
    yield "http: address in use", in_use
    yield "http: wrong addresses", wrong_addresses
    yield "http: not root", not_root
    yield "http: SIGTERM with open connections", ended


def connect(agent):
    return socket.create_connection(("127.0.0.1", agent.port), timeout=PATIENCE)


def ask(agent, request):
    """All that comes until the server closes."""
    with connect(agent) as client:
        client.sendall(request)
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.decode().split("\r\n"), body.decode()


def answers(context):
    with Agent(context) as agent:
        head, body = ask(agent, GET)
        assert head[0] == "HTTP/1.1 200 OK", head
        assert "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8" in head, head
        assert f"Content-Length: {len(body)}" in head and body.endswith("# EOF\n"), head
        head, body = ask(agent, GET.replace(b"GET", b"HEAD"))
        assert head[0] == "HTTP/1.1 200 OK" and body == "", (head, body)
        for request, status in [
                (b"GET / HTTP/1.1\r\n\r\n", 404), (b"POST /metrics HTTP/1.1\r\nContent-Length: 9\r\n\r\n", 405),
                (b"GET /metrics\r\n\r\n", 400), (b"\x16\x03\x01\x00\xff", 400), (b"\r\n" * 5000, 431),
                (b"GET /" + b"x" * 100_000 + b" HTTP/1.1\r\n\r\n", 431),
                (b"GET /metrics HTTP/1.1\r\n" + b"X: y\r\n" * 1000 + b"\r\n", 431)]:
            head, _ = ask(agent, request)
            assert head[0].startswith(f"HTTP/1.1 {status} "), (request[:50], head)
        agent.end()


def slow(context):
    """More silent clients than the server has room for; one that sends a byte at a time gets its answer."""
    with Agent(context) as agent:
        silent = [connect(agent) for _ in range(40)]
        with connect(agent) as client:
            for byte in GET:
                client.sendall(bytes([byte]))
            assert client.recv(12) == b"HTTP/1.1 200"
        agent.samples()
        # Those that say nothing are closed, at the latest when their time is over.
        for client in silent:
            assert client.recv(1) == b""
            client.close()
        agent.end()


def at_once(context):
    with Agent(context) as agent:
        found = []
        threads = [threading.Thread(target=lambda: found.append(agent.samples())) for _ in range(12)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert len(found) == 12 and all(samples.keys() == found[0].keys() for samples in found), found
        agent.end()


def unread(context):
    with Agent(context) as agent, connect(agent) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        client.sendall(GET * 100)
        agent.samples()
        agent.end()


def nothing_left(context):
    with Agent(context) as agent:
        process = f"/proc/{agent.process.pid}"
        agent.wait_for("the start", lambda samples: samples)
        count = lambda: (len(os.listdir(process + "/task")), len(os.listdir(process + "/fd")))
        before = count()
        for _ in range(50):
            ask(agent, GET)
            connect(agent).close()
        # A closed connection takes the server one more round.
        agent.wait_for(f"no more than {before}", lambda _: count()[0] <= before[0] and count()[1] <= before[1] + 1)
        agent.end()


def in_use(context):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        result = subprocess.run([context.windlass, "top", "--metrics", str(port)], capture_output=True, text=True)
    assert result.returncode == 1 and result.stdout == "", result
    assert f"can't serve metrics at 127.0.0.1:{port}: " in result.stderr and "help: " in result.stderr, result.stderr


def wrong_addresses(context):
    for arguments in (["--metrics", ":9753"], ["--metrics", "localhost:1"], ["--metrics", "99999"], ["--keep", "5"],
                      ["--metrics", "0", "--json"], ["--metrics", "0", "--once"]):
        result = subprocess.run([context.windlass, "top", *arguments], capture_output=True, text=True)
        assert result.returncode == 2 and result.stdout == "", (arguments, result)
    # An address of nobody here (RFC 5737).
    result = subprocess.run([context.windlass, "top", "--metrics", "192.0.2.1:0"], capture_output=True, text=True)
    assert result.returncode == 1 and "192.0.2.1" in result.stderr, result


def not_root(context):
    try:
        run(context, NOBODY, "--metrics", "0")
    except subprocess.CalledProcessError as error:
        assert error.returncode == 1 and "opens can't be watched: root is needed" in error.stderr, error.stderr
    else:
        raise AssertionError("it watched without root")


def ended(context):
    for number in (signal.SIGTERM, signal.SIGINT):
        with Agent(context) as agent, connect(agent) as half:
            half.sendall(GET[:10])
            agent.samples()
            agent.process.send_signal(number)
            shown, said = agent.process.communicate(timeout=PATIENCE)
            assert (agent.process.returncode, shown, said) == (0, "", ""), (shown, said)
            try:
                assert half.recv(1) == b""
            except ConnectionResetError:
                pass
            # The port is free for the next one.
            with Agent(context, port=str(agent.port)) as again:
                again.end()
    with Agent(context, "--duration", "0.5") as agent:
        assert agent.process.wait(timeout=PATIENCE) == 0
