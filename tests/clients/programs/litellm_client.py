"""
litellm as a client.
"""

import json
import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
from _cases import BASE_URL, KEY, WEATHER, serve, weather

litellm.suppress_debug_info = True  # it would print to the output that the test reads


def once(case: dict[str, Any], messages: list[Any]) -> dict[str, Any]:
    """
    Return the assistant's row of one call.
    """
    tools = {"tools": [WEATHER]} if case["tools"] else {}
    answer = litellm.completion(
        model="openai/" + case["model"],
        messages=messages,
        api_base=BASE_URL,
        api_key=KEY,
        stream=case["stream"],
        **tools,
    )
    if case["stream"]:
        answer = litellm.stream_chunk_builder(list(answer), messages=messages)
    message = answer.choices[0].message
    return {key: value for key, value in message.model_dump().items() if value}


def ask(case: dict[str, Any]) -> dict[str, Any]:
    """
    Call until the model calls no more tools.
    """
    messages, called = list(case["messages"]), []
    while True:
        row = once(case, messages)
        if not row.get("tool_calls"):
            return {"text": row["content"], "called": called}
        messages.append({"role": "assistant", "content": row.get("content"), "tool_calls": row["tool_calls"]})
        for call in row["tool_calls"]:
            called.append(json.loads(call["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": weather(**called[-1])})


serve(ask)
