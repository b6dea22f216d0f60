import pytest

from proxy.chat.language import detect_language, language_of
from tests.support.conversations import assistant, result, user


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Please fix the test and tell me what it was that you have changed.", "en"),
        ("请修复这个测试并说明原因。", "zh"),
        ("このテストを修正して理由を説明してください。", "ja"),
        ("이 테스트를 고치고 이유를 설명해 주세요.", "ko"),
        ("Исправь этот тест и объясни причину.", "ru"),
        ("Bitte repariere den Test und sag mir, was das ist, das nicht geht.", "de"),
        ("Corrige le test et dis-moi ce que tu as fait dans les fichiers, je ne vois pas.", "fr"),
        ("Arregla la prueba y dime lo que no es correcto en los archivos que se usan.", "es"),
        ("Corrija o teste e diga o que não está certo nos arquivos que você usa para isso.", "pt"),
        ("", "en"),
        ("4711 + 42", "en"),
        ("def parse(self): return self.rows", "en"),
    ],
)
def test_tells_the_language_of_a_text(text, language):
    """
    By scripts, then by common words; English where nothing is clear.
    """
    assert detect_language([text]) == language


def test_a_few_foreign_words_change_nothing():
    """
    An English chat that quotes a Chinese name.
    """
    assert detect_language(["The user asked for the file 报告 to be read and for all of the rows in it."]) == "en"


def test_code_in_a_chinese_chat_changes_nothing():
    """
    Identifiers are Latin everywhere.
    """
    assert detect_language(["请修复 src/app.py 里的 parse_rows 函数，它返回了错误的结果，测试没有通过。"]) == "zh"


def test_tool_output_says_little_about_the_language():
    """
    The people speak Chinese, the log speaks English.
    """
    rows = [
        user("请修复测试"),
        result("a", "the test is not in the list of the tests " * 90),
        assistant("好的，我来修复"),
    ]

    assert language_of(rows) == "zh"


def test_without_any_speech_the_tool_output_decides():
    """
    Better than nothing.
    """
    assert language_of([result("a", "请修复测试并说明原因")]) == "zh"
    assert language_of([]) == "en"


def test_the_previous_summary_counts():
    """
    A fold goes on in the language of the summary before it.
    """
    assert language_of([], extra="目标：修复测试") == "zh"


def test_only_a_sample_is_read():
    """
    A long history costs no more than its beginning.
    """
    texts = ["请修复测试并说明原因。" * 200] * 20 + ["the of and to is " * 9_000]

    assert detect_language(texts) == "zh"
