"""
The openai package for Python.
"""

import json
from typing import Any

from _cases import BASE_URL, KEY, WEATHER, serve, weather
from openai import OpenAI

client = OpenAI(base_url=BASE_URL, api_key=KEY)


def once(case: dict[str, Any], messages: list[Any]) -> dict[str, Any]:
    """
    Return the assistant's row of one call.
    """
    tools = {"tools": [WEATHER]} if case["tools"] else {}
    if not case["stream"]:
        answer = client.chat.completions.create(model=case["model"], messages=messages, **tools)
        return answer.choices[0].message.model_dump(exclude_none=True)
    text, calls = "", {}
    for chunk in client.chat.completions.create(model=case["model"], messages=messages, stream=True, **tools):
        for choice in chunk.choices:
            text += choice.delta.content or ""
            for part in choice.delta.tool_calls or []:
                call = calls.setdefault(
                    part.index, {"id": part.id, "type": "function", "name": part.function.name, "arguments": ""}
                )
                call["arguments"] += part.function.arguments or ""
    made = [
        {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
        for c in calls.values()
    ]
    return {"role": "assistant", "content": text or None, **({"tool_calls": made} if made else {})}


def responses(case: dict[str, Any]) -> str:
    """
    Return the text of a call to the responses API.
    """
    if not case["stream"]:
        return client.responses.create(model=case["model"], input=case["messages"]).output_text
    events = client.responses.create(model=case["model"], input=case["messages"], stream=True)
    return "".join(event.delta for event in events if event.type == "response.output_text.delta")


def ask(case: dict[str, Any]) -> dict[str, Any]:
    """
    Call until the model calls no more tools.
    """
    if case["model"] == "sim-responses":
        return {"text": responses(case), "called": []}
    messages, called = list(case["messages"]), []
    while True:
        row = once(case, messages)
        if not row.get("tool_calls"):
            return {"text": row["content"], "called": called}
        messages.append(row)
        for call in row["tool_calls"]:
            called.append(json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": weather(**called[-1])})


serve(ask)
