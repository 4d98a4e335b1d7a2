"""A real HTTP server on loopback that speaks OpenAI's protocol and answers what a test has told it to.

    server.on("extract", lambda request: {"lessons": []})       a value is sent as JSON text
    server.on("edit", [Fault("status", 429), {"edits": []}])    one after the other, the last stays
    server.on("judge", Fault("slow"))

The stage is the first line of the system prompt. A handler gets a `Seen` and may return a value, a Reply, a
Fault, or text, which is sent as it is.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, TypeAlias

FaultName = Literal[
    "status",  # `status`, with `retry_after`, `location` and `body`
    "body",  # `content` as it is, with `status` and `headers`
    "endless",  # `content` again and again, with `headers`
    "reset",  # the connection is reset
    "slow",  # no answer until the server closes
    "drip",  # a header at once, then a byte now and then, never an end
    "truncated",  # the connection ends in the middle of the body
    "malformed",  # a body that is not JSON, with status 200
    "html",  # a web page, with status 200
    "nothing",  # an empty body, with status 200
    "no_choices",  # {"choices": null}
    "upstream",  # {"error": …} with status 200
    "length",  # cut: finish_reason is `length`
    "refusal",
    "filtered",  # finish_reason is `content_filter`
    "empty",  # a message without text
    "fenced",  # `answer` in a fence
    "prose",  # `answer` with prose before and after
    "thinking",  # `answer` after <think>…</think>
    "not_json",  # prose and nothing else
    "wrong_schema",  # JSON of another form
]


@dataclass(frozen=True)
class Fault:
    name: FaultName
    status: int = 500
    retry_after: str | None = None
    location: str | None = None
    body: str = '{"error": {"message": "something went wrong"}}'
    answer: object = None
    """What is wrapped by `fenced`, `prose` and `thinking`."""
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Reply:
    """A message as the protocol has it, for tool calls."""

    text: str | None = None
    tool_calls: Sequence[tuple[str, Mapping[str, object]]] = ()
    finish_reason: str = ""
    usage: Mapping[str, object] | None = None


@dataclass(frozen=True)
class Seen:
    """A request."""

    stage: str
    body: Mapping[str, object]
    headers: Mapping[str, str]
    """By name in small letters."""
    path: str

    @property
    def messages(self) -> list[dict[str, object]]:
        return list(self.body["messages"])

    @property
    def system(self) -> str:
        return str(self.messages[0]["content"])

    @property
    def content(self) -> str:
        """The first message of role user: the question's data."""
        return next(str(m["content"]) for m in self.messages if m["role"] == "user")

    @property
    def last(self) -> str:
        return str(self.messages[-1]["content"])

    @property
    def form(self) -> str:
        """json_schema, json_object or prompt."""
        wanted = self.body.get("response_format")
        return str(wanted["type"]) if isinstance(wanted, Mapping) else "prompt"


Handler: TypeAlias = Callable[[Seen], object]


