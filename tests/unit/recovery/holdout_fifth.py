"""
A fifth set, written before the rules met it: servers of local models, and words of overflow in other company.
"""

from __future__ import annotations

from tests.unit.recovery.holdout_first import OVER, Case

CASES = (
    Case(400, "Sequence length 9100 exceeds max_seq_len=8192.", OVER, 8192, 9100),
    Case(
        400,
        "This conversation has used 140001 tokens, which exceeds the selected model's context window of 131072 tokens.",
        OVER,
        131072,
        140001,
    ),
    Case(400, "The request used 5000 tokens, which exceeds the 4096-token context window.", OVER, 4096, 5000),
    Case(
        400,
        '{"error":{"message":"Input is too long. Your request contains approximately 210001 tokens, which exceeds the maximum context limit of 200000 tokens. Please /compact"}}',
        OVER,
        200000,
        210001,
    ),
    Case(400, "too many tokens: input is larger than the model's context length", OVER),
    Case(400, "input tokens exceeds the limit", OVER),
    Case(400, "prompt of 9000 tokens exceeds the limit of 8192 tokens", OVER, 8192, 9000),
    Case(400, "max_tokens exceeds the limit of 65536", "output_cap"),
    Case(
        400,
        "Requested context window of 65536 tokens exceeds the limit of 32768 tokens for model 'm'. Reduce 'options.num_ctx' to 32768 or less.",
        "invalid_request_other",
    ),
    Case(400, "Input too large for safe processing: Maximum input size exceeded (100,000 tokens)", OVER, 100000),
    Case(400, "本次请求超出模型上下文窗口。请缩短输入，或改用上下文更大的模型。", OVER),
    Case(400, "上下文超出限制", OVER),
    Case(400, "请求的token数量超出限制", OVER),
    Case(400, "too many tokens for context window", OVER),
    Case(
        400,
        "local: this request exceeds the model's context. Compact the conversation, shorten the message, or choose a larger-context model.",
        OVER,
    ),
    Case(400, '{"error":{"message":"prefix length 9000 exceeds max_seq_len 8192"}}', OVER, 8192, 9000),
    Case(400, '{"error":{"message":"Ticket data exceeds the token limit."}}', OVER),
    Case(413, '{"error":{"message":"request too large for model: 140001 tokens, max 131072"}}', OVER, 131072, 140001),
    Case(
        400,
        '{"error":{"message":"Maximum request size is 131072 tokens; received 140001 tokens."}}',
        OVER,
        131072,
        140001,
    ),
    Case(
        400, '{"error":{"message":"This request is 8,211 tokens over the model limit of 128,000 tokens"}}', OVER, 128000
    ),
    Case(400, '{"error":{"message":"The model\'s 32k window cannot hold your 41k token prompt"}}', OVER, 32000, 41000),
    Case(
        400,
        '{"error":{"message":"Requests to this deployment are limited to 16384 tokens per call; this one has 20001."}}',
        OVER,
        16384,
        20001,
    ),
    Case(500, '{"error":{"message":"ggml: failed to find a memory slot for batch, context is full"}}', OVER),
    Case(500, '{"error":{"message":"llama_decode failed: n_past (8190) + n_batch (512) > n_ctx (8192)"}}', OVER, 8192),
    Case(
        400,
        '{"error":{"message":"Assistant cannot continue this conversation because it reached its maximum length"}}',
        OVER,
    ),
    Case(
        400,
        '{"error":{"message":"your input of 140001 tokens is above what model m permits (131072)"}}',
        OVER,
        131072,
        140001,
    ),
    Case(
        400,
        '{"error":{"message":"tool_choice requires tools; at most one tool may be forced"}}',
        "invalid_request_other",
    ),
    Case(400, '{"error":{"message":"audio input longer than 30 seconds is not supported"}}', "invalid_request_other"),
    Case(
        400,
        '{"error":{"message":"response_format.json_schema.name exceeds maximum length 64"}}',
        "invalid_request_other",
    ),
    Case(429, '{"error":{"message":"Your account reached max request"}}', "rate_limit"),
    Case(400, '{"error":{"message":"Assertion failed: index 5 exceeds message count 4"}}', "invalid_request_other"),
    Case(
        500,
        '{"error":{"message":"The model produced too many tokens without stopping; generation aborted"}}',
        "overloaded_5xx",
    ),
    Case(400, '{"error":{"message":"presence_penalty is too large"}}', "invalid_request_other"),
    Case(400, '{"error":{"message":"Model m is limited to text input"}}', "invalid_request_other"),
    Case(401, '{"error":{"message":"Bearer token length exceeds limit"}}', "auth"),
    Case(
        400,
        '{"error":{"message":"The image in your message exceeds the maximum of 2048 tokens per image"}}',
        "image_too_large",
    ),
    Case(403, '{"error":{"message":"message quota for this workspace exceeded"}}', "billing_quota"),
    Case(400, '{"error":{"message":"Cannot specify both prompt and messages"}}', "invalid_request_other"),
    Case(504, '{"error":{"message":"Timed out after 600 s; try a shorter prompt"}}', "overloaded_5xx"),
)
