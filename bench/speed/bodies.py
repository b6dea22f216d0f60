"""
Requests of every size, made of words that a tokenizer meets in real sessions.
"""

import random

import orjson

WORDS = (  # noqa: SIM905 - words are read more easily than a list of them
    "the request handler reads a value from the cache and returns it to whoever asked; if nothing is found then "
    "the store is queried, def load_settings(path: Path) -> Settings: raise ValueError(f'no such file {path}') "
    "connection refused at 10.0.0.7:5432 after 3 tries, see src/app/server.py line 214 and README for details"
).split()
SYSTEM = {"role": "system", "content": "You are a careful assistant that works on a code base."}


def text(size: int, seed: int) -> str:
    words = random.Random(seed)
    parts: list[str] = []
    length = 0
    while length < size:
        word = words.choice(WORDS) if words.random() < 0.9 else f"{words.getrandbits(24):x}"
        parts.append(word)
        length += len(word) + 1
    return " ".join(parts)


def conversation(size: int, *, seed: int = 0, row: int = 3_000) -> list[dict]:
    """
    A session of about *size* bytes: asks, tool calls, long results, answers.
    """
    rows: list[dict] = [SYSTEM, {"role": "user", "content": f"Session {seed}: find out why the import is slow."}]
    length = 200
    number = 0
    while length < size:
        number += 1
        call = {"id": f"call_{seed}_{number}", "type": "function"}
        call["function"] = {"name": "read_file", "arguments": f'{{"path":"src/module_{number}.py"}}'}
        rows.append({"role": "assistant", "content": None, "tool_calls": [call]})
        rows.append({"role": "tool", "tool_call_id": call["id"], "content": text(row, seed * 100_003 + number)})
        rows.append({"role": "assistant", "content": text(row // 6, seed * 100_003 + number + 50_000)})
        rows.append({"role": "user", "content": f"Go on with module {number + 1}."})
        length += row + row // 6 + 330
    return rows


def chat(messages: list[dict], *, model: str, **fields) -> bytes:
    return orjson.dumps({"model": model, "messages": messages, **fields})


def small(**fields) -> bytes:
    return chat([{"role": "user", "content": "Say hello."}], model="small", **fields)


def images(size: int) -> bytes:
    """
    Return a chat with a picture of *size* bytes inside.
    """
    url = "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUg" * (size // 22)
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
    return chat([{"role": "user", "content": parts}], model="small")
