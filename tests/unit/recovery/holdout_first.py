"""
Wordings written before the rules were tuned on them, to measure how the families generalise.

Each row: status (None: inside a stream or a 200), body, label, limit, prompt or total.
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    status: int | None
    body: str
    label: str
    limit: int | None = None
    requested: int | None = None


OVER = "context_overflow"

OVERFLOWS = (
    Case(
        400,
        '{"detail":"Prompt length (21988) exceeds maximum input length (16384). See the engine logs."}',
        OVER,
        16384,
        21988,
    ),
    Case(
        400,
        '{"error":{"message":"Context length 9120 is greater than max_seq_len 8192. Generation is aborted.","code":null}}',
        OVER,
        8192,
        9120,
    ),
    Case(400, '{"error":"Prompt is too long: 9043 tokens of max 8192"}', OVER, 8192, 9043),
    Case(
        422,
        '{"detail":[{"msg":"The prompt has 40211 tokens, but the model only accepts 32768.","type":"value_error"}]}',
        OVER,
        32768,
        40211,
    ),
    Case(400, '{"message":"input tokens (5120) plus prefix length (0) must be < 4096"}', OVER, 4096, 5120),
    Case(
        500,
        '{"error":{"message":"The token count 12034 of the input exceeds session_len 8192","type":"internal_error"}}',
        OVER,
        8192,
        12034,
    ),
    Case(
        None,
        '{"error":{"message":"Conversation has grown beyond the model\'s context limit (131,072 tokens)."}}',
        OVER,
        131072,
    ),
    Case(
        400,
        '{"error":{"message":"Your conversation is too long. Please start a new chat or remove earlier messages.","type":"bad_request"}}',
        OVER,
    ),
    Case(400, '{"error":{"code":"prompt_too_long","message":"Bad Request"}}', OVER),
    Case(400, '{"error":{"code":"input_too_long","message":"rejected by validator"}}', OVER),
    Case(
        400,
        '{"fault":{"faultstring":"Sequence length 70123 is longer than the maximum sequence length for this model (65536)"}}',
        OVER,
        65536,
        70123,
    ),
    Case(
        400,
        '{"error":{"message":"This request needs 151k tokens which does not fit into the 128k context of llama-3.3-70b"}}',
        OVER,
        128000,
        151000,
    ),
    Case(
        400,
        '{"error":{"message":"messages too long for this model, got 260101 tokens, allowed 200000"}}',
        OVER,
        200000,
        260101,
    ),
    Case(
        413,
        '{"error":{"message":"Total tokens 190404 exceed the allowed 163840 for this deployment","type":"invalid_request_error"}}',
        OVER,
        163840,
        190404,
    ),
    Case(
        400,
        '{"error":{"message":"The sum of prompt tokens (30100) and max_tokens (4000) exceeds the model context of 32768"}}',
        OVER,
        32768,
        30100,
    ),
    Case(
        400,
        '{"error":{"message":"Unable to process: prompt of 34881 tokens won\'t fit in a window of 32768 tokens"}}',
        OVER,
        32768,
        34881,
    ),
    Case(400, '{"error":{"message":"ctx overflow: n_past + n_prompt = 4411 > n_ctx = 4096"}}', OVER, 4096, 4411),
    Case(
        503,
        '{"error":{"message":"litellm.MidStreamFallbackError: maximum context window of 65536 tokens was exceeded by the prompt"}}',
        OVER,
        65536,
    ),
    Case(
        400,
        "Error code: 400 - {'error': {'message': 'Request too long: the model supports at most 40960 tokens of context and you sent 51234.', 'type': 'BadRequestError'}}",
        OVER,
        40960,
        51234,
    ),
    Case(
        400,
        '{"error":{"message":"The number of input tokens must not exceed 6144, but 7310 were provided"}}',
        OVER,
        6144,
        7310,
    ),
    Case(400, '{"error":{"message":"inputs tokens too many: 20480 > 16384"}}', OVER, 16384, 20480),
    Case(
        400,
        '{"error":{"message":"Prompt token count of 300123 is over the 262144 token limit of this model."}}',
        OVER,
        262144,
        300123,
    ),
    Case(
        None,
        '{"type":"response.failed","response":{"status":"failed","error":{"code":"context_window_exceeded","message":"Ran out of room."}}}',
        OVER,
    ),
    Case(
        400,
        '{"error":{"message":"Ran out of room in the model\'s context window. Start a new conversation or clear earlier history."}}',
        OVER,
    ),
    Case(
        400,
        '{"error":{"message":"model context size of 8192 tokens is insufficient for a prompt of 9211 tokens"}}',
        OVER,
        8192,
        9211,
    ),
    Case(
        400,
        '{"error":{"message":"prompt exceeds kv cache capacity: need 40000 tokens, have 32768"}}',
        OVER,
        32768,
        40000,
    ),
    Case(400, '{"status":"error","reason":"Exceeded maximum context length"}', OVER),
    Case(
        400,
        '{"error":{"message":"You have passed 33001 input tokens and requested 512 output tokens. However, the model\'s context length is only 32768."}}',
        OVER,
        32768,
        33001,
    ),
    Case(
        400, '{"error":{"message":"Input is larger than what the model can handle (max 100000 tokens)."}}', OVER, 100000
    ),
    Case(400, '{"error":{"message":"history + question exceed the token limit of the model"}}', OVER),
    Case(200, '{"code":10907,"message":"token数量超过上限"}', OVER),
    Case(400, '{"error":{"message":"输入的 token 数 40960 超过模型支持的最大长度 32768"}}', OVER, 32768, 40960),
    Case(400, '{"error":{"message":"请求的上下文太长，最大支持 65536 tokens"}}', OVER, 65536),
    Case(400, '{"error":{"message":"提示词过长，请缩短后再试"}}', OVER),
    Case(400, '{"error":{"message":"对话历史超出最大 token 限制，请清理历史消息"}}', OVER),
    Case(400, '{"error":{"message":"入力が長すぎます。最大コンテキスト長は 32768 トークンです。"}}', OVER, 32768),
    Case(400, '{"error":{"message":"입력 토큰 수가 모델의 최대 컨텍스트 길이(16384)를 초과했습니다."}}', OVER, 16384),
    Case(
        400,
        '{"error":{"message":"Die Eingabe ist zu lang: 40211 Token überschreiten das Kontextfenster von 32768 Token."}}',
        OVER,
        32768,
        40211,
    ),
    Case(
        400,
        '{"error":{"message":"Le nombre de jetons dépasse la longueur de contexte maximale du modèle (32768)."}}',
        OVER,
        32768,
    ),
    Case(
        400,
        '{"error":{"message":"La entrada supera la longitud máxima de contexto del modelo (32768 tokens)."}}',
        OVER,
        32768,
    ),
    Case(
        400,
        '[{"error":{"code":400,"message":"Request contains 1250001 tokens; at most 1048576 input tokens are permitted.","status":"INVALID_ARGUMENT"}}]',
        OVER,
        1048576,
        1250001,
    ),
    Case(
        400,
        '{"error":{"message":"{\\"error\\":{\\"code\\":400,\\"message\\":\\"request (9001 tokens) is bigger than n_ctx (8192)\\",\\"n_ctx\\":8192,\\"n_prompt_tokens\\":9001}}"}}',
        OVER,
        8192,
        9001,
    ),
    Case(400, '{"error":{"message":"Too many prompt tokens for model: 131900 (limit 131072)"}}', OVER, 131072, 131900),
    Case(
        400,
        '{"error":{"message":"Please shorten your prompt: it is 2,100,000 tokens long and the model accepts up to 2,000,000."}}',
        OVER,
        2000000,
        2100000,
    ),
    Case(
        400,
        '{"error":{"message":"Prompt size of 18000 tokens goes past the maximum of 16000 tokens"}}',
        OVER,
        16000,
        18000,
    ),
)

OTHERS = (
    Case(504, '{"error":{"message":"context deadline exceeded"}}', "overloaded_5xx"),
    Case(408, '{"error":{"message":"The prompt took too long to process, request timed out"}}', "overloaded_5xx"),
    Case(
        429,
        '{"error":{"message":"You have used all input tokens of this minute (limit 50000). Try again shortly."}}',
        "rate_limit",
    ),
    Case(429, '{"error":{"message":"Token quota per day exceeded for this key"}}', "rate_limit"),
    Case(403, '{"error":{"message":"Monthly token budget exceeded for project alpha"}}', "billing_quota"),
    Case(
        402,
        '{"error":{"message":"Insufficient balance: this prompt of 90000 tokens exceeds your remaining 12000"}}',
        "billing_quota",
    ),
    Case(
        403, '{"error":{"code":"insufficient_user_quota","message":"用户额度不足, 剩余额度: 0.002"}}', "billing_quota"
    ),
    Case(400, '{"error":{"message":"余额不足，请充值"}}', "billing_quota"),
    Case(401, '{"error":{"message":"The access token is too long or malformed"}}', "auth"),
    Case(401, '{"error":{"message":"token expired"}}', "auth"),
    Case(403, '{"error":{"message":"Your API key does not have permission to use this model"}}', "auth"),
    Case(400, '{"error":{"message":"max_tokens must be less than or equal to 8192"}}', "output_cap"),
    Case(
        400,
        '{"error":{"message":"max_completion_tokens (100000) is over the limit of 32768 output tokens for this model"}}',
        "output_cap",
    ),
    Case(
        400,
        '{"error":{"message":"Invalid \'tools\': array too long. Expected an array with maximum length 128, but got an array with length 140 instead.","code":"array_above_max_length"}}',
        "invalid_request_other",
    ),
    Case(
        400,
        '{"error":{"message":"Function description is too long, at most 1024 characters"}}',
        "invalid_request_other",
    ),
    Case(
        400, '{"error":{"message":"tools.3.name: String should have at most 64 characters"}}', "invalid_request_other"
    ),
    Case(400, '{"error":{"message":"stop: at most 4 sequences are allowed"}}', "invalid_request_other"),
    Case(
        400,
        '{"error":{"message":"thinking.budget_tokens: 40000 exceeds the maximum of 32768"}}',
        "invalid_request_other",
    ),
    Case(400, '{"error":{"message":"temperature must not exceed 2"}}', "invalid_request_other"),
    Case(
        400,
        '{"error":{"message":"messages.4: `tool_use` ids were found without `tool_result` blocks immediately after"}}',
        "invalid_request_other",
    ),
    Case(
        400,
        '{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/..."}}',
        "invalid_request_other",
    ),
    Case(404, '{"error":{"message":"The model `gpt-9-long-context` does not exist"}}', "invalid_request_other"),
    Case(
        400, '{"error":{"message":"Image too large: 9000x9000 exceeds the maximum of 8192 pixels"}}', "image_too_large"
    ),
    Case(413, '{"message":"Request body exceeds 10 MB"}', "payload_too_large"),
    Case(413, "", "payload_too_large"),
    Case(400, '{"error":{"message":"request body too large; maximum is 1048576 bytes"}}', "payload_too_large"),
    Case(400, '{"error":{"message":"Your request was rejected by the safety system"}}', "content_filter"),
    Case(
        400,
        '{"error":{"code":"data_inspection_failed","message":"Input data may contain inappropriate content."}}',
        "content_filter",
    ),
    Case(529, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', "overloaded_5xx"),
    Case(503, '{"error":{"message":"The engine is currently overloaded, please try again later"}}', "overloaded_5xx"),
    Case(500, '{"error":{"message":"CUDA out of memory. Tried to allocate 2.00 GiB"}}', "overloaded_5xx"),
    Case(502, "<html><head><title>502 Bad Gateway</title></head><body>cloudflare</body></html>", "overloaded_5xx"),
    Case(429, '{"error":{"message":"Maximum number of concurrent requests exceeded"}}', "rate_limit"),
    Case(
        429,
        '{"error":{"message":"Request exceeds token-per-minute limit: Limit 40000, Requested 91000"}}',
        "rate_limit",
        None,
        91000,
    ),
    Case(
        429,
        '{"type":"error","error":{"type":"rate_limit_error","message":"Usage credits are needed for long context requests: extra usage is off"}}',
        "long_context_tier",
    ),
    Case(431, '{"error":{"message":"Request header fields too large"}}', "invalid_request_other"),
    Case(
        400,
        '{"error":{"message":"response_format schema is too large: 5100 properties exceeds 5000"}}',
        "invalid_request_other",
    ),
    Case(400, '{"error":{"message":"Audio file is too long, the maximum is 1500 seconds"}}', "invalid_request_other"),
)
