"""
The wordings of every refusal that is not an overflow, in tables; ``rules.py`` says in which order they are asked.
"""

from __future__ import annotations

from proxy.recovery.fault import Label
from proxy.recovery.table import Rule
from proxy.recovery.wording import CONTEXT, EXCEEDS, NUMBER, OUTPUT, PROMPT, REQUEST, TOKENS, near, then

_SUM = r"\+|(?<!au) plus |\bsum of\b|combined|together with|message tokens"
_BYTES = rf"(?:{NUMBER} ?(?:bytes?|[kmg]i?b|megabytes?|kilobytes?)\b|\bbytes\b)"
_IMAGE = r"(?:images?\b|image_url|pictures?\b|photos?\b|media\b|(?:mega)?pixels?\b|图片|图像|画像|이미지|\bbild\w*)"
_FIELD = (
    r"(?:\bstring\b|\barrays?\b|descriptions?\b|\bname\b|\bnames\b|\btools?\b(?! results?| outputs?)|\bfunctions?\b|\bschemas?\b|\bstop\b|\bmetadata\b|\burls?\b|\buris?\b|\bfiles?\b|\bdocuments?\b|\bpdf\b|\baudio\b|\bvideo\b"
    r"|\bheaders?\b|\bcookies?\b|\bids?\b|_id\b|_key\b|\blogprobs?\b|logit_bias|\btemperature\b|top_[pk]\b|\bbudget_tokens\b|thinking[_ ]budget|\bproperties\b|\bnesting\b|(?<!recursion )\bdepth\b|\benum\b|\btitle\b|\busername\b|\bemail\b|\bpassword\b|工具|函数)"
)

CONTENT_FILTER = (
    Rule(Label.CONTENT_FILTER, '{"code": "content_filter"}', code=r"content_filter\w*|content_policy_violation|responsible_?ai_?policy_?violation|data_?inspection_?failed|content_blocked|content_risk\w*|risk_control\w*|safety_violation|1301|moderation_\w+|\w*sensitive_content\w*|prohibited_content|(?:content_|usage_)?policy_violation\w*"),
    Rule(Label.CONTENT_FILTER, "output blocked by the content filtering policy", r"content[ _-]?(?:filter|management|policy|moderation|safety|security|violation)"),
    Rule(Label.CONTENT_FILTER, "your prompt was flagged as violating our usage policy", r"\bflagged\b|usage polic(?:y|ies)|acceptable use|terms of (?:use|service) violation|violat\w+ (?:our|the|of) [\w ]{0,30}(?:polic(?!\w* limit)|guideline|terms)"),
    Rule(Label.CONTENT_FILTER, "rejected by the safety system", r"prompt injection|jailbreak|safety (?:system|filter|settings|check|reasons|guard|policy)|\bmoderation\b|(?:inappropriate|unsafe|harmful|prohibited|sensitive|offensive|disallowed) (?:or sensitive )?(?:content|material|words?|information)|\brisk (?:threshold|score|level|control)|(?:confidence|toxicity) (?:threshold|score)|model armor|harassment|hate speech|self-?harm|(?:prompt|input|request|message) (?:was |has been |is )?blocked|(?:our|the|this) (?:\w+ )?policy (?:does not|forbids|prohibits|disallows)|blocked by (?:our |the )?(?:guardrails?|safety|policy)|guardrail (?:intervened|blocked)"),
    Rule(Label.CONTENT_FILTER, "输入包含敏感内容", r"敏感|合规|违规|違規|不安全|内容安全|审核|コンテンツ(?:ポリシー|フィルタ)|콘텐츠 정책|inhaltsrichtlinie\w*|politique (?:de contenu|de modération|d'utilisation)|pol[íi]ticas? de (?:contenido|conteúdo|uso)|normativa sui contenuti|политик\w* (?:контент|использован)\w*"),
)  # fmt: skip

LONG_CONTEXT_TIER = (
    Rule(Label.LONG_CONTEXT_TIER, "Extra usage is required for long context requests.", near(r"extra usage|usage credits?|\bcredits\b", r"long[ -]context")),
    Rule(Label.LONG_CONTEXT_TIER, "You're out of extra usage", r"out of extra usage", seen="anthropic"),
    Rule(Label.LONG_CONTEXT_TIER, "The long context beta is not yet available for this subscription.", near(r"long[ -]context(?: beta)?|context-1m\S*|1m context", r"not (?:yet )?(?:available|enabled|included|supported)|requires? (?:a |an )?(?:tier|plan|upgrade|higher)|incompatible")),
)  # fmt: skip

