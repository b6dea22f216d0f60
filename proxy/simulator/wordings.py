"""
How each kind of server says "too long". One row a wording; all numbers are the refused request's own.
"""

from __future__ import annotations

from proxy.chat.json import dumps
from proxy.chat.messages import Message
from proxy.simulator.refusals import NGINX_413, Effect, Refusal, StreamForm, Wording


def _error(message: str, *, kind: str | None = "invalid_request_error", **more: object) -> Message:
    return {"error": {"message": message, "type": kind, **more}}


def _openai_text(r: Refusal) -> str:
    start = f"This model's maximum context length is {r.limit} tokens. However, "
    if r.prompt > r.limit:
        functions = f" ({r.prompt - r.tools} in the messages, {r.tools} in the functions)" if r.tools else ""
        what = "messages or functions" if r.tools else "messages"
        return f"{start}your messages resulted in {r.prompt} tokens{functions}. Please reduce the length of the {what}."
    parts = f"{r.prompt} in the messages, {r.output} in the completion"
    return f"{start}you requested {r.total} tokens ({parts}). Please reduce the length of the messages or completion."


def _requested_text(r: Refusal) -> str:
    return (
        f"This model's maximum context length is {r.limit} tokens. However, you requested {r.total} tokens "
        f"({r.prompt} in the messages, {r.output} in the completion). "
        "Please reduce the length of the messages or completion."
    )


def _openai(r: Refusal) -> Message:
    return _error(_openai_text(r), param="messages", code="context_length_exceeded")


def _openai_numberless(_: Refusal) -> Message:
    text = "Your input exceeds the context window of this model. Please adjust your input and try again."
    return _error(text, param="input", code="context_length_exceeded")


def _openai_tpm(r: Refusal) -> Message:
    text = (
        f"Request too large for {r.model} in organization org-simulated on tokens per min (TPM): Limit {r.limit}, "
        f"Requested {r.total}. The input or output tokens must be reduced in order to run successfully."
    )
    return _error(text, kind="tokens", param=None, code="rate_limit_exceeded")


def _azure(r: Refusal) -> Message:
    text = (
        f"Input tokens exceed the configured limit of {r.limit} tokens. "
        f"Your messages resulted in {r.prompt} tokens. Please reduce the length of the messages."
    )
    return _error(text, param="messages", code="context_length_exceeded")


def _anthropic(r: Refusal) -> Message:
    if r.prompt > r.limit:
        text = f"prompt is too long: {r.prompt} tokens > {r.limit} maximum"
    else:
        text = (
            f"input length and `max_tokens` exceed context limit: {r.prompt} + {r.output} > {r.limit}, "
            "decrease input length or `max_tokens` and try again"
        )
    return _error(text, code="invalid_request_error", param=None)


def _gemini(r: Refusal) -> list[Message]:
    text = f"The input token count ({r.prompt}) exceeds the maximum number of tokens allowed ({r.limit})."
    return [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}]


def _openrouter(r: Refusal) -> Message:
    tools = f", {r.tools} of tool input" if r.tools else ""
    text = (
        f"This endpoint's maximum context length is {r.limit} tokens. However, you requested about {r.total} tokens "
        f"({r.prompt - r.tools} of text input{tools}, {r.output} in the output). Please reduce the length of either "
        "one, or use the context-compression plugin to compress your prompt automatically."
    )
    return {"error": {"message": text, "code": 400, "metadata": {"provider_name": None}}}


def _vllm(r: Refusal) -> Message:
    text = (
        f"This model's maximum context length is {r.limit} tokens. However, you requested {r.output} output tokens and "
        f"your prompt contains at least {max(r.limit - r.output + 1, 1)} input tokens, for a total of at least "
        f"{r.limit + 1} tokens. Please reduce the length of the input prompt or the number of requested output tokens."
    )
    if r.prompt > r.limit:
        text = (
            f"This model's maximum context length is {r.limit} tokens. However, your request has {r.prompt} input "
            "tokens. Please reduce the length of the input messages."
        )
    return _error(text, kind="BadRequestError", param="input_tokens", code=400)


def _vllm_old(r: Refusal) -> Message:
    return {"object": "error", "message": _requested_text(r), "type": "BadRequestError", "param": None, "code": 400}


def _sglang(r: Refusal) -> Message:
    if r.prompt > r.limit:
        text = f"The input ({r.prompt} tokens) is longer than the model's context length ({r.limit} tokens)."
    else:
        text = (
            f"Requested token count exceeds the model's maximum context length of {r.limit} tokens. You requested a "
            f"total of {r.total} tokens: {r.prompt} tokens from the input messages and {r.output} tokens for the "
            "completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit."
        )
    return {"object": "error", "message": text, "type": "BadRequestError", "param": None, "code": 400}


def _sglang_stream(r: Refusal) -> Message:
    return {"error": _sglang(r)}


def _llamacpp(r: Refusal) -> Message:
    text = f"request ({r.prompt} tokens) exceeds the available context size ({r.limit} tokens), try increasing it"
    return {
        "error": {
            "code": 400,
            "message": text,
            "type": "exceed_context_size_error",
            "n_prompt_tokens": r.prompt,
            "n_ctx": r.limit,
        }
    }


