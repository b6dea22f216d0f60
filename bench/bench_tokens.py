"""
What counting costs beside parsing: run ``python bench/bench_tokens.py``.

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

WORDS = (
    "the service returned an error while parsing configuration def return self path import value None raise "
    "request response token limit {'id': 42} [ok] 0x1f users/list.py --verbose https://example.test/a?b=c"
).split()


def conversation(rows: int, words: int) -> list[dict[str, object]]:
    chance = random.Random(1)
    roles = ("user", "assistant", "tool")
    return [
        {"role": roles[n % 3], "content": " ".join(chance.choices(WORDS, k=words)) + f"\n{n}"} for n in range(rows)
    ]


def best(work, rounds: int = 7) -> float:
    times = []
    for _ in range(rounds):
        start = process_time()
        work()
        times.append(process_time() - start)
    return min(times) * 1_000


def warm_rounds(vocabulary: Vocabulary, rows: list[dict[str, object]], rounds: int = 7) -> float:
    times = []
    for turn in range(rounds):
        counter = TokenCounter(vocabulary, CountCache())
        counter.messages(rows[:-2])
        rows[-1] = {"role": "user", "content": f"turn {turn} " + " ".join(WORDS)}
        body = orjson.dumps({"model": "m", "messages": rows})
        start = process_time()
        counter.messages(orjson.loads(body)["messages"])
        times.append(process_time() - start)
    return min(times) * 1_000


def plain(encoding: Encoding, rows: list[dict[str, object]]) -> int:
    return sum(len(encoding.encode_ordinary(str(row["content"]))) for row in rows)


def main() -> None:
    start = process_time()
    vocabulary = Vocabulary()
    vocabulary.load()
    print(f"load the table               {(process_time() - start) * 1_000:9.1f} ms")
    encoding = vocabulary._encoding
    rows = conversation(300, 250)
    body = orjson.dumps({"model": "m", "messages": rows})
    total = TokenCounter(vocabulary, CountCache()).messages(rows)
    print(f"request: {len(rows)} rows, {total} tokens, {len(body)} bytes")
    parse = best(lambda: orjson.loads(body), 30)
    bound = best(lambda: upper_bound(body), 30)
    warm = warm_rounds(vocabulary, rows)
    tiktoken = best(lambda: plain(encoding, rows), 3)
    cold = best(lambda: TokenCounter(vocabulary, CountCache()).messages(rows), 3)
    guess = best(lambda: [estimate(str(row["content"])) for row in rows], 3)
    print(f"orjson.loads                 {parse:9.2f} ms")
    print(f"upper_bound                  {bound:9.2f} ms   {bound / parse:5.2f} x loads")
    print(f"loads + count, 2 rows new    {warm:9.2f} ms   {warm / parse:5.2f} x loads (target 4)")
    print(f"plain tiktoken, cold         {tiktoken:9.1f} ms")
    print(f"our count, cold              {cold:9.1f} ms   {cold / tiktoken:5.2f} x plain tiktoken (target 1.1)")
    print(f"estimate                     {guess:9.1f} ms   {guess / tiktoken:5.2f} x plain tiktoken")


if __name__ == "__main__":
    main()
