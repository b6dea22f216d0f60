"""
What counts as "too long", and the order in which all rules are asked: the first hit wins.

To teach Concertina a new wording, add a row with an example to the table of its label; rows are tried from the top. A
family (no ``seen``) is better than a line for one provider: the next provider will word it its own way again.
"""

from __future__ import annotations

from proxy.recovery import refusals
from proxy.recovery.fault import Label
from proxy.recovery.table import Rule
from proxy.recovery.wording import (
    ALLOWS,
    CONTEXT,
    EXCEEDS,
    MORE_TONGUES,
    NUMBER,
    PROMPT,
    REQUEST,
    SHORTEN,
    TOKENS,
    WINDOW,
    near,
    then,
)

_OVER = Label.CONTEXT_OVERFLOW
_NOT_PROMPT = r"greater than (?:0|zero)\b|\b(?:time|date)[ -](?:window|range|frame|span)|\d (?:days|hours|minutes|seconds|months)\b|exceed\w*+ (?:our |the |your |its |an? )?(?:\w+ )?(?:risk|confidence|threshold|time|duration|timeout|wait|retr\w+|attempts?|age|lifetime|ttl|retention|resolution|scope|permissions?|rate|balance|credits?|seconds?|minutes?|hours?|days?|depth|recursion|score)\b|too small|(?:does|do) ?n[o']t match|only supported (?:for|with)|_behaviou?r\b|(?:context|prompt) cach(?:e|ing)\b|(?:in|for) preview|positive|integer|\bindex \d|(?:produced|generated) too many|max input characters per (?:field|name)|took too long|too many requests|cached (?:content|prefix|prompt)|prompt caching|mismatch|misconfigur\w*|(?:must|should|has to) be (?:an? (?:\w+ )?(?:number|integer|string|boolean|valid|arrays?|list|object|power|multiple)|one of|either|true|false|null)"

OVERFLOW_CODES = (
    Rule(_OVER, '{"code": "context_length_exceeded"}', code=r"(?!.*(?:message_size|quota|rate_|budget|balance|credit|_per_|image|audio|video|files?_|batch|name|header|lifetime|_age|array|output|completion))(?:err(?:or)?_)?(?:max(?:imum)?_)?(?:model_)?(?:max_)?(?:context|prompt|inputs?|tokens?|messages?|conversation|history|sequence|characters?|query|text)(?:_[a-z]+){0,4}_(?:exceed(?:ed|s|ing)?(?:_(?:the_)?(?:limit|max\w*))?|too_(?:long|large|big|many)|overflow|limit_reached|limit_exceeded|failed)(?:_error)?", unless=r"_behaviou?r\b"),
    Rule(_OVER, '{"type": "exceed_context_size_error"}', code=r"exceeds?(?:ed)?_(?:max_)?(?:context|prompt|input|token)\w*|too_many_(?:input_|prompt_)?tokens|(?:out_?of_?|over_?)context\w*|context_?(?:overflow|exceeded|window_?exceeded|length_?exceeded|too_?long)\w*|(?:context|prompt|input|token|message|conversation|sequence|history)s?(?:token|length|window|size|count)?s?(?:limit)?(?:exceeded|toolong|toolarge|overflow|reached)\w*|max_tokens_exceeded|maximum_context_length\w*|string_too_long_for_context", unless=r"_behaviou?r\b"),
    Rule(_OVER, '{"code": "MAX_CONTEXT_LENGTH"}', code=r"\w*context_?(?:length|window|size|limit)\w*", unless=_NOT_PROMPT),
    Rule(_OVER, '{"code": "1261"}', code=r"1261", seen="zhipu"),
    Rule(_OVER, '{"code": 3051}', code=r"3051", seen="mistral"),
    Rule(_OVER, '{"code": 5021}', code=r"3010|5021", seen="cloudflare-workers-ai"),
    Rule(_OVER, '{"code": 336103}', code=r"336007|336103|336104", seen="qianfan"),
    Rule(_OVER, '{"code": 10907}', code=r"10907", seen="spark"),
)  # fmt: skip

