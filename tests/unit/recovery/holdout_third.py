"""
A third set, written before the rules met it: terse refusals, vendors' habits, and what looks like an overflow but is none.
"""

from __future__ import annotations

from tests.unit.recovery.holdout_first import OVER, Case

CASES = (
    Case(
        400,
        '{"error":{"message":"Prompt tokens (9001) exceeds context size (8192)","type":"context_exceeded","n_prompt_tokens":9001,"n_ctx":8192}}',
        OVER,
        8192,
        9001,
    ),
    Case(400, "Prompt is 11501 tokens but the model context window is 4096 tokens.", OVER, 4096, 11501),
    Case(
        400,
        '{"code":20015,"message":"number of input tokens (204001) has exceeded max_prompt_tokens (202752) limit.","data":null}',
        OVER,
        202752,
        204001,
    ),
    Case(400, "Model context window is 128k tokens, you requested 256k tokens", OVER, 128000, 256000),
    Case(400, '{"error":{"message":"The total length of all messages is too long."}}', OVER),
    Case(400, "Model context window too small (minimum is 16000 tokens)", "invalid_request_other"),
    Case(429, "request reached organization TPD rate limit, current: 1506001, limit: 1500000", "rate_limit"),
    Case(
        400,
        '{"message":"messages.32.content: Conversation blocks and tool result blocks cannot be provided in the same turn."}',
        "invalid_request_other",
    ),
    Case(400, "The input token count exceeds the maximum number of tokens allowed 1048576.", OVER, 1048576),
    Case(
        400,
        "AzureException BadRequestError - Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 509001 tokens. Please reduce the length of the messages.",
        OVER,
        272000,
        509001,
    ),
    Case(400, "Context window exceeded: requested 12001 tokens", OVER, None, 12001),
    Case(
        400,
        '{"error":{"message":"This model\'s maximum context length is 131072 tokens. However, you requested 102400 output tokens and your prompt contains at least 28673 input tokens, for a total of at least 131073 tokens."}}',
        OVER,
        131072,
        28673,
    ),
    Case(400, '{"error":{"message":"The maximum context length for this model is 32768 tokens"}}', OVER, 32768),
    Case(
        400, "input is too long, requested input length 140000 but maximum input length is 131071", OVER, 131071, 140000
    ),
    Case(400, "The prompt exceeds the model limit: you sent 210000 tokens, limit is 200000", OVER, 200000, 210000),
    Case(
        400,
        "Invalid 'messages[1].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1500000 instead.",
        "invalid_request_other",
    ),
    Case(400, '{"error":{"message":"max_tokens (9000) + prompt tokens (30000) exceeds 32768"}}', OVER, 32768, 30000),
    Case(400, '{"error":{"message":"Token budget exceeded: prompt 9000 tokens, available 8192"}}', OVER, 8192, 9000),
    Case(
        400,
        "'max_tokens' or 'max_completion_tokens' is too large: 40000. This model's maximum context length is 32768 tokens and your request has 1200 input tokens (40000 > 32768 - 1200).",
        OVER,
        32768,
        1200,
    ),
    Case(400, "Requested tokens exceed the limit for this endpoint: 40960", OVER, 40960),
    Case(
        422,
        '{"detail":[{"type":"string_too_long","loc":["body","messages",0,"content"],"msg":"String should have at most 100000 characters","input":"context_length_exceeded ..."}]}',
        "invalid_request_other",
    ),
    Case(400, '{"error":{"message":"The requested model requires a paid plan"}}', "billing_quota"),
    Case(404, "Not Found", "invalid_request_other"),
    Case(405, "Method Not Allowed", "invalid_request_other"),
    Case(400, '{"error":{"message":"Too many messages in conversation: 300, maximum 256"}}', "payload_too_large"),
    Case(
        403,
        "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>Enable JavaScript and cookies to continue</body></html>",
        "auth",
    ),
    Case(520, "error code: 520", "overloaded_5xx"),
    Case(524, "A timeout occurred", "overloaded_5xx"),
    Case(499, "client closed request", "invalid_request_other"),
    Case(400, '{"error":{"message":"Message content is too long for role system"}}', OVER),
    Case(400, '{"error":{"message":"Request was rejected due to context length"}}', OVER),
    Case(400, '{"error":{"message":"No more context available"}}', OVER),
    Case(400, '{"error":{"message":"Input must be shorter than 4000 tokens"}}', OVER, 4000),
    Case(400, '{"error":{"message":"This model can only process 8192 tokens at a time"}}', OVER, 8192),
    Case(400, '{"error":{"message":"Context is full"}}', OVER),
    Case(400, '{"error":{"message":"Requested prompt doesn\'t fit in available memory for context"}}', OVER),
    Case(400, '{"error":{"message":"Please use a shorter conversation"}}', OVER),
    Case(400, '{"error":{"message":"总长度超过限制，请减少历史消息"}}', OVER),
    Case(400, '{"error":{"message":"消息长度超过模型限制(8192)"}}', OVER, 8192),
    Case(400, '{"error":{"message":"Max context reached (8192/8192)"}}', OVER, 8192),
    Case(400, '{"error":{"message":"请求的token数量(40000)大于模型的最大长度(32768)"}}', OVER, 32768, 40000),
    Case(
        400, '{"error":{"message":"该模型最大上下文长度为 32768 tokens，您的请求为 40000 tokens"}}', OVER, 32768, 40000
    ),
    Case(
        400,
        '{"error":{"message":"Your request used 40000 tokens. This is more than the 32768 this model allows."}}',
        OVER,
        32768,
        40000,
    ),
    Case(500, '{"error":{"message":"Internal error: tokens 40000 > n_positions 32768"}}', OVER, 32768, 40000),
    Case(400, '{"error":{"type":"prompt_length_exceeded"}}', OVER),
    Case(400, '{"error":{"code":"ContextLengthExceeded","message":""}}', OVER),
    Case(400, '{"error":{"code":"MAX_CONTEXT_LENGTH","message":"bad"}}', OVER),
    Case(
        400, '{"errors":[{"errorCode":"TokenLimitExceeded","errorMessage":"Limit for tokens reached for model"}]}', OVER
    ),
    Case(None, '{"error":{"message":"stream aborted: the context window of the model is exhausted","code":500}}', OVER),
    Case(400, '{"error":{"message":"requested 9000 tokens, maximum is 8192"}}', OVER, 8192, 9000),
    Case(400, '{"error":{"message":"Number of tokens 9000 not in range [1, 8192]"}}', OVER, 8192, 9000),
    Case(400, '{"error":{"message":"Please ensure the total number of tokens is below 8192"}}', OVER, 8192),
    Case(400, '{"error":{"message":"Maximum prompt size is 8192 tokens"}}', OVER, 8192),
)

OVERFLOWS = tuple(case for case in CASES if case.label == OVER)
OTHERS = tuple(case for case in CASES if case.label != OVER)
