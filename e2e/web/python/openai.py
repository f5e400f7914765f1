"""Stands in for the package "openai" where that cannot be installed: the calls that the interface shows, over plain HTTP.

It is as strict as the package. An argument that the package does not name is a TypeError, an answer of an error status is an exception, vectors
are asked for in base64, and what is not JSON has no fields. Names are those of openai 2.x.
"""

import array
import base64
import json
import time
import urllib.error
import urllib.request
import uuid

__all__ = ["OpenAI", "APIError", "APIStatusError"]

COMMON = {"extra_headers", "extra_query", "extra_body", "timeout"}
CHAT = """audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages metadata modalities
model n parallel_tool_calls prediction presence_penalty prompt_cache_key reasoning_effort response_format safety_identifier seed service_tier stop
store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity web_search_options"""
IMAGE = "background model moderation n output_compression output_format partial_images prompt quality response_format size stream style user"
TRANSCRIPTION = """chunking_strategy file include known_speaker_names known_speaker_references language model prompt response_format stream
temperature timestamp_granularities"""


class APIError(Exception):
    pass


class APIStatusError(APIError):
    pass


class Fields:
    """An object of JSON, read by attributes. One that is missing or null is None, as in the package's models."""

    def __init__(self, of):
        self._of = of

    def __getattr__(self, name):
        return wrap(self._of.get(name))

    def __repr__(self):
        return json.dumps(self._of, ensure_ascii=False)


def wrap(value):
    if isinstance(value, dict):
        return Fields(value)
    if isinstance(value, list):
        return [wrap(x) for x in value]
    return value


class Binary:
    def __init__(self, content):
        self.content = content

    def write_to_file(self, file):
        with open(file, "wb") as f:
            f.write(self.content)


def takes(names, required):
    """Checks the arguments of a call and answers its body."""
    allowed, needed = set(names.split()), set(required.split())

    def body(given):
        for name in given:
            if name not in allowed | COMMON:
                raise TypeError(f"unexpected keyword argument '{name}'")
        if not needed <= set(given):
            raise TypeError(f"missing required arguments: {needed - set(given)}")
        extra = given.get("extra_body") or {}
        return {**{k: v for k, v in given.items() if k not in COMMON}, **extra}

    return body


class Part:
    def __init__(self, client):
        self._client = client


class Stream:
    """The events of an answer. As in the package, an event with an error is an exception, and close() ends the connection."""

    def __init__(self, answer):
        self._answer = answer

    def __iter__(self):
        with self._answer:
            for line in self._answer:
                if line.startswith(b"data: ") and line.strip() != b"data: [DONE]":
                    event = json.loads(line[len(b"data: ") :])
                    if event.get("error"):
                        raise APIError(event["error"].get("message"))
                    yield Fields(event)

    def close(self):
        self._answer.close()


class Completions(Part):
    body = staticmethod(takes(CHAT, "messages model"))

    def create(self, **given):
        if given.get("stream"):
            return Stream(self._client._open("POST", "/chat/completions", self.body(given)))
        return self._client._json("/chat/completions", self.body(given))


class Embeddings(Part):
    body = staticmethod(takes("dimensions encoding_format input model user", "input model"))

    def create(self, **given):
        asked = self.body(given)
        answer = self._client._read("/embeddings", {"encoding_format": "base64", **asked})
        for d in answer["data"]:
            if "encoding_format" not in asked and isinstance(d["embedding"], str):
                d["embedding"] = array.array("f", base64.b64decode(d["embedding"])).tolist()
        return Fields(answer)


class Images(Part):
    body = staticmethod(takes(IMAGE, "prompt"))

    def generate(self, **given):
        return self._client._json("/images/generations", self.body(given))


class Speech(Part):
    body = staticmethod(takes("input instructions model response_format speed stream_format voice", "input model voice"))

    def create(self, **given):
        return Binary(self._client._send("POST", "/audio/speech", self.body(given)))


class Transcriptions(Part):
    body = staticmethod(takes(TRANSCRIPTION, "file model"))

    def create(self, **given):
        said = self._client._form("/audio/transcriptions", self.body(given))
        return said.decode() if given.get("response_format") in ("text", "srt", "vtt") else Fields(json.loads(said))


class Moderations(Part):
    body = staticmethod(takes("input model", "input"))

    def create(self, **given):
        return self._client._json("/moderations", self.body(given))


class Videos(Part):
    body = staticmethod(takes("input_reference model prompt seconds size", "prompt"))

    def create_and_poll(self, *, poll_interval_ms=1000, **given):
        job = Fields(json.loads(self._client._form("/videos", self.body(given))))
        while job.status in ("queued", "in_progress"):
            time.sleep(poll_interval_ms / 1000)
            job = Fields(json.loads(self._client._send("GET", f"/videos/{job.id}")))
        return job

    def download_content(self, video_id):
        return Binary(self._client._send("GET", f"/videos/{video_id}/content"))


class OpenAI:
    def __init__(self, *, api_key, base_url, max_retries=2):
        self._key, self._base = api_key, base_url.rstrip("/")
        chat, audio = Part(self), Part(self)
        chat.completions = Completions(self)
        audio.speech, audio.transcriptions = Speech(self), Transcriptions(self)
        self.chat, self.audio = chat, audio
        self.embeddings, self.images, self.moderations, self.videos = Embeddings(self), Images(self), Moderations(self), Videos(self)

    def _send(self, method, path, body=None, data=None, kind="application/json"):
        with self._open(method, path, body, data, kind) as answer:
            return answer.read()

    def _open(self, method, path, body=None, data=None, kind="application/json"):
        if body is not None:
            data = json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data=data, method=method, headers={"Authorization": "Bearer " + self._key, **({"Content-Type": kind} if data else {})})
        try:
            return urllib.request.urlopen(request)
        except urllib.error.HTTPError as e:
            raise APIStatusError(f"Error code: {e.code} - {e.read().decode()}") from None

    def _read(self, path, body):
        return json.loads(self._send("POST", path, body))

    def _json(self, path, body):
        return Fields(self._read(path, body))

    def _form(self, path, body):
        boundary, out = uuid.uuid4().hex, b""
        for name, value in body.items():
            file = hasattr(value, "read")
            head = f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"' + (f'; filename="{value.name}"\r\nContent-Type: application/octet-stream' if file else "")
            out += head.encode() + b"\r\n\r\n" + (value.read() if file else str(value).encode()) + b"\r\n"
        return self._send("POST", path, data=out + f"--{boundary}--\r\n".encode(), kind=f"multipart/form-data; boundary={boundary}")
