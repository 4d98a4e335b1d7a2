"""A child process that serves a small model: `serve.py MODEL.gguf`. Ends when its standard input does.

The address goes to standard output, in one line. Behind it is llama.cpp's own server, with one thread: more
of them wait for each other in spin locks as soon as anything else runs on the machine. In front of it a few
lines add to every request what makes the model terse. One of this size writes on until it is cut off; so it
ends its texts and lists early, and what it wrote is an answer.
"""

from __future__ import annotations

import json
import sys
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from select import select
from urllib.parse import urlsplit

import xllamacpp

CONTEXT = 4096
"""Tokens of a prompt and its answer."""
BIAS = {**dict.fromkeys(('"', '",', '"}', '"]', '."'), 16.0), "]": 12.0, "\n": -5.0}
"""How much likelier the tokens of a text are made, in logits."""


def parameters(model: Path) -> xllamacpp.CommonParams:
    """Return settings for a busy machine with two processors."""
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {model.stem}
    params.port = 0  # one that is free
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.n_ctx = CONTEXT
    params.n_parallel = 1
    params.warmup = False
    params.ui = False
    return params


class Front(BaseHTTPRequestHandler):
    """Hands requests on."""

    behind = ""
    """Host and port of the server."""
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._hand_on(None)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "messages" in body:
            body["logit_bias"] = [[text, more] for text, more in BIAS.items()]
        self._hand_on(json.dumps(body).encode())

    def _hand_on(self, data: bytes | None) -> None:
        connection = HTTPConnection(self.behind)
        connection.request(self.command, self.path, data, {"Content-Type": "application/json"})
        ready, _, _ = select([connection.sock, self.connection], [], [])
        if connection.sock not in ready:  # whoever asked has gone, and the server is to see that
            connection.close()
            self.close_connection = True
            return
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type") or "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: object) -> None:
        pass


def serve(model: Path) -> None:
    """Serve until standard input ends."""
    server = xllamacpp.Server(parameters(model))
    Front.behind = urlsplit(server.listening_address).netloc
    front = ThreadingHTTPServer(("127.0.0.1", 0), Front)
    threading.Thread(target=front.serve_forever, daemon=True).start()
    sys.stdout.write(f"http://127.0.0.1:{front.server_address[1]}/v1\n")
    sys.stdout.flush()
    sys.stdin.read()
    front.shutdown()
    front.server_close()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
