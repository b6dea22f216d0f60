"""
langchain-openai.
"""

from typing import Any

from _cases import BASE_URL, KEY, WEATHER, serve, weather
from langchain_core.messages import ToolMessage
from langchain_openai import ChatOpenAI


def ask(case: dict[str, Any]) -> dict[str, Any]:
    """
    Call until the model calls no more tools.
    """
    model = ChatOpenAI(model=case["model"], base_url=BASE_URL, api_key=KEY)
    bound = model.bind_tools([WEATHER]) if case["tools"] else model
    messages: list[Any] = list(case["messages"])
    called = []
    while True:
        answer = None
        if case["stream"]:
            for chunk in bound.stream(messages):
                answer = chunk if answer is None else answer + chunk
        else:
            answer = bound.invoke(messages)
        if not answer.tool_calls:
            return {"text": answer.content, "called": called}
        messages.append(answer)
        for call in answer.tool_calls:
            called.append(call["args"])
            messages.append(ToolMessage(weather(**call["args"]), tool_call_id=call["id"]))


serve(ask)
