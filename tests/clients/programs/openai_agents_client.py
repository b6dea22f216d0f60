"""
openai-agents in chat mode.
"""

import asyncio
from typing import Any

from _cases import BASE_URL, KEY, serve, weather
from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

set_tracing_disabled(True)


async def run(case: dict[str, Any]) -> dict[str, Any]:
    """
    Run an agent over one case.
    """
    called = []

    @function_tool
    def get_weather(city: str) -> str:
        """
        Tell the weather of a city.
        """
        called.append({"city": city})
        return weather(city)

    rows = case["messages"]
    client = AsyncOpenAI(base_url=BASE_URL, api_key=KEY)
    agent = Agent(
        name="tester",
        instructions=rows[0]["content"],
        model=OpenAIChatCompletionsModel(model=case["model"], openai_client=client),
        tools=[get_weather] if case["tools"] else [],
    )
    if case["stream"]:
        answer = Runner.run_streamed(agent, rows[1:])
        async for _ in answer.stream_events():
            pass
    else:
        answer = await Runner.run(agent, rows[1:])
    return {"text": answer.final_output, "called": called}


with asyncio.Runner() as runner:
    serve(lambda case: runner.run(run(case)))
