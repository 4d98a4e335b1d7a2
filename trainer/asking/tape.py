"""Recordings of what was asked and answered: one readable file per request, to replay a run without network.

A file is called like the digest of its request and holds, masked, what was asked and what came back. There
are no headers in it and no keys. The same request has one file: what came last is in it.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Self

from pydantic import ValidationError

from trainer.asking.chat import Chat, ChatError, ChatReply, Embedder
from trainer.asking.files import put
from trainer.asking.question import AskError, Fault
from xpstore.errors import RepositoryError, UsageError
from xpstore.model import Frozen
from xpstore.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from trainer.asking.chat import ChatRequest

SALT = "salt"
"""The file with what the marks around quoted data are made from, beside that data."""
SUFFIX = ".json"
NO_VECTORS = f"no-embeddings{SUFFIX}"
"""The file with why there were none."""
RECORD_ANEW = "it was recorded with other rollouts, pages, settings or prompts; record it anew"
DIGITS = 40
"""Of a digest, in the name of a file."""


class _Failed(Frozen):
    """Why there was no reply."""

    fault: Fault
    message: str
    hint: str
    status: int

    @classmethod
    def of(cls, error: AskError) -> Self:
        status = error.status if isinstance(error, ChatError) else 0
        return cls(fault=error.fault, message=error.message, hint=error.hint, status=status)

    def as_error(self) -> ChatError:
        return ChatError(self.fault, self.message, hint=self.hint, status=self.status)


class Tape(Chat, Embedder):
    """A folder of recordings, to write or to replay; in place of an endpoint where it is replayed."""

    def __init__(self, folder: Path, *, replays: bool = False) -> None:
        """Raise UsageError where there is nothing to replay, RepositoryError where nothing can be written."""
        self.replays = replays
        """Whether replies come from the folder and nothing else."""
        self._folder = folder
        self._broken: RepositoryError | None = None
        if replays and not folder.is_dir():
            raise UsageError(f"there is no recording in {folder}", hint="--record DIR makes one")
        if not replays:
            try:
                folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise RepositoryError(f"{folder}: {error.strerror}") from error

    def salt(self, own: str) -> str:
        """Return the salt of the marks around quoted data: of the store that was recorded first, else `own`.

        So another store with the same pages asks the same questions: another `xp demo`, for one. Raises
        RepositoryError where the disk says no.
        """
        file = self._folder / SALT
        try:
            return file.read_text("utf-8").strip()
        except FileNotFoundError:
            if not self.replays:
                _put(file, f"{own}\n")
            return own
        except (OSError, ValueError) as error:
            raise RepositoryError(f"{file} cannot be read") from error

    async def chat(self, request: ChatRequest) -> ChatReply:
        """Return the reply on record.

        Raises the ChatError on record; AskError `replay` where this request is not on record.
        """
        file = self._file(request)
        try:
            data = json.loads(file.read_text("utf-8"))
            if "error" in data:
                raise _Failed.model_validate(data["error"]).as_error()
            return ChatReply.model_validate(data["reply"])
        except FileNotFoundError:
            raise AskError(
                "replay",
                f"{self._folder} has no answer to this question ({request.stage}, about {request.about},"
                f" {request.digest[:20]})",
                hint=RECORD_ANEW,
            ) from None
        except (OSError, ValueError, KeyError, TypeError, ValidationError) as error:
            raise AskError("replay", f"{file} is not a recording: {type(error).__name__}") from error

    def check_whole(self) -> None:
        """Raise RepositoryError where something could not be recorded: what is asked now would be wasted."""
        if self._broken:
            raise RepositoryError(self._broken.message, hint=self._broken.hint)

    def keep(self, request: ChatRequest, reply: ChatReply) -> ChatReply:
        """Record a reply; return it masked, as a replay will: both runs come to the same.

        Raises RepositoryError where the disk says no.
        """
        masked = self._write(request, "reply", reply.model_dump(mode="json", exclude_defaults=True))
        return ChatReply.model_validate(masked)

    def keep_error(self, request: ChatRequest, error: AskError) -> None:
        """Record that there was no reply, and why. Raises RepositoryError where the disk says no."""
        self._write(request, "error", _Failed.of(error).model_dump(mode="json"))

    async def embed(self, texts: Sequence[str], model: str) -> list[tuple[float, ...]]:
        """Return the embeddings on record.

        Raises the ChatError on record where there were none; AskError `replay` where one is not there.
        """
        return [self._vector(text_key(model, text)) for text in texts]

    def _vector(self, key: bytes) -> tuple[float, ...]:
        file = self._vector_file(key)
        try:
            values = json.loads(file.read_text("utf-8"))["vector"]
            return tuple(float(value) for value in values)
        except FileNotFoundError:
            self._raise_why_none()
            raise AskError(
                "replay", f"{self._folder} has no embedding {file.stem}", hint=RECORD_ANEW
            ) from None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise AskError("replay", f"{file} is not a recording: {type(error).__name__}") from error

    def _raise_why_none(self) -> None:
        """Raise the error on record where embeddings failed while recording."""
        file = self._folder / NO_VECTORS
        try:
            none = _Failed.model_validate_json(file.read_text("utf-8"))
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise AskError("replay", f"{file} is not a recording: {type(error).__name__}") from error
        raise none.as_error()

    def keep_no_vectors(self, error: AskError) -> None:
        """Record that there were no embeddings, and why. Raises RepositoryError where the disk says no."""
        said = _Failed.of(error).model_dump(mode="json")
        _put(self._folder / NO_VECTORS, json.dumps(Redactor().redact_json(said), ensure_ascii=False))

    def keep_vector(self, key: bytes, vector: Sequence[float]) -> None:
        """Record an embedding, once. Raises RepositoryError where the disk says no."""
        file = self._vector_file(key)
        if not file.exists():
            _put(file, json.dumps({"vector": list(vector)}))

    def _write(self, request: ChatRequest, kind: str, came: JsonValue) -> JsonValue:
        asked = request.model_dump(mode="json", exclude={"omit", "response_format"}, exclude_defaults=True)
        masked = Redactor().redact_json({"request": asked, kind: came})
        try:
            _put(self._file(request), json.dumps(masked, ensure_ascii=False, indent=1))
        except RepositoryError as error:
            self._broken = error
            raise
        return masked[kind] if isinstance(masked, dict) else None

    def _vector_file(self, key: bytes) -> Path:
        return self._folder / f"embed-{key.hex()[:DIGITS]}{SUFFIX}"

    def _file(self, request: ChatRequest) -> Path:
        return self._folder / f"{request.stage}-{request.digest[:DIGITS]}{SUFFIX}"


def text_key(model: str, text: str) -> bytes:
    """Return what names the embedding of a text: the SHA-256 of both."""
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()


def _put(file: Path, text: str) -> None:
    """Write a recording. Raises RepositoryError."""
    try:
        put(file, f"{text}\n")
    except OSError as error:
        raise RepositoryError(f"{file}: {error.strerror}", hint="the run is not recorded") from error
