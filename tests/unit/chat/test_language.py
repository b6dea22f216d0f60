import pytest

from proxy.chat.language import detect_language, language_of
from tests.support.summaries import assistant, result, user


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Please fix the failing test and explain why it broke.", "en"),
        ("请修复 tests/test_load.py 里失败的测试，并说明原因。", "zh"),
        ("失敗しているテストを直して、原因を説明してください。", "ja"),
        ("실패한 테스트를 고치고 이유를 설명해 주세요.", "ko"),
        ("Почини упавший тест и объясни причину.", "ru"),
        ("Bitte repariere den Test und erkläre, warum er nicht läuft.", "de"),
        ("Corrige le test et explique pourquoi il ne passe pas dans la suite.", "fr"),
        ("Arregla la prueba y explica por qué no pasa en el servidor.", "es"),
        ("Por favor corrija o teste e explique por que não passa no servidor.", "pt"),
        ("12345 --- ///", "en"),
        ("def parse(self): return self.rows", "en"),
        ("The user asked for the file 报告 to be read and for all of the rows in it.", "en"),
        ("请修复 src/app.py 里的 parse_rows 函数，它返回了错误的结果，测试没有通过。", "zh"),
        ("", "en"),
    ],
)
def test_tells_the_language(text, language):
    """Scripts decide, then common words; English where nothing is clear."""
    assert detect_language([text]) == language


def test_listens_to_people_rather_than_tools():
    """English tool output does not turn a Chinese conversation into an English one."""
    rows = [user("请查一下天气"), result("weather report " * 500), assistant("今天多云。")]

    assert language_of(rows) == "zh"


def test_reads_tools_where_nobody_speaks():
    """Without any words of people, what there is decides."""
    assert language_of([result("今天多云，气温二十度。")]) == "zh"


def test_nothing_at_all_is_english():
    """There has to be an answer."""
    assert language_of([]) == "en"


def test_the_previous_summary_counts():
    """A fold goes on in the language of the summary before it."""
    assert language_of([], extra="目标：修复测试") == "zh"


def test_only_a_sample_is_read():
    """A long history costs no more than its beginning."""
    texts = ["请修复测试并说明原因。" * 200] * 20 + ["the of and to is " * 9_000]

    assert detect_language(texts) == "zh"