IMAGE_TOO_LARGE = (
    Rule(Label.IMAGE_TOO_LARGE, '{"code": "image_too_large"}', code=r"image_(?:too_large|size_exceeded|dimensions?_exceeded)|max_image_size_exceeded"),
    Rule(Label.IMAGE_TOO_LARGE, "image exceeds 8 MB maximum", near(_IMAGE, EXCEEDS + rf"|max(?:imum)? allowed (?:size|dimension)|{_BYTES}.{{0,30}}(?:limit|max)|pixels?\b.{{0,20}}(?:limit|max)|(?:smaller|less|under|below|lower)(?: than)? {_BYTES}", 90), unless=rf"(?:at most|no more than|up to|maximum of|more than|limit of|exceeds?) {NUMBER} (?:\w+ )?(?:images?|pictures?)|too many (?:\w+ )?(?:images|pictures)|(?:number|count) of (?:\w+ )?(?:images|pictures)|image count|{NUMBER} images|\burls?\b.{{0,40}}(?:long|length|character)|images? tokens?|tokens? of image|{TOKENS}(?! per image)"),
)  # fmt: skip

OUTPUT_CAP = (
    Rule(Label.OUTPUT_CAP, "Range of max_tokens should be [1, 7168]", then(r"range (?:of|for)", OUTPUT, r"\[ ?\d", span=30) + "|" + then(OUTPUT, r"(?:range|between|interval)", r"\d", span=40) + "|" + then(OUTPUT, r"(?:必须在|应在|需在|maximum|max) ?\d", span=8)),
    Rule(Label.OUTPUT_CAP, "max_tokens is too large: 70000. This model supports at most 32000 completion tokens", then(OUTPUT, r"(?:too (?:large|high|big)|exceeds? |exceeding|is over|is above|greater than|higher than|larger than|must be (?:<=?|less than|at most|no more|smaller|lower)|should be (?:<=?|less than|at most)|cannot (?:exceed|be (?:greater|larger|more|above|over|higher))|must not exceed|may not exceed|(?:is |are )?more than|(?:is |are )?beyond|out of range|can(?:'t|not) exceed|取值|范围|範囲|以下|≤|men[oe]r (?:o|ou|que)|inférieur|minore|kleiner|меньше|limited to|above (?:the )?(?:max\w*|limit|allowed)|dépass\w*|exced\w*|überschr\w*|überst\w*|supera\w*|превыш\w*|不能超过|超过|超出|最大|大きすぎ|초과|höchstens|nicht (?:größer|mehr)|au (?:plus|maximum)|como máximo|no máximo|al massimo|не (?:более|больше)|ensure this value is less than|(?:input|value) should be less than)", span=50), unless=_SUM + r"|input length|inputs?[_ ](?:tokens|and)|prompt|inputs\b|context (?:length|limit|size)|(?:exceeds?|would exceed) (?:the |model )*context|max_model_len|max_total_tokens|got -|thinking|reasoning|than max_|budget_tokens|greater than (?:0|zero|or equal|min)"),
    Rule(Label.OUTPUT_CAP, "max_tokens must be less than or equal to 8100, the maximum is less than the context_window for this model", then(r"max_(?:completion_)?tokens", r"must be less than or equal to", span=20), unless=r"prompt|input|\+"),
    Rule(Label.OUTPUT_CAP, "max_tokens: 90000 > 32000, which is the maximum allowed number of output tokens", r"max(?:imum)? (?:allowed )?(?:number of )?(?:output|completion|new|generated) (?:tokens|length)|(?:output|completion) tokens? limit (?:exceeded|of|is)|generates? (?:at most|up to|no more than) \d[\d,]* tokens|tokens per (?:response|completion|answer)|max(?:imum)? output (?:tokens|length|limit)|model output limit|(?:max(?:imum)?|largest) output\b (?:of|for|is)|(?:completion|generation|response|output) length.{0,20}exceed", unless=_SUM + r"|input (?:length|and)|prompt|context (?:length|limit|size|window (?:limit|of|size|is))|input tokens"),
    Rule(Label.OUTPUT_CAP, "The maximum tokens you requested exceeds the model limit of 8100", r"max(?:imum)? tokens (?:you )?(?:requested|value|setting)|max(?:imum)? tokens value", unless=_SUM + r"|prompt|input|context"),
    Rule(Label.OUTPUT_CAP, "supports at most 4000 completion tokens", r"supports? (?:at most|up to|only|a maximum of) \d[\d,]* (?:completion|output|new|generated) tokens", unless=_SUM + r"|prompt|context (?:length|limit|size)"),
    Rule(Label.OUTPUT_CAP, "This model can return a maximum of 4000 tokens", r"(?:can|will|may) output (?:only |up to |at most )?\d|\boutputs?\b[^\n]{0,20}(?:at most|up to|limited to|no more than)[^\n]{0,8}\d|(?:can|will|may) (?:only )?(?:return|generate|produce|output|emit|write) (?:at most |up to |no more than |only |(?:a )?max\w*(?: of)? )+\d|tokens? (?:requested |asked |wanted )?(?:for|to be) (?:generat\w+|the (?:completion|output|response|answer))", unless=_SUM + r"|\binputs?\b|prompt|context|messages"),
    Rule(Label.OUTPUT_CAP, "max_new_tokens (9000) > allowed 8000", rf"(?:{OUTPUT}) ?[=:(]? ?{NUMBER}\)? ?>=? ?(?:\w+ )?{NUMBER}|(?:output|completion|new) tokens? limit[^\n]{{0,24}}(?:is|of|:) ?\d|ausgabelänge[^\n]{{0,20}}\d|{NUMBER} (?:output|completion|new) tokens.{{0,40}}(?:allow|only|support|limit|max|at most|cap)", unless=_SUM + r"|\binput|prompt|context|max_(?:model|seq|total)|\bctx|messages|got -|budget|thinking|at least"),
    Rule(Label.OUTPUT_CAP, "response length limit of 2000 tokens exceeded", r"(?:response|answer|output|reply|completion|generation) (?:length|size|tokens?) (?:limit|max\w*)", unless=_SUM + r"|\binput|prompt|context|messages"),
    Rule(Label.OUTPUT_CAP, "输出 token 限制", r"输出.{0,12}(?:限制|上限|超)|(?:限制|上限).{0,8}输出", unless=r"输入"),
)  # fmt: skip

