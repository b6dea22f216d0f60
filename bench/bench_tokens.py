"""
What counting costs beside parsing: run ``python -m bench.bench_tokens``.

CPU time, best of several rounds, in one process; the ratios matter, not the milliseconds.
"""

import random
from time import process_time

import orjson
from tiktoken import Encoding

from proxy.tokens.bound import upper_bound
from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.estimate import estimate
from proxy.tokens.vocabulary import Vocabulary

LINES = (
    "def read_rows(path: Path, *, limit: int = 100) -> list[dict[str, Any]]:",
    "    rows = [json.loads(line) for line in path.read_text().splitlines()[:limit]]",
    '    raise ValueError(f"{path} holds no rows, expected {limit}")',
    "2026-03-04T10:22:31.001933Z ERROR worker-7 [req=000f11aa] GET /api/items/4711?page=2 502 118ms",
    '{"id": "ord_19283", "name": "Ada", "total": 19.99, "tags": ["gift", "express"]}',
    "The second call fails because the token has expired by then; I will refresh it before each batch.",
    "-rw-r--r--  1 root  wheel   18233 Mar  4 10:22 src/handlers/orders.py",
    "\tif (len < sizeof(*out) || memcmp(buf, MAGIC, 4) != 0) {\n\t\treturn -EINVAL;\n\t}",
)


def conversation(rows: int, lines: int, *, agent: bool) -> list[dict[str, object]]:
    """
    Plain text rows, or an agent's: calls with escaped arguments, results with ids and characters beyond ASCII.
    """
    chance = random.Random(1)

    def text(number: int) -> str:
        return "\n".join(chance.choices(LINES, k=lines)) + f"\n{number}" + (" — …" if agent and number % 3 else "")

    if not agent:
        return [{"role": ("user", "assistant")[n % 2], "content": text(n)} for n in range(rows)]
    return [
        {"role": "tool", "tool_call_id": f"call_{n}", "content": text(n)} if n % 2 else _call(n, text(n))
        for n in range(rows)
    ]


def _call(number: int, text: str) -> dict[str, object]:
    arguments = orjson.dumps({"path": f"src/{number}.py", "content": text}).decode()
    function = {"name": "write_file", "arguments": arguments}
    calls = [{"id": f"call_{number + 1}", "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def best(work, rounds: int = 7) -> float:
    times = []
    for _ in range(rounds):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times) * 1_000


def warm_rounds(vocabulary: Vocabulary, rows: list[dict[str, object]], rounds: int = 30) -> float:
    times = []
    for turn in range(rounds):
        counter = TokenCounter(vocabulary, CountCache())
        counter.messages(rows[:-2])
        rows[-1] = {"role": "user", "content": f"turn {turn} " + "\n".join(LINES)}
        body = orjson.dumps({"model": "m", "messages": rows})
        start = process_time()
        counter.messages(orjson.loads(body)["messages"])
        times.append(process_time() - start)
    return min(times) * 1_000


def strings(row: dict[str, object]) -> list[str]:
    calls = row.get("tool_calls") or []
    found = [str(row.get("content") or "")]
    return found + [call["function"]["arguments"] for call in calls]


def plain(encoding: Encoding, rows: list[dict[str, object]]) -> int:
    return sum(len(encoding.encode_ordinary(text)) for row in rows for text in strings(row))


def main() -> None:
    start = process_time()
    vocabulary = Vocabulary()
    vocabulary.load()
    print(f"load the table               {(process_time() - start) * 1_000:9.1f} ms")
    for agent in (False, True):
        report(vocabulary, conversation(300, 19, agent=agent), "an agent's rows" if agent else "plain rows")


def report(vocabulary: Vocabulary, rows: list[dict[str, object]], title: str) -> None:
    encoding = vocabulary._encoding  # noqa: SLF001 - plain tiktoken is what we compare with
    body = orjson.dumps({"model": "m", "messages": rows})
    total = TokenCounter(vocabulary, CountCache()).messages(rows)
    print(f"\n{title}: {len(rows)} rows, {total} tokens, {len(body)} bytes")
    parse = best(lambda: orjson.loads(body), 30)
    bound = best(lambda: upper_bound(body), 30)
    warm = warm_rounds(vocabulary, rows)
    tiktoken = best(lambda: plain(encoding, rows), 3)
    cold = best(lambda: TokenCounter(vocabulary, CountCache()).messages(rows), 3)
    guess = best(lambda: [estimate(text) for row in rows for text in strings(row)], 3)
    print(f"orjson.loads                 {parse:9.2f} ms")
    print(f"upper_bound                  {bound:9.2f} ms   {bound / parse:5.2f} x loads")
    print(f"loads + count, 2 rows new    {warm:9.2f} ms   {warm / parse:5.2f} x loads (target 4)")
    print(f"plain tiktoken, cold         {tiktoken:9.1f} ms")
    print(f"our count, cold              {cold:9.1f} ms   {cold / tiktoken:5.2f} x plain tiktoken (target 1.1)")
    print(f"estimate                     {guess:9.1f} ms   {guess / tiktoken:5.2f} x plain tiktoken")


if __name__ == "__main__":
    main()
