"""The HTTP clients: how each makes a client of its own, and how that asks. The bench uses them, too.

`make(context)` makes a client as its documentation does, or with a context that its callers share. `ask(client, url)`
is one request; it raises what the client raises. Trust comes from SSL_CERT_FILE, REQUESTS_CA_BUNDLE and AWS_CA_BUNDLE.
"""

import os
import ssl

SESSIONS = []


class Client:
    @staticmethod
    def shared():
        return ssl.create_default_context()

    @staticmethod
    def close(client):
        client.close()


class Requests(Client):
    @staticmethod
    def make(context=None):
        import requests
        from requests.adapters import HTTPAdapter

        class Sharing(HTTPAdapter):
            def init_poolmanager(self, *arguments, **named):
                super().init_poolmanager(*arguments, ssl_context=context, **named)

            # Not what these do else: they would load the bundle into the shared context for each connection.
            def build_connection_pool_key_attributes(self, request, verify, cert=None):
                return super().build_connection_pool_key_attributes(request, True, cert)

            def cert_verify(self, conn, url, verify, cert):
                conn.cert_reqs = "CERT_REQUIRED"

        session = requests.Session()
        if context:
            session.mount("https://", Sharing())
        return session

    @staticmethod
    def ask(client, url):
        client.get(url).raise_for_status()


class Urllib3(Client):
    @staticmethod
    def make(context=None):
        import urllib3

        return urllib3.PoolManager(retries=False, ssl_context=context)

    @staticmethod
    def ask(client, url):
        assert client.request("GET", url).status == 200

    @staticmethod
    def close(client):
        client.clear()


class Httpx(Client):
    @staticmethod
    def make(context=None):
        import httpx

        return httpx.Client(verify=context or True)

    @staticmethod
    def ask(client, url):
        client.get(url).raise_for_status()


class Aiohttp(Client):
    """With a context for each session, as its documentation makes one to trust another CA: without one, it makes a
    single context when it is imported, for all sessions.
    """

    @staticmethod
    def make(context=None):
        import asyncio

        import aiohttp

        loop = asyncio.new_event_loop()

        async def session():
            own = context or ssl.create_default_context()
            return aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=own))

        return loop, loop.run_until_complete(session())

    @staticmethod
    def ask(client, url):
        loop, session = client

        async def get():
            async with session.get(url) as answer:
                assert answer.status == 200
                await answer.read()

        loop.run_until_complete(get())

    @staticmethod
    def close(client):
        loop, session = client
        loop.run_until_complete(session.close())
        loop.close()


class Boto3(Client):
    @staticmethod
    def make(context=None):
        """The endpoint is the environment's. The session is kept: it has read boto3's models."""
        import boto3

        if not SESSIONS:
            SESSIONS.append(boto3.session.Session("key", "secret", region_name="us-east-1"))
        from botocore.config import Config

        return SESSIONS[0].client("sts", endpoint_url=os.environ["ENDPOINT"], config=Config(
            retries={"total_max_attempts": 1}, user_agent="test"))

    @staticmethod
    def ask(client, url):
        assert client.get_caller_identity()["Account"] == "123456789012"


class Truststore(Client):
    """In urllib3, as its documentation shows. It loads the roots again for each connection, also into a shared one."""

    @staticmethod
    def shared():
        import truststore

        return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    @staticmethod
    def make(context=None):
        import urllib3

        return urllib3.PoolManager(retries=False, ssl_context=context or Truststore.shared())

    @staticmethod
    def ask(client, url):
        assert client.request("GET", url).status == 200

    @staticmethod
    def close(client):
        client.clear()


class Pip(Client):
    """The whole of `pip download`, in this process."""

    @staticmethod
    def make(context=None):
        import pip._internal.cli.main

        return pip._internal.cli.main.main

    @staticmethod
    def ask(client, url):
        import contextlib
        import io
        import tempfile

        with contextlib.redirect_stderr(io.StringIO()), tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "log")
            status = client(["download", "--isolated", "--quiet", "--quiet", "--quiet", "--no-deps", "--no-cache-dir",
                             "--disable-pip-version-check", "--retries", "0", "--log", log, "--dest", folder,
                             "--index-url", f"{url}simple/", "windlass-demo"])
            if status:
                with open(log, encoding="utf-8") as file:
                    raise ConnectionError(file.read())

    @staticmethod
    def close(client):
        """It has ended."""


KINDS = {"requests": Requests, "urllib3": Urllib3, "httpx": Httpx, "aiohttp": Aiohttp, "boto3": Boto3,
         "truststore": Truststore, "pip": Pip}