STRUCTURE = (
    Rule(Label.INVALID_REQUEST_OTHER, "messages with role 'tool' must be a response to a preceding message with 'tool_calls'", r"role '?\"?(?:tool|function)'?\"?.{0,40}(?:must|should|has to) |preceed?ing message with|preceding assistant|must be followed by tool|tool_call_ids? (?:did|do|does|was|were)|no tool (?:call|output|response|result)s? found|tool_use.{0,60}(?:without|must|unexpected|each)|tool_result.{0,60}(?:without|must|unexpected|each|corresponding)|tool_calls?.{0,60}(?:must be followed|without|not followed|missing|unanswered|insufficient)|insufficient tool messages|function (?:response|call) parts|function call turn|tool (?:call|message|result)s? .{0,40}(?:without|mismatch|not match|orphan|unmatched|no matching|not found)", structure=True),
    Rule(Label.INVALID_REQUEST_OTHER, "Conversation roles must alternate user/assistant", r"\balternat\w+|(?:consecutive|successive|same) (?:user|assistant|roles?)|roles? must|first (?:non-system )?message must|last message must|must (?:start|begin|end) with (?:a |an )?(?:user|assistant|system)|expected last role|incorrect role|unexpected role|system (?:message|prompt)s? (?:must|may|can|should)\b(?!.{0,20}(?:exceed|too))|only .{0,20}system message|assistant message (?:prefill|must)|交替", structure=True),
    Rule(Label.INVALID_REQUEST_OTHER, "thinking blocks in the latest assistant message cannot be modified", r"(?:thinking|reasoning|redacted_thinking)[ _-](?:blocks?|content|signature|items?)|invalid.{0,20}signature|thought_?signature|expected thinking|without its required|encrypted[_ ]content|cannot be modified", unless=r"\bjwt\b|invalid token|token signature", structure=True),
    Rule(Label.INVALID_REQUEST_OTHER, "messages.3: text content blocks must be non-empty", r"must (?:be|have|contain) non-?empty|(?:content|text|message)s? (?:is|are|must not be|cannot be|can't be|should not be) empty|empty (?:content|messages?)\b|at least one message|no user (?:query|message)|text is not set|contents? (?:is|are) required|must not be empty|final assistant content", structure=True),
)  # fmt: skip

