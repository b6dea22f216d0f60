import inspect

import pytest

from proxy.errors import SettingsError
from proxy.simulator import steps
from proxy.simulator.script_file import MAKERS, parse_script
from proxy.simulator.steps import agent_rounds, answer, delay, overflow, status, tool_call, tool_calls, when


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- answer: done", [answer("done")]),
        ("- answer", [answer()]),
        ("- overflow: {limit: 8192, wording: vllm}", [overflow(8192, wording="vllm")]),
        ("- {answer: a, repeat: 2}", [answer("a"), answer("a")]),
        ("- {answer: a, delay: 0.5}", [delay(0.5, answer("a"))]),
        ("- {answer: a, when: {stream: true, min_messages: 4}}", [when(answer("a"), stream=True, min_messages=4)]),
        ("- tool_call: {name: read, arguments: {path: a.py}}", [tool_call("read", {"path": "a.py"})]),
        ("- tool_calls: [{name: a}, {name: b, arguments: {x: 1}}]", [tool_calls(("a", {}), ("b", {"x": 1}))]),
        ("- agent_rounds: 2", agent_rounds(2)),
        ('- status: {code: 429, headers: {retry-after: "3"}}', [status(429, headers=(("retry-after", "3"),))]),
        ("", []),
    ],
)
def test_reads_steps(text, expected):
    """
    YAML says the same as the Python functions.
    """
    assert list(parse_script(text).steps) == expected


def test_reads_settings_beside_the_steps():
    """
    A script may carry the simulator's settings.
    """
    script = parse_script("window: 4000\nsteps: [answer]")

    assert (dict(script.settings), len(script.steps)) == ({"window": 4000}, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- nonsense", "step 1: unknown action 'nonsense'"),
        ("- answer\n- overflow: {limt: 3}", "step 2: limt: Unexpected keyword argument"),
        ("- overflow: {limit: many}", "step 1: limit: Input should be a valid integer"),
        ("- overflow: {wording: klingon}", "step 1: unknown wording 'klingon'"),
        ("- {answer: a, status: 3}", "step 1: a step names one action, this one names 2"),
        ("- {answer: a, when: {x: 1}}", "step 1: when: unknown condition x"),
        ("- {answer: a, repeat: often}", "step 1: invalid literal"),
        ("- 3", "step 1: a step is a name"),
        ("answer:\n- [1", "line 2: is no YAML: expected"),
    ],
)
def test_explains_mistakes_by_step(text, words):
    """
    A mistake names the step and what is wrong with it.
    """
    with pytest.raises(SettingsError) as caught:
        parse_script(text)

    assert words in str(caught.value)


def test_reports_all_mistakes_at_once():
    """
    Nobody likes to fix a file one error at a time.
    """
    with pytest.raises(SettingsError) as caught:
        parse_script("- nonsense\n- answer\n- 3")

    assert len(caught.value.mistakes) == 2


def test_every_step_function_can_be_scripted():
    """
    Only what wraps another step, or needs a Python object, is missing from scripts.
    """
    modifiers = {"delay", "gated", "when", "repeat", "then_hang_up"}
    defined = {
        name for name, value in vars(steps).items() if inspect.isfunction(value) and value.__module__ == steps.__name__
    }

    assert set(MAKERS) == {name for name in defined - modifiers if not name.startswith("_")}
