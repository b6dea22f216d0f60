"""
Texts of twenty kinds, built from a few sentences each, so that no file of anyone else is needed.
"""

import base64
import hashlib
import json
import random

_SENTENCES = {
    "english": [
        "The committee met on Thursday to discuss the proposed changes, but no agreement was reached.",
        "She wondered whether the old lighthouse would still be standing after so many winters.",
        "Most of the passengers had already left when the conductor noticed the forgotten suitcase.",
        "It's not that they don't care; they simply haven't been told what we're planning.",
        "A careful reader will notice that the second argument contradicts the first one entirely.",
        "Please restart the service after you have changed the configuration, then check the logs.",
    ],
    "german": [
        "Die Bundesregierung hat am Donnerstag einen neuen Gesetzentwurf zur Straßenverkehrsordnung vorgelegt.",
        "Könnten Sie mir bitte erklären, weshalb die Datenbankverbindung immer wieder abbricht?",
        "Außerdem müssen die Geschwindigkeitsbegrenzungen überprüft und gegebenenfalls angepasst werden.",
        "Früher wohnte meine Großmutter in einem kleinen Häuschen am Rande des Schwarzwaldes.",
    ],
    "chinese": [
        "委员会昨天下午开会讨论了新的预算方案,但是没有达成一致意见。",
        "请先检查一下配置文件,然后重新启动服务,看看问题是不是已经解决了。",
        "这座古老的城市有三千多年的历史,每年都吸引大量的游客前来参观。",
        "他说明天早上八点在火车站门口等我们,不要迟到。",
    ],
    "japanese": [
        "昨日の会議では新しい予算案について話し合いましたが、結論は出ませんでした。",
        "設定ファイルを確認してから、サービスを再起動してみてください。",
        "この町には古いお寺がたくさんあり、毎年多くの観光客が訪れます。",
        "データベースへの接続が何度も切れてしまう原因を調べています。",
    ],
    "korean": [
        "위원회는 어제 오후에 새로운 예산안을 논의했지만 합의에 이르지 못했습니다.",
        "설정 파일을 확인한 다음 서비스를 다시 시작해 주세요.",
        "이 도시는 오랜 역사를 가지고 있어서 해마다 많은 관광객이 찾아옵니다.",
        "데이터베이스 연결이 자꾸 끊어지는 이유를 찾고 있습니다.",
    ],
    "russian": [
        "Комитет собрался в четверг, чтобы обсудить предложенные изменения, но согласие не было достигнуто.",
        "Пожалуйста, перезапустите службу после изменения настроек и проверьте журналы.",
        "Старый маяк на берегу моря стоит здесь уже больше двухсот лет.",
        "Мы пытаемся понять, почему соединение с базой данных постоянно обрывается.",
    ],
    "greek": [
        "Η επιτροπή συνεδρίασε την Πέμπτη για να συζητήσει τις προτεινόμενες αλλαγές.",
        "Παρακαλώ επανεκκινήστε την υπηρεσία αφού αλλάξετε τις ρυθμίσεις.",
        "Ο παλιός φάρος στέκεται ακόμα δίπλα στη θάλασσα μετά από τόσους χειμώνες.",
    ],
    "arabic": [
        "اجتمعت اللجنة يوم الخميس لمناقشة التغييرات المقترحة ولكن لم يتم التوصل إلى اتفاق.",
        "يرجى إعادة تشغيل الخدمة بعد تغيير الإعدادات ثم التحقق من السجلات.",
        "تعذّر الاتصال بقاعدة البيانات، وسيُعاد تنفيذ الاستعلام تلقائيًا بعد بضع ثوانٍ.",
        "يُمكنكم تنزيل الملفّات المرفقة وتعديلها ثمّ رفعها مجدّدًا عبر لوحة التحكّم.",
        "هذه المدينة القديمة لها تاريخ طويل ويزورها كثير من السياح كل عام.",
    ],
    "hebrew": [
        "הוועדה התכנסה ביום חמישי כדי לדון בשינויים המוצעים אך לא הושגה הסכמה.",
        "נא להפעיל מחדש את השירות לאחר שינוי ההגדרות ולבדוק את היומנים.",
    ],
    "hindi": [
        "समिति ने गुरुवार को प्रस्तावित परिवर्तनों पर चर्चा की लेकिन कोई सहमति नहीं बन सकी।",
        "कृपया सेटिंग बदलने के बाद सेवा को फिर से शुरू करें और लॉग देखें।",
        "यह पुराना शहर अपने लंबे इतिहास के लिए जाना जाता है और हर साल बहुत से पर्यटक यहाँ आते हैं।",
    ],
    "thai": [
        "คณะกรรมการประชุมเมื่อวันพฤหัสบดีเพื่อหารือเกี่ยวกับการเปลี่ยนแปลงที่เสนอ",
        "โปรดเริ่มบริการใหม่หลังจากเปลี่ยนการตั้งค่าแล้วตรวจสอบบันทึก",
    ],
    "emoji": ["🎉🎊🥳", "👩‍💻 ships it 🚀", "❤️🧡💛💚💙💜", "🇩🇪🇫🇷🇯🇵", "🤷🏽‍♀️ 🙃", "👍🏿👎🏻"],
}