PARAMETER = (
    Rule(Label.INVALID_REQUEST_OTHER, "Unsupported parameter: 'max_tokens' is not supported with this model.", r"(?:unsupported|unknown|unrecognized|unexpected|invalid|illegal|extra) (?:parameters?|arguments?|fields?|keyword|key\b|request field|value for|type for|json)|(?:is|are) not (?:an? )?(?:supported|permitted|allowed|available|recogni[sz]ed|known|valid (?:option|field|parameter|argument))\b|does ?n[o']t (?:support|exist)|extra (?:inputs|fields) (?:are )?not permitted", unless=rf"{CONTEXT}.{{0,40}}{EXCEEDS}|maximum context|range of input|<400>|{TOKENS}.{{0,60}}exceed|exceed.{{0,60}}{TOKENS}|request contains|too long"),
    Rule(Label.INVALID_REQUEST_OTHER, '{"code": "string_above_max_length"}', code=r"(?:string|array|object)_(?:above|below)_(?:max|min)_length|integer_(?:above|below)_\w+|decimal_(?:above|below)_\w+|unsupported_(?:parameter|value)|unknown_parameter|invalid_type|model_not_found|missing_required_parameter|count_token_failed"),
    Rule(Label.INVALID_REQUEST_OTHER, "max_tokens must be greater than thinking.budget_tokens", r"budget_tokens|thinking[ _.]budget|thinkingbudget|cache_control|must be at least 16\b"),
    Rule(Label.INVALID_REQUEST_OTHER, "2 validation errors for Request: input_value='…'", r"validation errors? for|input_value=|input_type=|errors\.pydantic|json ?decode ?error|failed to parse|expected (?:a |an )?(?:string|array|object|list|integer|boolean|value)\b|invalid type|is not a valid|should have at (?:most|least)|ensure this value|must match pattern|grammar|json ?schema"),
    Rule(Label.INVALID_REQUEST_OTHER, "Function description is too long, at most 512 characters", near(_FIELD, EXCEEDS + r"|at most|maximum|longest", 60), unless=rf"{CONTEXT}|prompt|{TOKENS}|(?<!invalid )\binputs?\b|conversation|history|too many requests|tool results?|quota|rate limit|per minute|balance|time-?out|deadline|payload"),
    Rule(Label.INVALID_REQUEST_OTHER, "Input should be greater than or equal to 1", r"input should be|greater than or equal to \d{1,2}\b|batch size|query param|\b(?:top_)?logprobs\b", unless=TOKENS + "(?! than allowed)"),
    Rule(Label.INVALID_REQUEST_OTHER, "Model context window too small (minimum is 9000 tokens)", near(CONTEXT, r"too small|minimum", 40) + r"|reduce .{0,12}num_ctx"),
    Rule(Label.INVALID_REQUEST_OTHER, "At most 3 image(s) may be provided in one prompt", rf"(?:at most|maximum of|up to|more than|limit of|limited to|over) {NUMBER} (?:\w+ )?(?:images?|pictures|videos?|audios?|pdf|pages|documents|files|tools|functions|stop|blocks|cache|sequences|attachments|parts|items)|image count|too many (?:images|files|tools|functions|documents|pages|attachments|stop)"),
    Rule(Label.INVALID_REQUEST_OTHER, "best_of exceeds the limit of 20 sequences", near(r"\bbatch(?:es)?\b|per[ -]batch|(?<!_)(?<!position )embeddings?\b|re-?rank\w*|best_of|\bn times\b|\bn:|bad_words|\bstop[ _](?:sequences?|words?|strings?|tokens?)|\btruncate_prompt\w*|truncation size|per file|file_search|\blora\w*|\badapters?\b|draft model|logit_bias|number of (?:\w+ )?(?:images?|pictures?|files?|tools?|documents?|pages|parts|attachments|functions|choices|prompts)", EXCEEDS + r"|\bexceeds?\b|at most|max\w*|limit\w*|must|may not|shorter|fewer|<=", 80), unless=rf"{CONTEXT}.{{0,40}}{EXCEEDS}|{EXCEEDS}.{{0,40}}(?:context|window)|maximum context|too many requests|(?<!invalid )\binputs?\b|quota|rate limit|per minute|reduce the (?:length|size)"),
    Rule(Label.INVALID_REQUEST_OTHER, "the label is longer than 100 characters", near(r"(?<![\d,.])\d{1,3} (?:characters|chars|letters|bytes|words|字符|文字)(?![a-z])", EXCEEDS + r"|at most|max\w*|limit\w*|up to", 60), unless=TOKENS + r"|\btoken\b"),
    Rule(Label.INVALID_REQUEST_OTHER, "array is too long: 3000 items", r"\b(?:arrays?|lists?)\b.{0,30}(?:too (?:long|large|big)|exceed\w*|at most|max\w*|longer)|too many (?:items|elements|entries|strings|rows|keys|values|choices)|max\w* number of (?:inputs|texts|documents|strings|items)|(?:at most|maximum of|up to|more than|limit of|exceeds?) \d[\d,]* (?:items|elements|entries|keys|values|rows|choices|inputs)\b", unless=TOKENS),
    Rule(Label.INVALID_REQUEST_OTHER, "voice prompt longer than 30 s", near(r"\btts\b|\bspeech\b|\bvoice\b|\baudio\b|\btranscriptions?\b", EXCEEDS + r"|at most|max(?:imum)?\b|limit\w*", 80), unless=rf"{CONTEXT}|{TOKENS}|rate limit|per minute|quota"),
    Rule(Label.INVALID_REQUEST_OTHER, "context must be a list of integers", r"(?:must|should|has to|needs to) be (?:(?:an?|the) (?:\w+ )?(?:arrays?|lists?|objects?|strings?|integers?|numbers?|booleans?|floats?|dict\w*|uuid|enum|power|multiple)\b|one of|either|true|false|null|of type|'[a-z_]+')|field required|\b(?:is|are) required\b|vocabulary range", unless=rf"{NUMBER} ?tokens|exceed|too (?:long|large|big)|quota|subscription|api[ _-]?key|credential|authenti|token (?:is|are) required|extra usage"),
    Rule(Label.INVALID_REQUEST_OTHER, "the model gpt-9-32k was not found", r"\bmodels?\b.{0,40}(?:not found|not exist|unknown|no longer available|is not available|deprecated)|no such model|unknown model", unless=rf"{EXCEEDS}|api[ _-]?key"),
    Rule(Label.INVALID_REQUEST_OTHER, "no endpoints available matching your data policy", r"no (?:endpoints?|available (?:channel|provider)|providers?) (?:available|found|matching)|model (?:identifier|name|id)? ?(?:is )?(?:invalid|not found|not exist|not supported|unknown)|does not exist|multimodal data provided|not_found_error|invalid chat setting"),
)  # fmt: skip

