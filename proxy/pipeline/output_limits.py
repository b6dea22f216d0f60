"""
What is known of ``max_tokens``, from the settings or an upstream, so that no request need be refused for it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proxy.chat.request import ChatRequest
from proxy.pipeline.exchange import Exchange
from proxy.pipeline.knowledge import Knowledge
from proxy.recovery.fault import Fault, Label
from proxy.recovery.targets import is_useful, margin_of
from proxy.windows.learned import OUTPUT_CAP, OUTPUT_SUM, Claim

SMALLEST_CAP = 16


class OutputLimits:
    """
    Answers how much output may be asked for, for one (upstream, model, credential).

    Two facts are kept: the cap of the output alone, and the window that prompt and asked output share; many servers
    never compare the two.
    """

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    def refused(self, exchange: Exchange, request: ChatRequest, fault: Fault) -> None:
        """
        Learn from a refusal of the asked output.
        """
        asked, who = request.asked_output, exchange.party.credential
        if asked is None:
            return
        if fault.label is Label.OUTPUT_CAP and fault.output_cap is not None:
            cap = fault.output_cap
            claim = Claim(cap, who, prompt=cap, window=asked, least=SMALLEST_CAP)
            self._knowledge.learn_limit(exchange, OUTPUT_CAP + request.model, claim)
        if fault.label is Label.CONTEXT_OVERFLOW and fault.max_tokens_issue and fault.limit is not None:
            claim = Claim(fault.limit, who, prompt=fault.limit, window=fault.limit + asked)
            self._knowledge.learn_limit(exchange, OUTPUT_SUM + request.model, claim)

    def may_be_too_much(self, exchange: Exchange, request: ChatRequest, *, prompt: int) -> bool:
        """
        Tell whether the asked output is more than is known to be allowed beside a *prompt* in the model's tokens.
        """
        return self._allowed(exchange, request, prompt=prompt) is not None

    def changes(self, exchange: Exchange, request: ChatRequest, *, prompt: int) -> Mapping[str, Any]:
        """
        Return the fields that ask for no more output than is known to be allowed; nothing where all is well.
        """
        if not exchange.recovery.clamp_max_tokens or exchange.mode not in {"compact", "recover"}:
            return {}
        most = self._allowed(exchange, request, prompt=prompt)
        useful = most is not None and is_useful(most, request.asked_output)
        if most is None or not useful or most <= thinking_budget(request.data):
            return {}
        return output_changes(request, most)

    def _allowed(self, exchange: Exchange, request: ChatRequest, *, prompt: int) -> int | None:
        asked = request.asked_output
        if asked is None:
            return None
        cap = self._knowledge.stated(exchange, OUTPUT_CAP + request.model)
        configured = self._knowledge.configured_output(request.model)
        window = self._knowledge.stated(exchange, OUTPUT_SUM + request.model)
        beside = None if window is None or prompt + asked <= window else window - prompt - margin_of(window)
        most = min((limit for limit in (cap, configured, beside) if limit is not None), default=asked)
        return most if most < asked else None


def output_changes(request: ChatRequest, most: int) -> Mapping[str, Any]:
    """
    Return the fields that ask for *most* tokens of output, under the name that the request uses.
    """
    names = [name for name in ("max_completion_tokens", "max_tokens") if name in request.data]
    return dict.fromkeys(names or ["max_tokens"], most)


def thinking_budget(data: Mapping[str, Any]) -> int:
    """
    Return the tokens that the request sets aside for thinking; ``max_tokens`` has to stay above them.
    """
    for holder, key in (("thinking", "budget_tokens"), ("reasoning", "max_tokens")):
        value = data.get(holder)
        if isinstance(value, dict) and isinstance(value.get(key), int):
            return int(value[key])
    return 0