def _ollama(r: Refusal) -> Message:
    return {"error": dumps(_llamacpp(r)).decode()}


def _lmstudio(r: Refusal) -> Message:
    text = (
        "The number of tokens to keep from the initial prompt is greater than the context length "
        f"(n_keep: {r.prompt} >= n_ctx: {r.limit}). "
        "Try to load the model with a larger context length, or provide a shorter input."
    )
    return {"error": text}


def _tgi(r: Refusal) -> Message:
    text = f"Input validation error: `inputs` must have less than {r.limit} tokens. Given: {r.prompt}"
    if r.prompt <= r.limit:
        text = (
            f"Input validation error: `inputs` tokens + `max_new_tokens` must be <= {r.limit}. "
            f"Given: {r.prompt} `inputs` tokens and {r.output} `max_new_tokens`"
        )
    return {"error": text, "error_type": "validation"}


def _groq_tpm(r: Refusal) -> Message:
    text = (
        f"Request too large for model `{r.model}` in organization `org_simulated` service tier `on_demand` on tokens "
        f"per minute (TPM): Limit {r.limit}, Requested {r.total}, please reduce your message size and try again."
    )
    return _error(text, kind="tokens", code="rate_limit_exceeded")


def _groq(_: Refusal) -> Message:
    return _error(
        "Please reduce the length of the messages or completion.", param="messages", code="context_length_exceeded"
    )


def _mistral(r: Refusal) -> Message:
    text = f"Prompt contains {r.prompt} tokens and 0 draft tokens, too large for model with {r.limit} maximum context length"
    return {
        "object": "error",
        "message": text,
        "type": "invalid_request_invalid_args",
        "param": None,
        "code": "3051",
        "raw_status_code": 400,
    }


def _deepseek(r: Refusal) -> Message:
    return _error(_requested_text(r), param=None, code="invalid_request_error")


def _dashscope(r: Refusal) -> Message:
    text = f"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, {r.limit}]"
    return {**_error(text, param=None, code="invalid_parameter_error"), "request_id": "simulated"}


def _litellm(r: Refusal) -> Message:
    text = (
        "litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: OpenAIException - "
        f"{_llamacpp(r)['error']['message']}\nmodel={r.model}. context_window_fallbacks=None. fallbacks=None."
    )
    return _error(text, param=None, code="400")


def _long_context_tier(_: Refusal) -> Message:
    error = {"type": "rate_limit_error", "message": "Extra usage is required for long context requests."}
    return {"type": "error", "error": error}


def _github_models(r: Refusal) -> Message:
    text = f"Request body too large for {r.model} model. Max size: {r.limit} tokens."
    return {"error": {"code": "tokens_limit_reached", "message": text, "details": text}}


def _bare(_: Refusal) -> Message:
    return _error("Input is too long for requested model.", param=None, code=None)


def _nothing(_: Refusal) -> Message:
    return {}


_LLAMA_HEADERS = (("Server", "llama.cpp"),)

WORDINGS: dict[str, Wording] = {
    "openai": Wording(_openai, counts_output=True),
    "openai-numberless": Wording(_openai_numberless),
    "openai-tpm": Wording(_openai_tpm, status=429, counts_output=True),
    "azure": Wording(_azure, headers=(("apim-request-id", "simulated"),)),
    "anthropic": Wording(_anthropic, counts_output=True),
    "gemini": Wording(_gemini),
    "openrouter": Wording(_openrouter, counts_output=True),
    "vllm": Wording(_vllm, counts_output=True),
    "vllm-old": Wording(_vllm_old, counts_output=True),
    "sglang": Wording(_sglang, counts_output=True),
    "sglang-sse": Wording(_sglang_stream, counts_output=True, stream=StreamForm.DATA),
    "llamacpp": Wording(_llamacpp, headers=_LLAMA_HEADERS, close=True),
    "llama-cpp-python": Wording(
        lambda r: _error(_requested_text(r), param="messages", code="context_length_exceeded"), stream=StreamForm.EMPTY
    ),
    "ollama": Wording(_ollama),
    "ollama-truncate": Wording(_nothing, effect=Effect.TRUNCATE),
    "lmstudio": Wording(_lmstudio, stream=StreamForm.EVENT),
    "tgi": Wording(_tgi, status=422, counts_output=True),
    "groq": Wording(_groq),
    "groq-tpm": Wording(_groq_tpm, status=413, counts_output=True),
    "mistral": Wording(_mistral),
    "deepseek": Wording(_deepseek, counts_output=True),
    "dashscope": Wording(_dashscope),
    "litellm": Wording(_litellm),
    "github-models": Wording(_github_models, status=413),
    "nginx": Wording(lambda _: NGINX_413, status=413),
    "long-context-tier": Wording(_long_context_tier, status=429),
    "bare": Wording(_bare),
    "finish-length": Wording(_nothing, effect=Effect.LENGTH),
}
"""
Every wording by its name, as ``--wording`` takes it.
"""