BILLING_CODES = (
    Rule(Label.BILLING_QUOTA, "402: whatever it says", status=402),
    Rule(Label.BILLING_QUOTA, '{"code": "insufficient_quota"}', code=r"insufficient_(?:user_|account_)?(?:quota|balance|funds|credits?)|pre_consume_token_quota_failed|billing_\w+|freeusagelimiterror|usage_?limit_?(?:reached|exceeded|error)|quota_not_enough|arrearage|invalidsubscription|accountoverdue\w*|credits?_exhausted|payment_required|account_deactivated|1113|1308|1309|1310|1311|1112|30001"),
    Rule(Label.BILLING_QUOTA, "[1309][Your package has expired]", r"^\[13(?:08|09|10|11)\]", seen="zhipu"),
)  # fmt: skip

RATE_LIMIT = (
    Rule(Label.RATE_LIMIT, '{"code": "rate_limit_exceeded"}', code=r"rate_?limit\w*|too_?many_?requests\w*|resource_?exhausted|throttl\w*|throttling\w*|tpm_\w+|rpm_\w+|tokens?_per_\w+|1302|1303|1304|concurrency_\w+|limit_requests|request_limit_exceeded|modelarts\.81101"),
    Rule(Label.RATE_LIMIT, "tokens per min (TPM): Limit 9000, Requested 12000", r"(?:rolling|sliding)[ -](?:\w+[ -]){0,2}(?:window|limit)|(?:requests?|calls?|tokens|prompts?|rate|quota)\b[^\n]{0,50}\d[ -]?(?:s|sec|second|min|minute|hour|day)s?[ -]window|window of \d+ ?(?:s|sec|min|h)\w*|\b(?:rate|throughput) (?:limit )?(?:exceeded|reached)|(?:tokens?|requests?|calls?|input tokens|output tokens)[ -]per[ -](?:min|day|sec|hour|month)\w*|\b(?:i|o)?tpm\b|\btpd\b|\brpm\b|\brpd\b|per[ -](?:minute|day|hour|second)\b|/ ?(?:min|minute|day|hour)\b|(?:this|in one|within one|each|per|every|last|current) (?:minute|hour)|每分钟|每小时|每天|分あたり|분당|pro minute|par minute|por minuto"),
    Rule(Label.RATE_LIMIT, "Rate limit exceeded, please retry after 20 seconds", r"rate[ -]?limit|throttl\w+|too many (?:concurrent )?requests|slow down|please wait before|retry after \d|try again in \d|concurren(?:t|cy) (?:requests?|limit|connections?|conversations?|sessions?|calls|generations?|users?|sequences?|streams?)|requests? (?:limit|quota) (?:reached|exceeded)|resource (?:has been )?exhausted|请求过于频繁|请求频率|频率限制|限流|速率|并发|レート制限|요청 한도|ratenlimit|zu viele anfragen|limite de (?:débit|requêtes|velocidad|tasa)|demasiadas solicitudes"),
)  # fmt: skip

