"""
The vocabulary of the rules: noun and verb families in the languages that providers write, and how to join them.

Every pattern here matches folded text with one sentence a line (see ``normalise.sentences``).
"""

from __future__ import annotations

# The context window by its full name, so that no other context of a program is meant.
WINDOW = (
    r"(?:(?:context(?:ual)?|prompt|(?:model|max(?:imum)?) (?:context|sequence|input))[ _-]?(?:window|length|size|limit|capacity|budget|space)"
    r"|\bn_?ctx\w*|\bctx\b(?!->)|max_(?:model|seq(?:uence)?|input|prompt|context|total)_?(?:len\w*|tokens|size|num_tokens)|(?:context|seq(?:uence)?|prompt)_len\w*|max_position_embeddings|session_len"
    r"|(?:sequence|model|prompt|input)[ _]length|kv[ _-]?cache|上下文|コンテキスト|文脈長|컨텍스트|문맥|kontext(?:fenster|länge|limit|größe)\w*|(?:fenêtre|longueur|limite|taille) d[eu] contexte|(?:ventana|longitud|límite|janela|limite|tamanho) d[eo]l? contexto|окн\w* контекст\w*)"
)
# What has a limit, and is by its name about the context window.
CONTEXT = (
    r"(?:(?<!execution )(?<!security )(?<!ssl )(?<!id )(?<!request )context(?:ual)?(?![ _](?:deadline|cancel|was cancel|manage|manager|cach|compress|was destroyed|type|ids?\b|param|object|field))"
    r"(?:[ _-]?(?:window|length|size|limit|capacity|budget|space))?"
    r"|\bn_?ctx\w*|\bctx\b(?!->)|\bctx_\w+|\bn_positions\b|max_(?:model|seq(?:uence)?|input|prompt|context|total)_?(?:len\w*|tokens|size|num_tokens)|(?:context|seq(?:uence)?|prompt)_len\w*|max_position_embeddings|session_len"
    r"|(?:sequence|model|prompt|input)[ _]length|kv[ _-]?cache"
    r"|上下文|コンテキスト|文脈長|컨텍스트|문맥|kontek\w*|kontext\w*|contexte\b|contexto\b|contesto\b|contextvenster|контекст\w*|\bbağlam\w*|ngữ cảnh|سياق|בהקשר|ההקשר|संदर्भ|บริบท)"
)
# What the client sends that can be too long.
PROMPT = (
    r"(?:(?<![a-z_])(?:prompts?|inputs?)(?![a-z_])(?! validation)|(?<!error )(?<!status )(?<!control )(?<!commit )\bmessages?\b|\bconversations?\b|\bhistory\b|\bdialog(?:ue)?s?\b|\btranscript\b"
    r"|\bchat\b|(?<!stop )(?<!escape )(?<!byte )(?<!character )(?<!key )\bsequences?\b|\bquery\b|\bthread\b"
    r"|提示词|提示詞|输入|輸入|对话|對話|历史|歷史|消息|会话|會話|内容|入力|プロンプト|会話|履歴|メッセージ|입력|프롬프트|대화|메시지"
    r"|\beingaben?\b|\banfrage\b|\bunterhaltung\b|\bgespräch\b|\bverlauf\b|\bentrées?\b|\bentrada\b|\bmensajes?\b|\brequête\b|\bconversación\b|\bl'invite\b|запрос\w*|\binvoer\w*|\bgirdi\w*|\bistem\b|\bwejści\w*|\bpermintaan\b|\bpercakapan\b|hội thoại|đầu vào|الإدخال|المحادثة|\bsolicitação\b|\bpedido\b|\bconversa\b|\bmensagens\b|\brichiesta\b|\bconversazione\b|\bmessaggi\b|\brozmow\w*|\bsohbet\w*|\bkonuşma\w*|\bsamtal\w*|\bgesprek\w*|\bkonverzac\w*|\bkeskustelu\w*|beszélgetés\w*|บทสนทนา|trò chuyện|розмов\w*|ввод\w*|сообщени\w*|диалог\w*|истори[яию]|संदेश|प्रॉम्प्ट|इनपुट|बातचीत|השיחה|ההודעה|گفتگو|συνομιλία|\bhist[óo]ric[oa]\b|\bhistorial\b|\bhistorique\b|\b\w+verlauf\b|\bzapytani\w*|\bgeschiedenis\b|\bmesaj\w*|\bkehote\w*)"
    r"(?![ _-](?:ids?|names?|keys?|templates?|titles?|labels?|types?|roles?|index|indices|variables?|groups?|counts?|batch\w*|queues?|processing|evaluation|cach\w+|parts?|blocks?|attachments?|costs?|fields?|retention|version|lines?|files?|bytes|channels?|buffers?|numbers?|signatures?|filters?|devices?|streams?|stack|headers?)\b)"
)
REQUEST = r"(?:\brequest(?:ed)?\b|\bpayload\b|\bbody\b|请求|請求|リクエスト|요청|\bsolicitud\b)"
TOKENS = r"(?:(?<![a-z_])tokens(?![a-z_])|\d ?k?[ -]?tokens?(?![a-z_])|(?<![a-z_])token(?:[ _-]?(?:counts?|limit|length|number|size|usage|total|max\w*|window|budget|sum)(?![a-z])| ?[数总限长个額额])|(?<=[个個数最大总的 ])token(?= ?[^a-z \d])|max(?:imum)? token(?![a-z])|(?<![a-z_])toks?(?![a-z_])|トークン|토큰|\bjetons?\b|词元|токен\w*|\btoken(?:ów|y|ach|lar\w*|i)\b|(?:invoer|eingabe|input|prompt)-?tokens?\b|رموز|الرموز|टोकन|โทเค็น)"
NUMBER = r"\d[\d,_]*(?:\.\d+)?(?: ?[km]\b)?"

