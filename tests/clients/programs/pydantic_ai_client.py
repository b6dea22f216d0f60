"""
pydantic-ai with its chat-completions model.
"""

import asyncio
from typing import Any

from _cases import BASE_URL, KEY, serve, weather
from pydantic_ai import Agent
from pydantic_ai.messages import ModelRequest, ModelResponse, SystemPromptPart, TextPart, UserPromptPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider


def history(rows: list[dict[str, Any]]) -> list[Any]:
    """
    Return earlier rows as pydantic-ai keeps them.
    """
    kinds = {"system": SystemPromptPart, "user": UserPromptPart}
    return [
        ModelResponse(parts=[TextPart(row["content"])])
        if row["role"] == "assistant"
        else ModelRequest(parts=[kinds[row["role"]](row["content"])])
        for row in rows
    ]


async def run(case: dict[str, Any]) -> dict[str, Any]:
    """
    Run an agent over one case.
    """
    called = []
    model = OpenAIChatModel(case["model"], provider=OpenAIProvider(base_url=BASE_URL, api_key=KEY))
    agent = Agent(model)
    if case["tools"]:

        @agent.tool_plain
        def get_weather(city: str) -> str:
            called.append({"city": city})
            return weather(city)

    *earlier, last = case["messages"]
    if case["stream"]:
        async with agent.run_stream(last["content"], message_history=history(earlier)) as answer:
            return {"text": await answer.get_output(), "called": called}
    answer = await agent.run(last["content"], message_history=history(earlier))
    return {"text": answer.output, "called": called}


with asyncio.Runner() as runner:
    serve(lambda case: runner.run(run(case)))