BILLING = (
    Rule(Label.BILLING_QUOTA, "Your credit balance is too low", r"credit balance|(?:\d ?(?:usd|eur|cny|dollars?|cents?|yuan)\b|[$€¥£] ?\d|\d ?[$€£元])|may spend|\ballotment\b|tokens? (?:left|remaining) (?:in|on|for)|please subscribe|(?:subscribe|upgrade) to (?:send|use|get|unlock|continue|increase|access)|(?:no|insufficient|not enough|without) (?:remaining |available )?(?:quota|balance|credits?|funds)|insufficient (?:account )?(?:balance|credits?|funds|quota)|(?:out of|more|no|not enough|remaining) credits|\bbilling\b|payment (?:required|method|failed)|can only afford|account balance|balance (?:is )?(?:too low|insufficient|not enough|exhausted)|(?:exceeds?|exceeded|over) your remaining|top up|recharge|(?:trial|plan|subscription|package) includes|prepaid|overdue|arrears", unless=r"console\.\S+/billing(?!.*balance)"),
    Rule(Label.BILLING_QUOTA, '{"code": "token_quota_exceeded"}', code=r"\w*(?:quota|budget|credits?|spend(?:ing)?|usage)_?(?:limit_?)?(?:exceeded|reached|exhausted)\w*"),
    Rule(Label.BILLING_QUOTA, "Monthly token budget exceeded", r"(?:weekly|monthly|daily)\b.{0,30}(?:exhausted|used up)|(?:budget|quota|spend(?:ing)?(?: limit)?|allowance|usage limit|usage cap|hard limit|free (?:tier|trial|usage))\b.{0,50}(?:exceeded|exhausted|reached|used up|depleted|expired)|(?:exceed(?:ed|s)?|exhausted|reached|used up|hit|over|used all|depleted).{0,50}\b(?:budget|quota|spend(?:ing)? limit|allowance|usage limit|usage cap|free (?:tier|trial)|monthly limit)|(?:weekly|monthly|daily|yearly)(?:/\w+)? (?:token |usage |spend )*(?:limit|quota|budget|cap)|limit exhausted|(?:exceed\w*|limit|reached).{0,60}\b(?:free|current|your|this|basic|starter|trial) (?:\w+ )?plan\b", unless=r"context (?:budget|quota)|budget exceeded: prompt"),
    Rule(Label.BILLING_QUOTA, "your subscription has expired", r"(?:subscription|package|membership|plan\b).{0,60}(?:expired|not (?:yet )?include|required|inactive|cancel|invalid|upgrade)|(?:no|not have a|valid|require[sd]?|active) (?:valid |active |an? )?(?:\w+ ){0,3}(?:subscription|plan)\b|upgrade (?:your|to a) (?:\w+ )?plan"),
    Rule(Label.BILLING_QUOTA, "该令牌额度已用尽", r"(?:免费|令牌|token|额度).{0,8}(?:用完|用尽|用光)|额度|限额|余额|餘額|欠费|充值|配额|套餐|残高|クレジット|クォータ|잔액|크레딧|guthaben|kontingent|solde insuffisant|\bsaldo\b"),
)  # fmt: skip

