"""
Words that show what a sentence does: forbid, correct, postpone, decide, fail, replace.

English, Chinese and Japanese, with the commonest of German, French, Spanish, Portuguese. Cues only reorder and label;
what people wrote is kept without them too.
"""

from __future__ import annotations

import re


def _cue(english: str, other: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{english})\b|{other}", re.IGNORECASE)


CONSTRAINT = _cue(
    r"must(?:n't)?|never|always|do\s+not|don'?t|only|no\s+(?:more|less|fewer|longer)|at\s+(?:most|least)|without|avoid|refrain|"
    r"prefer\w*|rather|should(?:n't)?|need(?:s)?\s+to|required?|requirements?|make\s+sure|ensure|keep|stick\s+to|limit\w*|cap|"
    r"allowed|forbid(?:den)?|off[- ]limits|from\s+now\s+on|(?:I|we)(?:'d)?\s+(?:want|like|hate|love|dislike)|under\s+no|"
    r"has\s+to|have\s+to|shall|strictly|mandatory|insist|exactly|style|convention|policy|leave\s+\S+\s+(?:alone|untouched|as)|"
    r"muss|darf|nicht|immer|nie|bitte|toujours|jamais|doit|évite[rz]?|siempre|nunca|debe|evita|sempre|deve|evite",
    r"必须|必需|不要|不能|不得|不可|不准|禁止|务必|只能|只要|只用|始终|总是|永远|千万|勿|最多|最少|至少|至多|不超过|以内|优先|喜欢|偏好|讨厌|"
    r"希望|一定|要求|记住|注意|保持|避免|除非|别(?!的|人|处)|必ず|絶対|禁止|ないで|だけ|のみ|べき|方がい|ほうがい|好み|好き|嫌|常に|以下|以上|"
    r"なければ|避け|優先|守っ|厳守|限り",
)
CORRECTION = _cue(
    r"actually|instead|correction|corrected|wrong|mistake\w*|not\s+what|I\s+meant|meant|change[ds]?\s+(?:of|my|that|it|to)|scratch\s+that|"
    r"on\s+second\s+thought|sorry|no,|rather\s+than|replace[ds]?|switch(?:ed)?|update[ds]?|revert|misread|misspoke",
    r"其实|不对|更正|纠正|改成|改为|改用|换成|而不是|弄错|搞错|说错|错了|訂正|実は|ではなく|じゃなくて|間違|変更|やっぱり|修正",
)
PENDING = _cue(
    r"later|afterwards?|when\s+(?:you|we|that|this|it)|once|eventually|at\s+the\s+end|remind|don'?t\s+forget|still\s+need\w*|"
    r"follow[- ]?up|by\s+the\s+way|btw|when\s+done|next\s+up|after\s+(?:that|this|you|the|we)|at\s+some\s+point|before\s+(?:you|we)\s+"
    r"(?:finish|wrap|close|leave)|in\s+the\s+meantime|on\s+top\s+of\s+that|also|too|if\s+there'?s\s+time|queue|park|backlog|outstanding",
    r"之后|以后|然后|稍后|待会|回头|顺便|最后|别忘|记得|有空|下一步|完成后|后再|あとで|後で|その後|終わったら|ついでに|忘れずに|最後に|時間があれば|"
    r"次に|のちほど|それから",
)
DECISION = _cue(
    r"decided?|decision|chose(?:n)?|choose|choosing|going\s+with|go\s+with|opt(?:ed)?\s+for|settled\s+on|settle\s+on|we(?:'ll| will)\s+use|"
    r"(?:I|we)(?:'ll| will)\s+(?:use|keep|take|go)|agreed|conclu\w+|plan\s+is|approach|because|trade-?off|picked|selected|ruled\s+out|"
    r"rejected|therefore|root\s+cause|turns?\s+out|the\s+(?:reason|cause|fix|problem|issue)\s+(?:is|was)|entschieden|décidé|decidi\w+",
    r"决定|选择|选用|采用|确定|结论|因为|方案|原因|因此|所以|決定|決め|選択|選び|採用|結論|ため|理由|原因",
)
BLOCKED = _cue(
    r"blocked|stuck|cannot|can'?t|unable|waiting\s+(?:for|on)|failed\s+to|not\s+possible|no\s+access|permission\s+denied",
    r"受阻|无法|不能|卡住|等待|失败|できません|できない|ブロック|待ち|失敗",
)
DONE = _cue(
    r"done|fixed|implemented|added|created|updated|removed|renamed|wrote|completed|finished|passed|passes|works|deployed|merged|"
    r"committed|verified|confirmed|found|changed|moved|booked|cancelled|set",
    r"完成|已经|修复|添加|创建|更新|删除|通过|部署|确认|找到|完了|修正し|追加し|作成し|更新し|削除し|確認し|見つ",
)
FUTURE = _cue(
    r"next|now\s+I|I'll|I\s+will|let\s+me|going\s+to|we\s+need\s+to|remaining",
    r"接下来|下一步|现在我|我将|我会|次に|これから",
)
ERROR = _cue(
    r"(?:[A-Za-z.]*(?:Error|Exception))|error|exception|fail(?:ed|ure|s)?|fatal|panic(?:ked)?|traceback|denied|refused|timed?\s?out|"
    r"abort(?:ed)?|segfault|critical|undefined|unresolved|not\s+found|no\s+such|invalid|unexpected|mismatch|exit\s+(?:code|status)\s*:?\s*[1-9]\d*|"
    r"E\d{3,5}|warn(?:ing)?",
    r"错误|失败|异常|超时|拒绝|无效|エラー|例外|失敗|拒否|無効",
)
RESULT = _cue(
    r"total|result|summary|version|status|created|written|saved|id|url|listening|port|commit|branch|host|path|key|sum|hash|size|count|"
    r"returned|output|passed|finished|duration|build|deployed|ticket|order|account|user|owner|price|amount|date|phone|address|name",
    r"结果|总计|版本|状态|编号|地址|电话|价格|日期|端口|合計|結果|版|状態|番号|住所|電話|価格|日付|ポート",
)
UPDATE = _cue(
    r"now|instead|changed?|actually|updated?|no\s+longer|rather|from\s+\S+\s+to|bump(?:ed)?|raise[ds]?|lower(?:ed)?|moved?\s+to|switch(?:ed)?|"
    r"correction|replaced?|make\s+(?:it|that)|new|renamed|revised|not|set|increase[ds]?|reduce[ds]?|goes\s+to|became|becomes|as\s+of",
    r"改成|改为|改用|换成|现在|更新|变为|变成|调整|其实|不再|変更|今は|現在|更新|修正|ではなく|になりました|にする|に変え",
)
QUESTION = re.compile(r"[?？]\s*[\"'”」』)）]*\s*$|(?:吗|呢|么|か)[。?？]?\s*$")
SMALL_TALK = re.compile(
    r"(?:(?:ok(?:ay)?|thanks?(?: you)?|thx|yes|yep|sure|go on|continue|please|go ahead|great|perfect|good|nice|cool|proceed|next|"
    r"you'?re welcome|no problem|of course|好的?|嗯+|收到|谢谢|非常感谢|感谢|多谢|不用谢|不客气|没问题|继续|可以|你|您|了|吧|是的?|请|"
    r"はい|ありがとう(?:ございます)?|どういたしまして|続けて|ください|了解(?:です)?|お願いします)[\s.!,。！，、]*){1,5}",
    re.IGNORECASE,
)
EDIT_NAME = re.compile(
    r"write|edit|patch|create_file|replace|insert|apply|update_file|save|append|delete_file|move|rename|mkdir",
    re.IGNORECASE,
)
READ_NAME = re.compile(
    r"read|view|cat|open|get|list|show|fetch|search|find|grep|glob|status|query|lookup|describe", re.IGNORECASE
)
TODO_NAME = re.compile(r"todo|update_plan|task_?list|write_plan|set_plan|plan_?update", re.IGNORECASE)
