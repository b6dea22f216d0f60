from proxy.simulator.received import Received
from proxy.simulator.steps import Script, agent_rounds, answer, overflow, repeat, status, when


def received(*, path="/v1/chat/completions", rows=1, summary=False, **fields):
    data = {"model": "sim-model", "messages": [{"role": "user", "content": "a"}] * rows, **fields}
    return Received(1, "POST", path, "", (), b"", data=data, is_summary_call=summary)


def test_steps_are_taken_in_order():
    """
    Each request takes the next step, until none is left.
    """
    script = Script()
    script.will(status(500), answer("done"))

    taken = [script.take(received(), may_speak=True) for _ in range(3)]

    assert taken == [status(500), answer("done"), None]


def test_a_condition_lets_later_steps_pass():
    """
    A step for streams waits for a stream.
    """
    script = Script([when(answer("streamed"), stream=True), answer("whole")])

    taken = [script.take(received(), may_speak=True), script.take(received(stream=True), may_speak=True)]

    assert taken == [answer("whole"), when(answer("streamed"), stream=True)]


def test_a_condition_may_ask_for_many_rows():
    """
    A step can be kept for long conversations.
    """
    script = Script([when(overflow(), min_messages=10)])

    assert script.take(received(rows=9), may_speak=True) is None
    assert script.take(received(rows=10), may_speak=True) is not None


def test_summariser_calls_take_no_step_unless_named():
    """
    A script of answers is meant for the conversation.
    """
    script = Script([answer("done"), when(answer("a bad summary"), summary=True)])

    assert script.take(received(summary=True), may_speak=True) == when(answer("a bad summary"), summary=True)


def test_other_paths_take_no_step_unless_named():
    """
    A list of models is not a turn of the conversation.
    """
    script = Script([answer("done"), when(status(503), path="/models")])

    assert script.take(received(path="/v1/models"), may_speak=False) == when(status(503), path="/models")


def test_an_answer_waits_for_a_request_that_may_be_answered():
    """
    A request that does not fit is refused and leaves the answer for the next one.
    """
    script = Script([answer("done")])

    assert script.take(received(), may_speak=False) is None
    assert script.take(received(), may_speak=True) == answer("done")


def test_a_fault_does_not_wait():
    """
    Servers fail whatever the request.
    """
    script = Script([status(500)])

    assert script.take(received(), may_speak=False) == status(500)


def test_lists_of_steps_are_laid_out():
    """
    Repeated steps and agent rounds count as their members.
    """
    script = Script()
    script.will(repeat(2, status(500)), agent_rounds(3))

    assert len(script.steps) == 6