OVERLOADED_503 = (
    Rule(
        Label.OVERLOADED_5XX,
        "Model is overloaded, too many requests in queue",
        r"overload\w*|queue|capacity|concurren\w+|try (?:again )?later|(?:is|still|currently) (?:being )?(?:load|warm|start)\w*|not (?:yet )?ready",
        status=503,
    ),
)

OVERLOADED = (
    Rule(Label.OVERLOADED_5XX, '{"type": "overloaded_error"}', code=r"overloaded(?:_error)?|service_?unavailable\w*|server_?overloaded|no_kv_space|1305|engine_overloaded\w*|model_?not_?ready\w*|modelnotready\w*|timeout|request_timeout|gateway_timeout|deadline_exceeded"),
    Rule(Label.OVERLOADED_5XX, "The engine is currently overloaded", r"overload\w*|service (?:is )?(?:temporarily )?unavailable|temporarily unavailable|no_kv_space|(?:at|over) capacity|server (?:is )?busy|繁忙|过载|稍后(?:再试|重试)(?<=负载)|upstream request failed|upstream (?:error|connect)|bad gateway|gateway time-?out|model (?:is )?(?:loading|not ready|warming)|runner (?:crashed|has unexpectedly|process)", unless=rf"entity too large|{PROMPT}.{{0,40}}{EXCEEDS}"),
    Rule(Label.OVERLOADED_5XX, "not enough GPU memory for this context size", near(r"\b(?:memory|v?ram)\b|memory limit", r"\b(?:gpu|cuda|vram|system|available|device|host|free|insufficient|not enough|allocat\w+|requires? more|out of|needed|limit reached)\b", 60) + r"|failed to (?:allocate|create)|allocation (?:failed|error)|cannot (?:allocate|create)|no (?:free |available )?(?:kv )?(?:cache )?blocks", unless=r"(?:prompt|input|request)\b.{0,30}(?:\bfit|exceed|too (?:long|large|big))"),
    Rule(Label.OVERLOADED_5XX, "504: a gateway that waited too long", status=504, unless=r"context_length_exceeded|maximum context|context (?:length|window)|prompt is too long"),
    Rule(Label.OVERLOADED_5XX, "no slot available, all slots are in use", r"preempt\w*|no (?:\w+ )?(?:workers?|replicas?|instances?|gpus?|engines?) (?:is |are )?(?:\w+ )?(?:free|available|ready)|\ball (?:\w+ )?busy|\bslots?\b.{0,60}(?:busy|in use|occupied|taken)|no (?:free |idle )?slots? (?:is |are )?available"),
    Rule(Label.OVERLOADED_5XX, "processing exceeded the time limit", near(r"request|generati\w+|process\w*|evaluation|inference|pre-?fill|decod\w+|comput\w+|execution|response|answer", r"(?:exceed\w*|past|reached|hit|longer than|more than)[^\n]{0,20}(?:\d ?(?:s|ms|sec|min)\b|seconds?\b|minutes?\b|time (?:limit|budget|allowed)|max\w* (?:duration|time|runtime))", 60)),
    Rule(Label.OVERLOADED_5XX, "context deadline exceeded", r"deadline exceeded|(?:max\w*|number of|too many) (?:retries|attempts|hops)|recursion|stack overflow|timed? ?out\b|timeout\b|took too long|context cancel\w+|out of memory|cuda error|kv[ _]cache (?:pool )?(?:is )?(?:full|exhausted)|kv[ _]cache pool|\boom\b|outofmemory|connection (?:reset|refused|closed|error)|(?:engine|worker|backend|process|core) (?:core )?(?:has )?(?:died|crashed|is dead|exited|terminated|was killed)|超时"),
)  # fmt: skip