_PYTHON = [
    "def read_rows(path: Path, *, limit: int = 100) -> list[dict[str, Any]]:\n",
    '    """\n    Return the first rows of a file.\n    """\n',
    "    rows = [json.loads(line) for line in path.read_text().splitlines()[:limit]]\n",
    "    if not rows:\n        raise ValueError(f'{path} holds no rows')\n",
    "    return sorted(rows, key=lambda row: (row['created_at'], -row['size']))\n\n\n",
    "class RetryPolicy(Protocol):\n    max_attempts: int\n\n    async def wait(self, attempt: int) -> None: ...\n\n\n",
    "        self._client = httpx.AsyncClient(base_url=base_url, timeout=httpx.Timeout(10.0, read=None))\n",
]
_C = [
    "static int parse_header(const uint8_t *buf, size_t len, struct hdr *out)\n{\n",
    "\tif (len < sizeof(*out) || memcmp(buf, MAGIC, 4) != 0)\n\t\treturn -EINVAL;\n",
    "\tout->flags = le32_to_cpu(*(const __le32 *)(buf + 8)) & ~FLAG_RESERVED_MASK;\n",
    "#define MAX_SEGMENTS\t(1U << 12)\n#ifndef CONFIG_DEBUG_FS\n",
    "\tfor (i = 0; i < ARRAY_SIZE(table); i++) {\n\t\tspin_lock_irqsave(&table[i].lock, flags);\n\t}\n}\n\n",
]
_MINIFIED = [
    "function n(e,t){for(var r=0;r<t.length;r++){var o=t[r];o.enumerable=o.enumerable||!1,",
    "Object.defineProperty(e,o.key,o)}}var i=function(){return(i=Object.assign||function(e){return e}).apply(this,arguments)};",
    '!function(e,t){"object"==typeof exports?module.exports=t():e.App=t()}(this,(function(){"use strict";',
    "return void 0===a&&(a=[]),a.map((e=>e?.props?.children??null)).filter(Boolean)}",
]


def _sentences(kind: str, size: int) -> str:
    chance = random.Random(kind)
    text = ""
    while len(text) < size:
        text += chance.choice(_SENTENCES[kind]) + chance.choice([" ", " ", " ", "\n", "\n\n"])
    return text[:size]


def _pieces(pieces: list[str], size: int) -> str:
    chance = random.Random(len(pieces))
    text = ""
    while len(text) < size:
        text += chance.choice(pieces)
    return text[:size]


def _log(size: int) -> str:
    chance = random.Random(7)
    text = ""
    while len(text) < size:
        number = chance.randrange(10**6)
        text += f"2026-03-{chance.randrange(1, 29):02d}T{chance.randrange(24):02d}:{number % 60:02d}:07.{number:06d}Z "
        text += chance.choice(["INFO", "WARN", "ERROR"]) + f" worker-{number % 16} [req={number:08x}] "
        text += f"GET /api/v2/items/{number}?page={number % 9} {chance.choice([200, 404, 502])} {number % 977}ms\n"
    return text[:size]


def _rows(size: int) -> list[dict[str, object]]:
    chance = random.Random(11)
    return [
        {
            "id": f"ord_{chance.randrange(10**9)}",
            "customer_name": chance.choice(["Ada Byron", "Lin Chen", "Omar Haddad"]),
            "total": chance.randrange(10**5) / 100,
            "shipped": chance.random() < 0.5,
            "tags": ["gift", "express"],
            "address": {"city": "Lisbon", "postcode": str(chance.randrange(10**5))},
        }
        for _ in range(size // 100)
    ]


def _bytes(size: int) -> bytes:
    return b"".join(hashlib.sha256(b"%d" % n).digest() for n in range(size // 32 + 1))


def texts(size: int) -> dict[str, str]:
    """
    Return one text of each kind, about *size* characters long.
    """
    raw = _bytes(size)
    built = {kind: _sentences(kind, size) for kind in _SENTENCES}
    encoded = base64.b64encode(raw).decode()
    built |= {
        "python": _pieces(_PYTHON, size),
        "c": _pieces(_C, size),
        "minified": _pieces(_MINIFIED, size),
        "log": _log(size),
        "json": json.dumps(_rows(size), indent=2)[:size],
        "json compact": json.dumps(_rows(size), separators=(",", ":"))[:size],
        "base64": "\n".join(encoded[i : i + 76] for i in range(0, len(encoded), 76))[:size],
        "hex": raw.hex()[:size],
        "uuids": "\n".join(raw[i : i + 16].hex("-", 2) for i in range(0, len(raw), 16))[:size],
        "table": "\n".join(
            f"-rw-r--r--  1 root wheel {n * 7919:>9} Mar {n % 28:>2} 10:{n % 60:02d} file_{n}.txt"
            for n in range(size // 60 + 1)
        )[:size],
    }
    return built
