"""
Real agents without a screen, each through sixty rounds of tools whose history outgrows the window several times.

    python -m tests.agents.drive FOLDER [AGENT ...]

FOLDER is where ``make agents`` installed them. The model is the strict simulator; it asks for a shell command a round.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import structlog

from proxy.chat.json import dumps
from proxy.config.settings import AppSettings
from proxy.simulator.received import Received
from proxy.simulator.server import Simulator
from proxy.simulator.settings import SimulatorSettings
from proxy.simulator.steps import Script, Step
from proxy.tokens.cache import CountCache
from proxy.tokens.counter import TokenCounter
from proxy.tokens.vocabulary import Vocabulary
from proxy.wiring import Proxy, build
from tests.agents.agents import AGENTS, ROUNDS, Agent

WINDOW = 40_000
THRESHOLD = 30_000
PATIENCE_SECONDS = 600


class Rounds(Script):
    """
    Asks an agent for one command after the other; what it asks beside them, for titles, gets a plain answer.
    """

    def __init__(self, agent: Agent) -> None:
        super().__init__()
        self.agent = agent
        self.done = 0

    def take(self, received: Received, *, may_speak: bool) -> Step | None:
        """
        Take the next round.
        """
        if received.is_summary_call or not may_speak or not self.agent.wants(received.fields):
            return None
        self.done += 1
        return self.agent.step(self.done)


@dataclass
class Outcome:
    """
    What an agent's session came to.
    """

    code: int | None
    rounds: int
    refused: int
    violations: int
    largest: int
    folded: int
    said: str

    @property
    def good(self) -> bool:
        """
        Whether the agent ended well after all rounds, with nothing refused and its history folded.
        """
        clean = self.code == 0 and not self.refused and not self.violations
        return clean and self.rounds > ROUNDS and 0 < self.largest <= WINDOW and self.folded > 0


async def proxied(simulator: Simulator) -> tuple[Proxy, str]:
    """
    Start a proxy in front of the simulator, and return its base URL.
    """
    settings = {
        "store": {"url": "memory://"},
        "admin": {"listen": None},
        "upstreams": {"sim": {"base_url": simulator.url, "context_window": WINDOW}},
        "compaction": {"threshold_tokens": THRESHOLD},
    }
    proxy = await build(AppSettings.model_validate(settings))
    _, host, port = await proxy.start("127.0.0.1", 0)
    while not proxy.core.vocabulary.ready:
        await asyncio.sleep(0.05)
    return proxy, f"http://{host}:{port}/v1"


async def drive(agent: Agent, folder: Path, counter: TokenCounter) -> Outcome:
    """
    Run one agent through its rounds.
    """
    script = Rounds(agent)
    settings = SimulatorSettings(window=WINDOW, summary_markers=("<record ",), alternation="as_client")
    simulator = Simulator(settings, script, counter=counter)
    await simulator.start()
    proxy, url = await proxied(simulator)
    with tempfile.TemporaryDirectory() as home:
        for name, content in agent.files(url).items():
            path = Path(home, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(dumps(content))
        environ = {
            "PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8", "NO_COLOR": "1", "CI": "1", "DO_NOT_TRACK": "1",
            **agent.environment(url),
        }  # fmt: skip
        process = await asyncio.create_subprocess_exec(
            *agent.command(folder, url), cwd=home, env=environ, stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        try:
            said, _ = await asyncio.wait_for(process.communicate(agent.typed()), PATIENCE_SECONDS)
        except TimeoutError:
            process.kill()
            said, _ = await process.communicate()
    calls = [call for call in simulator.main_calls if agent.wants(call.fields)]
    outcome = Outcome(
        process.returncode,
        script.done,
        sum(call.status >= 400 for call in calls),
        sum(bool(call.violations) for call in calls),
        max((call.prompt_tokens for call in calls), default=0),
        len(simulator.summary_calls),
        said.decode("utf-8", "replace")[-2_000:],
    )
    await simulator.stop()
    await proxy.close()
    return outcome


async def main(folder: Path, names: list[str]) -> int:
    """
    Drive the agents and say how each did; return how many did badly.
    """
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    vocabulary = Vocabulary()
    vocabulary.load()
    counter = TokenCounter(vocabulary, CountCache())
    bad = 0
    for name in names or AGENTS:
        outcome = await drive(AGENTS[name], folder, counter)
        bad += not outcome.good
        print(
            f"{name}: {'good' if outcome.good else 'BAD'}, {outcome.rounds} calls, exit {outcome.code}, "
            f"{outcome.folded} summaries, largest prompt {outcome.largest}, {outcome.refused} refused, "
            f"{outcome.violations} illegal",
            flush=True,
        )
        if not outcome.good:
            print(outcome.said, flush=True)
    return bad


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main(Path(sys.argv[1]).resolve(), sys.argv[2:])))