AUTH = (
    Rule(Label.AUTH, '{"code": "invalid_api_key"}', code=r"invalid_?api_?key|authentication_error|permission_?(?:error|denied)\w*|unauthorized|unauthenticated|invalid_?token|token_?expired|access_?denied\w*|forbidden|invalid_authentication\w*"),
    Rule(Label.AUTH, "Incorrect API key provided", r"(?:api[ _-]?key|access[ _-]?token|auth\w*[ _-]token|bearer|credentials?|session token|secret key|\bjwt\b).{0,50}(?:invalid|incorrect|expired|missing|malformed|not (?:found|valid|provided|have)|required|revoked|wrong|disabled|too long|exceed\w*)|\bre-?login\b|log ?in again|sign in again|header token|token header|(?:invalid|incorrect|expired|missing|no|wrong|unknown) (?:\w+ )?(?:api[ _-]?key|access[ _-]?token|auth\w* token|credentials?|bearer|token\b(?! count| limit| sequence| in\b| id))|unauthori[sz]ed|authenticat\w+ (?:failed|error|required)|permission denied|not authori[sz]ed|令牌.{0,10}(?:过期|无效|失效|不存在)|(?:无效|未提供|过期).{0,6}令牌|(?:^|the |your )token (?:has )?(?:expired|exceeded its|been revoked|is invalid)"),
)  # fmt: skip

PAYLOAD_BYTES = (
    Rule(Label.PAYLOAD_TOO_LARGE, "Request payload size exceeds the limit: 30000 bytes", near(rf"(?:{REQUEST}|{PROMPT}|entity|upload|content|data|attachment|file)", near(EXCEEDS + "|max|limit", _BYTES, 80), 60), unless=rf"{NUMBER} {TOKENS}"),
    Rule(Label.PAYLOAD_TOO_LARGE, "Sent message larger than max (40000000 vs. 4194304)", r"(?:sent|received|send|receive) message larger than max|request buffer limit|max bytes to buffer|databufferlimit|upload limit|client_max_body_size|\b(?:message|request|json|http|post) body.{0,20}(?:larger|bigger|exceed\w*|too (?:large|big))|max[_ ]?body[_ ]?size|content[- ]length.{0,30}exceed|message size.{0,20}(?:exceed|larger)", unless=TOKENS),
    Rule(Label.PAYLOAD_TOO_LARGE, "Chat history exceeds the 500-message limit", rf"{NUMBER}[ -]messages? limit|too many messages|messages? count|(?:number of messages|message count|messages? array).{{0,40}}(?:{EXCEEDS}|maximum)|(?:at most|maximum of|up to|more than) {NUMBER} messages|(?:has|have|contains?|holds?|with|got|sent) {NUMBER} messages.{{0,20}}(?:at most|limit|max|allowed|more than)|消息(?:数量|条数)", unless=TOKENS + r"|\bindex\b"),
)  # fmt: skip

PAYLOAD = (
    Rule(Label.PAYLOAD_TOO_LARGE, '{"type": "request_too_large"}', code=r"request_too_large|payload_?too_?large\w*|(?:request_)?entity_?too_?large|content_too_large|body_too_large|request_size_exceeded|function_payload_too_large"),
    Rule(Label.PAYLOAD_TOO_LARGE, "413 Request Entity Too Large", rf"(?:request|payload|entity|body|content|message|upload|post)(?:[ _]\w+){{0,3}}[ _](?:{EXCEEDS})|(?:{EXCEEDS}).{{0,40}}(?:payload|body|request size|request limit|upload)|请求体.{{0,10}}(?:过大|太大|超)", unless=rf"{TOKENS}"),
    Rule(Label.PAYLOAD_TOO_LARGE, "413: whatever it says", status=413),
)  # fmt: skip
