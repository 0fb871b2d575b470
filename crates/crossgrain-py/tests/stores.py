"""Stores below the file system of encrypted objects: local files, memory, and S3 by moto's server, whose requests are counted.

conftest.py loads this file for its fixtures.
"""

from __future__ import annotations

import logging
import threading
import uuid
from typing import Any, NamedTuple

import pytest

KINDS = ("file", "memory", "s3")


class Request(NamedTuple):
    method: str
    path: str
    range: str | None
    query: str
    sent_bytes: int


class Server:
    """moto's S3, and the requests that it answered."""

    def __init__(self) -> None:
        moto = pytest.importorskip("moto.server", reason="S3 (moto is not installed)")
        pytest.importorskip("s3fs", reason="S3 (s3fs is not installed)")
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.requests: list[Request] = []
        self._application = moto.DomainDispatcherApplication(moto.create_backend_app)
        self._server = make_server("127.0.0.1", 0, self._answer, threaded=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.options = {
            "endpoint_url": f"http://127.0.0.1:{self._server.port}",
            "key": "a",
            "secret": "b",
            "client_kwargs": {"region_name": "us-east-1"},
            "default_block_size": 5 << 20,  # the shortest part of an upload
        }

    def _answer(self, environ: Any, start_response: Any) -> list[bytes]:
        body = list(self._application(environ, start_response))
        names = ("REQUEST_METHOD", "PATH_INFO", "HTTP_RANGE", "QUERY_STRING")
        self.requests.append(Request(*(environ.get(name) for name in names), sum(map(len, body))))  # type: ignore[arg-type]
        return body

    def close(self) -> None:
        self._server.shutdown()


class Store:
    """A store with an empty folder."""

    def __init__(self, kind: str, tmp_path: Any, server: Server | None) -> None:
        import fsspec

        self.kind, self.server = kind, server
        #: Options of the file system below, as fsspec takes them for chained addresses.
        self.options: dict[str, Any] = {} if server is None else {"s3": server.options}
        self.fs = fsspec.filesystem(kind, **self.options.get(kind, {}))
        self.folder = str(tmp_path) if kind == "file" else f"{'/' if kind == 'memory' else ''}b{uuid.uuid4().hex}"
        if kind == "s3":
            self.fs.call_s3("create_bucket", Bucket=self.folder)
        elif kind == "memory":
            self.fs.mkdir(self.folder)

    def path(self, name: str) -> str:
        """The path of an object in the file system below."""
        return f"{self.folder}/{name}"

    def address(self, name: str) -> str:
        """The address of an encrypted object."""
        return f"crossgrain::{self.kind}://{self.folder}/{name}"

    def reads(self) -> list[Request]:
        """Requests of objects since the last call."""
        assert self.server is not None
        found = [one for one in self.server.requests if one.method == "GET" and one.path.count("/") >= 2]
        self.server.requests.clear()
        return found