# "Exceeds", "too long" in tongues that providers seldom write.
MORE_TONGUES = (
    r"(?:\baş(?:ıyor|tı|ıldı|an|mıştır|makta)\w*|çok (?:uzun|büyük|fazla)|przekr\w*"
    r"|zbyt (?:dług|duż)\w*|za dług\w*|melebihi|terlalu (?:panjang|besar|banyak)|overschr\w*|te (?:lang|groot|veel)\b|vượt\w*|quá (?:dài|lớn|nhiều|giới hạn)|تجاوز|يتجاوز|troppo (?:lung|grand)\w*|troppi\b|\bdemais\b|muito (?:long|grande)\w*|\bultrapass\w*|překr\w*|příliš|överskr\w*|overskr\w*|för (?:lång|stor|många)|ylitt\w*|túllép\w*|υπερβ\w*|เกิน|חורג|ארוך מדי|طويل جد|طولانی|बहुत (?:लंब|बड़)|liian (?:pitk|suur|mon)\w*|túl (?:hosszú|nagy|sok)|πολύ (?:μεγάλ|μακρ)\w*|prea (?:lung|mare|mult)\w*|depăș\w*|for (?:lang|langt|stor|stort|mange)\b)"
)
# More than is allowed.
EXCEEDS = (
    r"(?:exceed\w*+|too (?:long|large|big|many|much)|(?:longer|larger|bigger|greater|more|higher) than|overflow\w*|overrun\w*|beyond|surpass\w*"
    r"|(?:does|do|did|will|would|can|could)(?: not|n't) (?:\w+ )?(?:fit|hold|handle|accommodate)|(?:cannot|can't|unable to|not able to) (?:\w+ )?(?:fit|hold|handle|accommodate|process|take)|won't fit"
    r"|(?:ran|runs?) out of|outgr[eo]w\w*|insufficient|not enough|not large enough|past (?:the|its|position|what)\b|no (?:more )?(?:free )?(?:slots?|room|space)\b|(?:goes?|went|going|is|are|was|were|be) (?:over|above|past)|over (?:the|its|this) |over (?:model|token|context|ctx|max\w*|limit)|переполн\w*|заполнен\w*|débord\w*|desbord\w*|überlauf\w*|已满|满了|いっぱい|가득"
    r"|cannot (?:exceed|be (?:greater|larger|longer|more))|above (?:the )?(?:max\w*|limit|allowed)|\breached\b|over[- ]?length|oversized?|over[- ]limit"
    r"|大于|多于|高于|超出|超过|超過|超长|超長|过长|過長|过大|太长|太長|太大|太多|过多|溢出|超限|上限|不足|超え|オーバー|長すぎ|多すぎ|大きすぎ|초과|보다 ?(?:깁|길|큽|크|많)|너무 ?(?:길|많|큽|크)|넘"
    r"|überschr\w*|übersteig\w*|zu (?:lang|groß|viele|umfangreich|hoch)|dépass\w*|\btrop\b|excèd\w*|\bexced\w*|\bsupera\w*|\bsobrepas\w*|demasiad\w*|muy larg\w*|más (?:larg|grand)\w*|превыш\w*|слишком|перевищ\w*|занадто"
    rf"|{MORE_TONGUES})"
)
# What is allowed, stated.
ALLOWS = (
    r"(?:max(?:imum)?|limit(?:ed|s)?|up to|at most|no more than|(?:only |can )(?:accept|support|handle|take|process)s?|allow(?:s|ed)?|permit(?:s|ted)?|supports?|accepts?|must (?:be|not|have)|should (?:be|not|have)"
    r"|less than|<=|capacity|最大|最多|上限|限制|支持|以内|最大で|최대|höchstens|maximal\w*|máxim\w*|massim\w*|максим\w*|\bmaximale?\b|\bmaximum\w*|\bmaksim\w*|\bau plus\b|\ben fazla\b|\bpaling banyak\b|tối đa|najwyżej|maksymaln\w*|hooguit|legfeljebb|enintään|nejvýše|como mucho|tout au plus)"
)
SHORTEN = (
    r"(?:reduc\w*|shorten\w*|shorter|shrink\w*|compress(?:ing)?\b|compact(?:ing)?\b|trim\w*|truncat(?:e|ing|ion)\b|decreas\w*|condens\w*|\bcut (?:down|back)\b|split\w*|clear(?:ing)?|remove"
    r"|压缩|壓縮|缩短|縮短|减少|減少|精简|清理|短く|줄여|줄이|kürz\w*|réduis\w*|raccourc\w*|reduz\w*|acort\w*|сократ\w*|уменьш\w*|скорот\w*|skróć|verkort\w*|accorci\w*|riduc\w*|encurt\w*|kısalt\w*|rút ngắn|persingkat)"
)
# What the answer may have.
OUTPUT = (
    r"(?:max_tokens_to_sample|tokens_to_generate|max[_ ](?:completion[_ ]|new[_ ]|output[_ ]|gen[_ ])?(?:tokens|length)(?![a-z0-9_])|maxoutputtokens|maxtokens|max_gen_len|num_predict|(?:output|completion|new|generated) tokens?\b"
    r"|(?:output|response|answer|reply) (?:length|limit|size)|(?:completion|generation) length|(?:completion|output|response|generation) (?:token )?budget|输出|出力トークン|출력 토큰|\bausgabe(?:länge|-?tokens?|limit)|(?:tokens?|longueur|longitud) de (?:sortie|salida|saída))"
)


def near(first: str, second: str, span: int = 100) -> str:
    """
    Return a pattern for both within one sentence, in either order.
    """
    gap = rf"[^\n]{{0,{span}}}?"
    return rf"(?:(?:{first}){gap}(?:{second})|(?:{second}){gap}(?:{first}))"


def then(*patterns: str, span: int = 60) -> str:
    """
    Return a pattern for all of them in this order, within one sentence.
    """
    return rf"[^\n]{{0,{span}}}?".join(f"(?:{pattern})" for pattern in patterns)