@dataclass
class LlmServer:
    """`url` is the base_url. Counts and requests are complete once the client has its answer."""

    delay: float = 0.0
    """Seconds that every answer takes."""
    one_at_a_time: bool = False
    """Answers wait in line, also those that nobody waits for any more: `delay` is for each alone."""
    forms: frozenset[str] = frozenset({"json_schema", "json_object", "prompt"})
    """The response formats that it takes; others get status 400."""
    rejects: frozenset[str] = frozenset()
    """Parameters that get status 400."""
    vectors: Callable[[str], Sequence[float]] | None = None
    """The embedding of a text; None = the server has no embeddings (404)."""
    hold: threading.Event | None = None
    """Answers wait until it is set."""
    requests: list[Seen] = field(default_factory=list)
    most_at_once: int = 0
    _handlers: dict[str, Handler] = field(default_factory=dict)
    _running: int = 0
    _open: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _line: threading.Lock = field(default_factory=threading.Lock)
    _idle: threading.Condition = field(default_factory=threading.Condition)
    _closing: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._http = _Http(("127.0.0.1", 0), _Connection)
        self._http.owner = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def counts(self) -> Counter[str]:
        """Requests by stage; `embeddings` are one."""
        with self._lock:
            return Counter(seen.stage for seen in self.requests)

    def of(self, stage: str) -> list[Seen]:
        with self._lock:
            return [seen for seen in self.requests if seen.stage == stage]

    def on(self, stage: str, answer: object) -> None:
        """Answer a stage: with what a function returns, with each of a list in turn, or with a value."""
        if callable(answer):
            self._handlers[stage] = answer
            return
        turns = list(answer) if isinstance(answer, list) else [answer]

        def in_turn(_: Seen) -> object:
            with self._lock:
                return turns.pop(0) if len(turns) > 1 else turns[0]

        self._handlers[stage] = in_turn

    def wait_idle(self) -> bool:
        """Wait until no request is being answered any more; False after a quarter of a minute."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._open, 15)

    def close(self) -> None:
        self._closing.set()
        if self.hold:
            self.hold.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, seen: Seen) -> object:
        with self._lock:
            self.requests.append(seen)
            self._running += 1
            self.most_at_once = max(self.most_at_once, self._running)
        try:
            with self._line if self.one_at_a_time else nullcontext():
                self._closing.wait(self.delay)
            if self.hold:
                self.hold.wait()
            return self._refusal(seen) or self._handlers.get(seen.stage, _unknown)(seen)
        finally:
            with self._lock:
                self._running -= 1

    def _refusal(self, seen: Seen) -> Fault | None:
        names = sorted(self.rejects & seen.body.keys())
        if names:
            instead = " Use 'max_completion_tokens' instead." if "max_tokens" in names else ""
            message = f"Unsupported parameter: '{names[0]}' is not supported with this model.{instead}"
        elif "messages" in seen.body and seen.form not in self.forms:
            message = f"response_format.type: '{seen.form}' is not supported"
        else:
            return None
        return Fault("status", 400, body=json.dumps({"error": {"message": message}}))


def _unknown(seen: Seen) -> Fault:
    message = f"the test answers no stage '{seen.stage}'"
    return Fault("status", 400, body=json.dumps({"error": {"message": message}}))


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    owner: LlmServer

    def handle_error(self, *_: object) -> None:
        """A client that went away is no error of the test."""


class _Connection(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        self._send(200, json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}))

    def do_POST(self) -> None:
        owner = self.server.owner
        with owner._idle:
            owner._open += 1
        try:
            self._answer()
        finally:
            with owner._idle:
                owner._open -= 1
                owner._idle.notify_all()

    def _answer(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        if self.path.endswith("/embeddings"):
            self._embed(Seen("embeddings", body, headers, self.path))
            return
        first = str(body["messages"][0]["content"]).split("\n", 1)[0]
        seen = Seen(first.removeprefix("Stage: "), body, headers, self.path)
        answer = self.server.owner.answer(seen)
        if isinstance(answer, Fault):
            self._fail(answer, body)
        elif isinstance(answer, Reply):
            self._send(200, completion(body, answer))
        else:
            self._send(200, completion(body, Reply(_text(answer))))

    def _embed(self, seen: Seen) -> None:
        owner = self.server.owner
        with owner._lock:
            owner.requests.append(seen)
        if owner.vectors is None:
            self._send(404, '{"error": {"message": "no embeddings here"}}')
            return
        data = [
            {"object": "embedding", "index": n, "embedding": list(owner.vectors(text))}
            for n, text in enumerate(seen.body["input"])
        ]
        self._send(200, json.dumps({"object": "list", "model": seen.body["model"], "data": data}))

    def _fail(self, fault: Fault, body: Mapping[str, object]) -> None:
        text = _text(fault.answer)
        replies = {
            "length": Reply(text[: max(len(text) // 2, 1)], finish_reason="length"),
            "filtered": Reply("", finish_reason="content_filter"),
            "empty": Reply(""),
            "fenced": Reply(f"Here it is:\n```json\n{text}\n```\nHope it helps!"),
            "prose": Reply(f"Sure {{of course}}! {text}\n\nI hope {{that}} helps."),
            "thinking": Reply(f'<think>maybe {{"a": 1}}?</think>\n{text}'),
            "not_json": Reply("I would rather talk about the weather."),
            "wrong_schema": Reply('{"weather": "fine"}'),
        }
        bodies = {
            "malformed": '{"choices": [{"message": {"content": "…',
            "html": "<!doctype html><html><body>Sign in to continue</body></html>",
            "nothing": "",
            "no_choices": '{"id": "x", "choices": null}',
            "upstream": '{"error": {"message": "the provider is down", "code": 502}}',
        }
        if fault.name == "status":
            told = {"Retry-After": fault.retry_after, "Location": fault.location}
            self._send(
                fault.status, fault.body, {name: text for name, text in told.items() if text is not None}
            )
        elif fault.name == "body":
            self._send_bytes(fault.status, fault.content, fault.headers)
        elif fault.name == "refusal":
            self._send(200, completion(body, Reply(None), refusal="I cannot help with that."))
        elif fault.name in replies:
            self._send(200, completion(body, replies[fault.name]))
        elif fault.name in bodies:
            self._send(200, bodies[fault.name])
        else:
            self._break(fault, completion(body, Reply("{}")))

    def _break(self, fault: Fault, text: str) -> None:
        """Answer in a way that is no answer, and end the connection."""
        closing = self.server.owner._closing
        self.close_connection = True
        if fault.name == "slow":
            closing.wait()
        elif fault.name == "drip":
            self.send_response(200)
            self.send_header("Content-Length", "100000")
            self.end_headers()
            with suppress(OSError):
                while not closing.wait(0.02):
                    self.wfile.write(b" ")
                    self.wfile.flush()
        elif fault.name == "endless":
            self.send_response(200)
            for name, value in fault.headers.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):
                while not closing.is_set():
                    self.wfile.write(fault.content)
        elif fault.name == "truncated":
            self.send_response(200)
            self.send_header("Content-Length", str(len(text) * 2))
            self.end_headers()
            self.wfile.write(text.encode())
        else:
            # closed with something to send that nobody waits for: the other side is told at once
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()

    def _send(self, status: int, text: str, headers: Mapping[str, str] | None = None) -> None:
        kind = "text/html" if text.startswith("<") else "application/json"
        self._send_bytes(status, text.encode(), {"Content-Type": kind, **(headers or {})})

    def _send_bytes(self, status: int, data: bytes, headers: Mapping[str, str]) -> None:
        with suppress(OSError):  # the client may have gone
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)


def _text(answer: object) -> str:
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)


def completion(body: Mapping[str, object], reply: Reply, refusal: str | None = None) -> str:
    """A chat completion; tokens are counted as 4 characters each."""
    message: dict[str, object] = {"role": "assistant", "content": reply.text, "refusal": refusal}
    if reply.tool_calls:
        message["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
            for n, (name, args) in enumerate(reply.tool_calls)
        ]
    sent = sum(len(str(m.get("content"))) for m in body["messages"]) // 4
    written = len(json.dumps(message)) // 4
    usage = {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written}
    finish = reply.finish_reason or ("tool_calls" if reply.tool_calls else "stop")
    return json.dumps(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": body["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": usage if reply.usage is None else dict(reply.usage),
        }
    )