OVERFLOW = (
    Rule(_OVER, "The prompt exceeds the context window of this model", near(CONTEXT, EXCEEDS + r"|exhaust\w*|\bfull\b|\bfill(?:s|ed)?\b|occup\w+|used up|no more|only \d[\d,]* (?:tokens )?(?:remain|are left|left|available)", 110) + "|" + near(WINDOW, r"failed\b|reject\w*", 110), unless=_NOT_PROMPT),
    Rule(_OVER, "maximum context length is 30,000", then(r"(?:max(?:imum)?|model(?:'s)?) ", CONTEXT, rf"(?:is|of|:|=|only|to)+ ?\(?{NUMBER}", span=40)),
    Rule(_OVER, "prompt is too long: 9100 tokens > 8000 maximum", near(PROMPT, rf"(?:{MORE_TONGUES}|too (?:long|large|big|many)|(?:longer|larger|bigger|greater) than|exceed\w*+|over(?:flow|length|size)\w*|surpass\w*|(?:does|do|did|will|would|can|could)(?: not|n't) (?:\w+ )?fit|won't fit|cannot (?:\w+ )?(?:fit|exceed)|(?:reached|hit) (?:its|the|a)(?: \w+(?:'s)?){{0,2}} (?:max\w*|limit|end)\b|超|过长|過長|过大|太长|太長|太大|太多|长度.{0,4}上限|長すぎ|多すぎ|초과|너무|überschr\w*|zu lang|zu groß|dépass\w*|trop long\w*|excèd\w*|\bexced\w*|\bsupera\w*|demasiado larg\w*|muy larg\w*|превыш\w*|слишком|\dx the (?:size|length)|times the (?:size|length)|was trained (?:for|on|with)|beyond what|keep (?:it|them|this) (?:under|below|within)|over (?:model|token|context|ctx|limit))", 90), unless=_NOT_PROMPT),
    Rule(_OVER, "Too many input tokens. Max input tokens: 4000", near(rf"(?:{PROMPT}|{REQUEST}).{{0,25}}{TOKENS}|{TOKENS}.{{0,40}}(?:{PROMPT}|{REQUEST})", rf"(?:{EXCEEDS}|more than|> ?\d|>= ?\d|max\b|maximum|limit|must (?:be|not)|at most|allowed|accepts?)", 100), unless=_NOT_PROMPT),
    Rule(_OVER, "Request too large for this model. Max size: 9000 tokens.", near(rf"(?:{REQUEST}|{PROMPT})", rf"(?:{EXCEEDS}|{ALLOWS}).{{0,60}}{NUMBER} ?{TOKENS}", 80)),
    Rule(_OVER, "Total tokens 19000 exceed the allowed 16000", near(rf"{TOKENS}", rf"(?:{EXCEEDS})", 60), unless=_NOT_PROMPT + r"|max_tokens must be at least [2-9]|^max_(?:completion_)?tokens|tokens? (?:quota|budget|balance)"),
    Rule(_OVER, "requested 9200 tokens (8200 in the messages, 1000 in the completion)", rf"{NUMBER} (?:tokens )?in the messages|{NUMBER} in your prompt|{NUMBER} of text input"),
    Rule(_OVER, "length of prompt_tokens (9000) must be less than max_seq_len (8000)", near(WINDOW, r"must (?:be|not|have)|should (?:be|not)|less than|no more than|at most|limited to|cannot be", 60), unless=_NOT_PROMPT),
    Rule(_OVER, "the prompt has length 9000; cannot exceed 8000", rf"{PROMPT}[^\n]{{0,30}}(?:length|size)[^\n]{{0,12}}{NUMBER}.{{0,4}}(?:cannot|must not|may not|should not) exceed|{NUMBER} (?:positions|entries|elements|ids)\b[^\n]{{0,60}}(?:{CONTEXT}|\d tokens)"),
    Rule(_OVER, "inputs tokens + max_new_tokens must be <= 1500", then(TOKENS, r"(?:\+|and|plus)", r"(?:must|cannot|should|exceed|<=|<|>)", span=60)),
    Rule(_OVER, "5000 + 4000 > 8000", rf"(?:prompt|input)[^\n]{{0,12}}\d ?\+ ?(?:\w+ ){{0,3}}\d|{NUMBER} ?\+ ?{NUMBER} ?(?:>|is greater|exceeds)|{NUMBER} (?:tokens )?>=? ?{NUMBER} (?:tokens|max|limit)|{TOKENS} too many: {NUMBER} >|{NUMBER} ?>=? ?{CONTEXT}|{CONTEXT}[ =:(]*{NUMBER}\)? ?<=? ?(?:prompt|input|{NUMBER})|(?:prompt|input|context|total|num)_(?:tokens?(?:_count)?|len|length)[ =:(]*(?:{NUMBER}\)? ?)?[<>]=? ?(?:\w+[ =:(]*)?\d"),
    Rule(_OVER, "Range of input length should be [1, 7000]", then(r"range (?:of|for)", r"(?:input|prompt)", r"\[", span=30)),
    Rule(_OVER, "max_tokens must be at least 1, got -90", r"max_(?:completion_|new_|output_)?tokens.{0,40}(?:got|is|was|:) -\d", seen="vllm"),
    Rule(_OVER, "max_tokens=9000 cannot be greater than max_model_len=8000", r"cannot be greater than max_model_len", seen="vllm"),
    Rule(_OVER, "You used 9000 tokens. This is more than the 8000 this model allows.", rf"more (?:context|text|input) than\b|(?:mehr|plus de|más|mais|più|meer|больше|więcej) {TOKENS}|(?:prompt|input)_(?:tokens|len\w*)[ =:(]*{NUMBER}.{{0,12}}(?:{CONTEXT}|max_context\b)|(?:more|larger|higher) (?:\w+ )?(?:tokens?|number of tokens|token count) [^\n]{{0,30}}than\b|{TOKENS}.{{0,60}}(?:more|greater|larger|higher) than (?:the |its )?{NUMBER}"),
    Rule(_OVER, "n_tokens = 9000, n_ctx_slot = 8100", r"n_(?:tokens|past|prompt\w*|keep)\b.{0,30}\bn_ctx"),
    Rule(_OVER, "context shift is disabled", r"^(?:the )?context[ _-]shift(?:ing)? is (?:disabled|off|not (?:enabled|supported))", seen="llama.cpp"),
    Rule(_OVER, "Text too long", r"^(?:the )?(?:input |request )?(?:text|content|question)(?: is| was)? too (?:long|large)"),
    Rule(_OVER, "Cannot truncate to 9000, required 12000", rf"cannot truncate to {NUMBER}", seen="gemini"),
    Rule(_OVER, "expected maxLength: 9000, actual: 9100", r"expected max_?length: \d+, actual: \d+", unless=r"\bname\b|\bdescription\b", seen="bedrock"),
    Rule(_OVER, "the max input characters is 9000", r"max(?:imum)? (?:input|prompt) (?:characters|chars|length)|(?:input|prompt) characters? (?:limit|exceed)"),
    Rule(_OVER, "The request content exceeds the internal limit of the large model", near(rf"(?:{REQUEST}|{PROMPT})", then(r"exceed\w*+", r"(?:limit|max\w*)", r"(?:model|llm)", span=40), 40)),
    Rule(_OVER, "Please reduce the length of the messages", near(SHORTEN, rf"(?:length of (?:the|your|either)|{PROMPT}|{WINDOW}|(?:the|your) context)", 45), unless=r"_behaviou?r\b|split the|remove .{0,20}(?:from|image|tool|field|param)|removed|invalid"),
    Rule(_OVER, "输入超出模型最大长度", r"(?:上下文|输入|輸入|提示词|提示詞|prompt|对话|对话历史|历史|消息|会话|内容|请求|token)[^。\n]{0,30}(?:超出|超过|超過|超长|超長|过长|過長|太长|太長|过大|太多|过多|溢出|超限|达到上限)|(?:超出|超过)[^。\n]{0,20}(?:上下文|长度|token)", unless=r"频率|并发|次数|图片|文件|额度|余额"),
    Rule(_OVER, "start a new chat, this one is too long", near(r"(?:start|begin|open) a (?:new|fresh) (?:chat|conversation|thread|session)", r"(?:long|large|limit|room|full|context|exceed)", 120)),
    # The last three are loose: all that speaks of rates, money, output, fields and bytes has been asked before.
    Rule(_OVER, "Request was rejected due to its context length", r"context (?:length|window|size|limit)|(?:model|max(?:imum)? sequence) length|kontextfenster|上下文(?:长度|窗口)", unless=_NOT_PROMPT),
    Rule(_OVER, "This model can only process 9000 tokens at a time", r"(?:\A|\n)(?=[^\n]*\d)[^\n]*?" + near(TOKENS, rf"(?:{EXCEEDS}|{ALLOWS}|below|under|within|more than|range|>=? ?\d|only|fewer|shorter)", 80), unless=_NOT_PROMPT + r"|max_(?:completion_|new_|output_)?tokens|(?:output|completion|new) tokens|invalid token|unexpected token|special tokens?|stop tokens?|token (?:ids?|type|bias)|logit|at least|positive|minimum|\bapi\b|access|auth"),
    Rule(_OVER, "history weighs 140k tokens; the model takes 128k", near(r"(?:\d[\d,._]{3,}|\d ?k)[ -]?(?:\w+ )?tokens?\b", rf"(?:{PROMPT}|{CONTEXT}|{REQUEST}|\bmodel\b)", 60), unless=_NOT_PROMPT + r"|at least|minimum|max_(?:completion_|new_|output_)?tokens|(?:output|completion|new) tokens|generat\w+|cache|\bused\b|per (?:response|answer)"),
)  # fmt: skip

GENERIC = (
    Rule(
        Label.CONTEXT_OVERFLOW,
        "413 status code (no body)",
        r"^(?:error: )?4(?:00|13) (?:status code )?\(no body\)",
        confident=False,
    ),
)

RATE_STOP = (Rule(Label.RATE_LIMIT, "429: whatever it says", status=429),)

PRECEDENCE: tuple[tuple[Rule, ...], ...] = (
    refusals.CONTENT_FILTER,
    refusals.BILLING_CODES[:1],
    refusals.LONG_CONTEXT_TIER,
    refusals.IMAGE_TOO_LARGE,
    refusals.OUTPUT_CAP,
    refusals.STRUCTURE,
    refusals.PARAMETER,
    refusals.BILLING_CODES[1:],
    refusals.OVERLOADED_503,
    refusals.RATE_LIMIT,
    refusals.BILLING,
    refusals.OVERLOADED,
    RATE_STOP,
    refusals.AUTH,
    refusals.PAYLOAD_BYTES,
    OVERFLOW_CODES,
    OVERFLOW,
    GENERIC,
    refusals.PAYLOAD,
)
