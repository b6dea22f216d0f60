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
