"""
Check the capacity model of docs/scaling.md against the real proxy. Run: python -m bench.bench_scaling [--conversations N]

Many conversations grow turn by turn through one proxy in front of the simulator; what the store is asked, what is kept
and how many summaries are made is counted and put beside what the model predicts. No time is measured.
"""

import argparse
import asyncio
import logging
from collections import Counter
from dataclasses import dataclass

import aiohttp
import structlog

from proxy.chat.json import dumps
from proxy.config.settings import AppSettings
from proxy.records.record import Record
from proxy.simulator.server import Simulator
from proxy.simulator.settings import SimulatorSettings
from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary
from proxy.wiring import build
from tests.support.conversations import assistant, filler, system, user

COUNTED = ("find", "put", "get", "get_fact", "put_fact", "put_fact_once", "lease", "renew", "release")
TARGET_RATIO = 0.40
PREPARE_AT = 0.90


@dataclass(frozen=True)
class Load:
    """
    So many conversations of so many turns, each turn of so many characters.
    """

    conversations: int
    turns: int
    characters: int
    threshold: int

    def rows(self, number, turn):
        """Return the history of one conversation at one turn."""
        rows = [system(f"Conversation {number}.")]
        for each in range(turn + 1):
            rows.append(user(f"Q{each} of {number}: " + filler(self.characters // 2, seed=f"{number}q{each}")))
            rows.append(assistant(filler(self.characters // 2, seed=f"{number}a{each}")))
        return rows[:-1]


@dataclass(frozen=True)
class Figures:
    """
    What one conversation costs over its life.
    """

    compactions: float
    lookups: float
    puts: float
    record_bytes: float

    def lines(self):
        """Return name and value of each."""
        return vars(self).items()


def predicted(load, *, per_turn, record_bytes):
    """
    Return what the model of docs/scaling.md says; *per_turn* are the tokens that a turn adds.

    After a compaction a conversation stands at about the target, and is compacted again when it reaches the threshold,
    or prepared a little before. From half of the threshold on, each turn looks up its records once; each compaction does
    so once more where it waited for what was prepared.
    """
    final = per_turn * load.turns
    between = (1 - TARGET_RATIO) * load.threshold
    compactions = max(0.0, 1 + (final - load.threshold) / between) if final >= load.threshold else 0.0
    lookups = load.turns - load.threshold / 2 / per_turn
    return Figures(compactions, lookups, 2 * compactions, record_bytes)


async def run(load):
    """Drive the load and return the figures per conversation, the tokens a turn adds, and all calls of the store."""
    vocabulary = Vocabulary()
    vocabulary.load()
    simulator = Simulator(
        SimulatorSettings(window=4 * load.threshold, summary_markers=("<record ",)),
        counter=TokenCounter(vocabulary, CountCache()),
    )
    await simulator.start()
    settings = {
        "store": {"url": "memory://"},
        "upstreams": {"sim": {"base_url": simulator.url, "context_window": 4 * load.threshold, "discover": False}},
        "compaction": {"threshold_tokens": load.threshold, "target_ratio": TARGET_RATIO, "prepare_at": PREPARE_AT},
    }
    proxy = await build(AppSettings.model_validate(settings), vocabulary=vocabulary)
    calls = count_calls(proxy.core.store)
    listening, host, port = await proxy.start("127.0.0.1", 0)
    actions, sizes = Counter(), []
    try:
        async with aiohttp.ClientSession() as session:
            for turn in range(load.turns):
                for number in range(load.conversations):
                    body = dumps({"model": "m", "messages": load.rows(number, turn)})
                    headers = {"authorization": "Bearer k", "content-type": "application/json"}
                    url = f"http://{host}:{port}/v1/chat/completions"
                    async with session.post(url, data=body, headers=headers) as response:
                        assert response.status == 200
                        await response.read()
                        actions[response.headers["x-concertina-action"]] += 1
                        if told := response.headers.get("x-concertina-tokens"):
                            sizes.append((turn, int(told.partition(";")[0].partition("=")[2])))
                await proxy.core.tasks.settled()
        records = [record for record in await proxy.core.store.recent(100_000) if isinstance(record, Record)]
    finally:
        await listening.stop()
        await proxy.close()
        await simulator.stop()
    last = [size for turn, size in sizes if turn == load.turns - 1]
    per_turn = sum(last) / len(last) / load.turns
    each = load.conversations
    kept = sum(len(record.to_bytes()) for record in records) / max(len(records), 1)
    figures = Figures(actions["compacted"] / each, calls["find"] / each, calls["put"] / each, kept)
    return figures, per_turn, {name: calls[name] / each for name in COUNTED}, len(simulator.summary_calls) / each


def count_calls(store):
    """Count what *store* is asked from now on."""
    calls = Counter()
    for name in COUNTED:
        method = getattr(store, name)

        async def counted(*given, _method=method, _name=name, **named):
            calls[_name] += 1
            return await _method(*given, **named)

        setattr(store, name, counted)
    return calls


def main():
    """Print model and measurement side by side."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversations", type=int, default=20)
    parser.add_argument("--turns", type=int, default=40)
    parser.add_argument("--characters", type=int, default=1_600)
    parser.add_argument("--threshold", type=int, default=4_000)
    options = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    load = Load(options.conversations, options.turns, options.characters, options.threshold)
    measured, per_turn, calls, summaries = asyncio.run(run(load))
    model = predicted(load, per_turn=per_turn, record_bytes=measured.record_bytes)
    print(f"{load}; {per_turn:.0f} tokens a turn\n{'per conversation':24}{'model':>10}{'measured':>10}{'off by':>9}")
    for name, value in measured.lines():
        said = getattr(model, name)
        print(f"{name:24}{said:10.1f}{value:10.1f}{(said - value) / max(value, 1e-9):9.0%}")
    print(
        f"{'summaries':24}{model.compactions:10.1f}{summaries:10.1f}{(model.compactions - summaries) / summaries:9.0%}"
    )
    print("store calls:", ", ".join(f"{name} {count:.1f}" for name, count in calls.items()))


if __name__ == "__main__":
    main()
