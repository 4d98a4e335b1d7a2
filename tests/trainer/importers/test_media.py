import base64
import hashlib

import pytest

from trainer.importers.chat import read_messages
from trainer.importers.jsontext import MAX_TEXT, clean
from trainer.importers.media import media_type, named, reference, without_data

DATA = bytes(range(256)) * 4
ENCODED = base64.b64encode(DATA).decode()
WHAT = f"1024 bytes, sha256 {hashlib.sha256(DATA).hexdigest()}]"


def test_type_size_and_hash_stay():
    assert reference("image/png", ENCODED) == f"[image/png: {WHAT}"
    assert (
        reference("image/png", base64.urlsafe_b64encode(DATA).decode().rstrip("=")) == f"[image/png: {WHAT}"
    )
    assert reference("data", "é").startswith("[data: 2 bytes")


def test_data_in_a_text():
    text = f"see ![x](data:image/png;charset=utf-8;base64,{ENCODED}) and data:;base64,{ENCODED}"
    assert without_data(text) == f"see ![x]([image/png: {WHAT}) and [data: {WHAT}"
    for left in ("data:image/png;base64,iVBO", "a;base64,b", "data:,x"):
        assert without_data(left) == left


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ({"type": "base64", "media_type": "image/jpeg", "data": ENCODED}, "image/jpeg"),
        ({"type": "image", "mimeType": "image/png", "data": ENCODED}, "image/png"),
        ({"type": "base64", "data": ENCODED}, "data"),
        ({"format": "wav", "data": ENCODED}, "audio/wav"),
        ({"type": "base64", "data": "short"}, ""),
        ({"mime_type": "../etc", "data": ENCODED}, ""),
        ({"data": 5}, ""),
    ],
)
def test_what_is_a_file(part, kind):
    assert media_type(part) == kind
    if kind:
        assert clean(part)["data"] == f"[{kind}: {WHAT}"


def test_the_whole_is_hashed_although_long_texts_are_cut():
    long = bytes(MAX_TEXT)
    part = {"type": "image", "source": {"media_type": "image/png", "data": base64.b64encode(long).decode()}}
    assert f"{MAX_TEXT} bytes, sha256 {hashlib.sha256(long).hexdigest()}]" in named(clean(part))


def test_parts_of_messages_and_results():
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}}
    there = {"type": "image_url", "image_url": {"url": "https://example.com/a.png?key=secret"}}
    call = {"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "shot", "arguments": "{}"}}]}
    shot = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}}
    content = [{"type": "text", "text": "here"}, shot]
    items = [
        {"role": "user", "content": [picture, there]},
        call,
        {"role": "tool", "tool_call_id": "1", "content": content},
    ]
    user, agent = read_messages(clean(items)).messages
    assert user.text == f"[image/png: {WHAT}\n[image_url: https://example.com/a.png]"
    assert agent.tools[0].tool_output == f"here\n[image/png: {WHAT}"


def test_thoughts_are_kept_beside_the_transcript():
    parts = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "x"}]
    chat = read_messages([{"role": "assistant", "content": parts}])
    assert chat.messages[0].text == "x"
    assert chat.extra == {"0": {"reasoning_content": "hm"}}
