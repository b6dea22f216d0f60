from math import log

import pytest

from proxy.tokens.estimate import estimate
from tests.unit.tokens.texts import texts

TEXTS = texts(12_000)
TOLERANCE = 0.25
UNFITTED = {
    "hindi": "भारत एक विशाल देश है जहाँ अनेक भाषाएँ बोली जाती हैं। हमें अगले सप्ताह तक रिपोर्ट तैयार करनी होगी, इसलिए कृपया "
    "सभी आँकड़े जल्दी भेज दें। सर्वर से संपर्क टूट गया है और लेनदेन विफल हो गया। क्या आप मुझे बता सकते हैं कि यह फ़ंक्शन क्यों काम नहीं कर रहा है?",
    "marathi": "आम्ही उद्या सकाळी पुण्याला जाणार आहोत. कृपया माझ्या प्रश्नाचे उत्तर द्या आणि फाईल पाठवा. हा प्रकल्प पुढच्या महिन्यात पूर्ण होईल.",
    "bengali": "আমি আগামীকাল সকালে ঢাকায় যাব। অনুগ্রহ করে আমার প্রশ্নের উত্তর দিন এবং ফাইলটি পাঠান। এই প্রকল্পটি আগামী মাসে শেষ হবে।",
    "tamil": "நான் நாளை காலை சென்னைக்குச் செல்வேன். தயவுசெய்து என் கேள்விக்குப் பதிலளித்து கோப்பை அனுப்பவும்.",
    "telugu": "నేను రేపు ఉదయం హైదరాబాద్ వెళ్తాను. దయచేసి నా ప్రశ్నకు సమాధానం ఇవ్వండి మరియు ఫైల్ పంపండి.",
    "thai": "พรุ่งนี้เช้าฉันจะไปเชียงใหม่ กรุณาตอบคำถามของฉันและส่งไฟล์มาให้ด้วย เซิร์ฟเวอร์ไม่ตอบสนองและการทำธุรกรรมล้มเหลว",
}


def error(guess, truth):
    return abs(log(guess / truth))


@pytest.mark.parametrize("kind", TEXTS)
def test_is_near_the_truth_on_every_kind_of_text(vocabulary, kind):
    """
    Within a quarter, where four characters a token may be wrong by a factor of five.
    """
    truth = vocabulary.count(TEXTS[kind])

    assert abs(estimate(TEXTS[kind]) / truth - 1) <= TOLERANCE


@pytest.mark.parametrize("kind", TEXTS)
def test_is_better_than_four_characters_a_token(vocabulary, kind):
    """
    On every kind of text.
    """
    truth = vocabulary.count(TEXTS[kind])

    assert error(estimate(TEXTS[kind]), truth) < error(len(TEXTS[kind]) / 4, truth)


@pytest.mark.parametrize("language", UNFITTED)
def test_is_better_on_text_that_no_weight_was_fitted_to(vocabulary, language):
    """
    Scripts of South and South-East Asia have most of their own: a weight that serves one of them must not hurt another.
    """
    text = UNFITTED[language]
    truth = vocabulary.count(text)

    assert error(estimate(text), truth) < error(len(text) / 4, truth)


def test_is_four_times_better_over_all(vocabulary):
    """
    The mean error over all kinds of text, against that of the rule of thumb.
    """
    truths = {kind: vocabulary.count(text) for kind, text in TEXTS.items()}
    ours = sum(error(estimate(text), truths[kind]) for kind, text in TEXTS.items())
    theirs = sum(error(len(text) / 4, truths[kind]) for kind, text in TEXTS.items())

    assert ours * 4 <= theirs


@pytest.mark.parametrize("text", ["a" * 20_000, " " * 20_000, "\n" * 20_000, "=" * 20_000, "🎉" * 9_000])
def test_endless_runs_are_estimated_within_a_factor_of_five(vocabulary, text):
    """
    A run is many characters and few tokens.
    """
    assert 1 / 5 <= estimate(text) / vocabulary.count(text) <= 5


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("a", 1), (" ", 1), ("\x00", 1)])
def test_the_smallest_texts(text, tokens):
    """
    Text is at least a token, no text is none.
    """
    assert estimate(text) == tokens
