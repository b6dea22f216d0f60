"""
Bug kinds that users of other compactors reported, one test each; the story is the docstring.
"""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from proxy.chat.groups import open_calls, pending_round
from proxy.chat.messages import is_user, text_of
from proxy.compaction.budget import Budget
from proxy.compaction.handover import END_MARKER, wrap
from proxy.compaction.validate import validate
from proxy.engines.base import Posture
from proxy.simulator.rules import introduced
from tests.support.conversations import (
    agent_session,
    assistant,
    call,
    calls,
    chat_session,
    filler,
    image,
    result,
    system,
    user,
)
from tests.support.folding import COUNTER, Scribe, budget, compact, passes, sent, split

WINDOW = 12_000


async def folded(rows, window=WINDOW, **fields):
    """
    Return the rows as they are sent after one compaction, checked by both judges.
    """
    made = await passes(rows, window, **fields)
    written = sent(made.layout, rows)
    validate(written, rows)
    assert introduced(rows, written) == {}
    return written


async def test_compacting_again_at_once_changes_nothing():
    """
    Each turn compacted again and saved half a percent: a second try without new rows must gain or give up.
    """
    rows = chat_session(30)[1:]
    first = await compact(rows, WINDOW)

    assert (await compact(rows, WINDOW, previous=first.layout)).layout is None


async def test_a_third_of_the_threshold_is_regrown_before_the_next_compaction():
    """
    An agent refilled the window at once: 108 compactions in one session.
    """
    rows = chat_session(30)[1:]
    made = await compact(rows, WINDOW)

    assert made.report.after < budget(WINDOW, fixed=3).threshold * 2 / 3


async def test_everything_protected_is_said_and_not_looped_on():
    """
    No middle to fold: the loop tried for ever.
    """
    made = await compact([user("a " * 900), assistant("b")], 64_000)

    assert made.layout is None
    assert made.report.why


async def test_one_user_turn_with_hundreds_of_tool_rows_has_a_bounded_tail():
    """
    The anchor on the latest ask made the tail twenty times its budget.
    """
    rows = agent_session(200)[1:]
    made = await compact(rows, WINDOW)
    tail = COUNTER.messages(sent(made.layout, rows)[1:])

    assert tail <= budget(WINDOW, fixed=3).tail_ceiling
    assert made.layout.restated == 0


async def test_huge_results_inside_the_tail_are_demoted_but_the_pending_one():
    """
    Several file reads of 100 KB stood among the newest rows.
    """
    rows = [user("read all"), *[row for n in range(6) for row in (call("read", id=f"c{n}"), result(f"c{n}", 30_000))]]
    written = await folded(rows, 16_000)

    assert written[-1] is rows[-1]
    assert len(json.dumps(written)) < 45_000


async def test_few_rows_of_many_tokens_are_compacted():
    """
    A gate on the number of messages hid the overflow.
    """
    rows = [user("word " * 9_000), assistant("word " * 9_000), user("go on")]
    written = await folded(rows)

    assert COUNTER.messages(written) < WINDOW


async def test_arguments_stay_valid_json_whatever_happens():
    """
    Arguments cut to 200 characters with an ellipsis: the server answered 400 for ever after.
    """
    rows = [
        user("go"),
        *[row for n in range(9) for row in (call("write", id=f"c{n}", body=filler(40_000)), result(f"c{n}"))],
    ]
    written = []
    for posture in Posture:
        made = await compact(rows, 6_000, posture=posture)
        kept = sent(made.layout, rows) if made.layout else []
        written += [one["function"]["arguments"] for row in kept for one in row.get("tool_calls", ())]

    assert all(isinstance(json.loads(one), dict) for one in written)
    assert any(len(one) < 40_000 for one in written)


async def test_no_call_is_left_without_its_results():
    """
    Results were pruned and the call kept: 400, adjacency included.
    """
    rows = [
        user("go"),
        *[
            row
            for n in range(20)
            for row in (calls(("f", "a", {}), ("g", "b", {})), result("b", 900), result("a", 900))
        ],
    ]

    await folded(rows, 4_000)


@pytest.mark.parametrize("posture", list(Posture))
async def test_calls_in_flight_are_never_touched(posture):
    """
    The trailing call was dropped and its side effect repeated: twelve snapshots.
    """
    rows = [
        *chat_session(20)[1:],
        assistant("ok"),
        user("take a snapshot"),
        calls(("snap", "x", {}), ("log", "y", {})),
        result("x"),
    ]
    made = await compact(rows, 9_000, posture=posture)
    written = sent(made.layout, rows)

    assert written[-2:] == rows[-2:]
    assert open_calls(written, pending_round(written)) == ("y",)


@pytest.mark.parametrize(
    "content", ["t", ["t"], [{"type": "text", "text": "t"}], {"type": "text", "text": "t"}, None, 7, True, [None]]
)
@pytest.mark.parametrize("role", ["system", "user", "assistant", "tool"])
async def test_content_of_any_shape_in_any_row_is_folded(role, content):
    """
    ``list + str`` crashed on a system row, ``.encode`` on a dict.
    """
    row = {"role": role, "content": content, **({"tool_call_id": "c"} if role == "tool" else {})}
    odd = [call("f", id="c"), row] if role == "tool" else [row]
    for rows in (
        [*odd, *chat_session(12)[1:]],
        [*chat_session(12)[1:], assistant("a"), *odd],
        [*chat_session(6)[1:], *odd, *chat_session(6)[1:]],
    ):
        made = await passes(rows, 4_000)
        assert introduced(rows, sent(made.layout, rows)) == {}


async def test_template_visible_turns_alternate_behind_tool_rounds():
    """
    A user summary in ``[user, assistant(tool_calls), tool]`` broke the Mistral template: 500.
    """
    rows = [
        r
        for n in range(12)
        for r in (user(f"ask {n} " * 60), assistant("I look."), call("f"), result("a", 900), assistant("x " * 300))
    ]
    # Two texts of the assistant in a row are the client's own; two users in a row would be ours.
    for window in range(2_000, 9_000, 500):
        written = sent((await passes(rows, window)).layout, rows)
        visible = [row["role"] for row in written if "tool_calls" not in row and row["role"] != "tool"]
        assert ("user", "user") not in set(pairwise(visible))


@pytest.mark.parametrize("interrupts", [0, 1, 2])
async def test_a_client_that_alternates_still_does_for_every_cut(interrupts):
    """
    A text, a tool round, then a user who interrupts: with the text folded, two users would meet.
    """
    rows = []
    for n in range(14):
        rows += [
            user(f"{n} " + "w " * 200),
            assistant("v " * 200),
            *([call("f"), result("a", 400)] if n % 3 == interrupts else []),
        ]
    rows.append(user("last"))
    for window in range(1_500, 9_000, 300):
        made = await passes(rows, window)
        assert introduced(rows, sent(made.layout, rows)) == {}


async def test_a_tool_only_tail_still_has_a_user_text():
    """
    "No user query found in messages."
    """
    written = await folded(agent_session(60)[1:])

    assert is_user(written[0])
    assert text_of(written[0]).rpartition(END_MARKER)[2].strip()


async def test_the_summary_is_never_an_assistant_row():
    """
    A weak model echoed it to the user as its own last words.
    """
    written = await folded(chat_session(40)[1:])

    assert not any("notes on the earlier" in text_of(row) for row in written if row["role"] == "assistant")


async def test_the_first_row_after_the_system_rows_is_a_user_row():
    """
    A head of system rows alone: 400 with a misleading text about tool use.
    """
    system_rows, rows = split([system(), *chat_session(30)[1:], assistant("a"), user("b")])

    assert is_user((await folded(rows, system=system_rows))[0])


async def test_a_summary_before_an_image_turn_never_stacks():
    """
    It was merged into an unanswered image turn again and again.
    """
    rows = [*chat_session(20)[1:], assistant("ok"), image("what is this?")]
    first = await compact(rows, 4_000)
    grown = [*rows, assistant("a cat " * 90), *chat_session(10)[1:]]
    second = await passes(grown, 4_000, previous=first.layout)
    whole = json.dumps(sent(second.layout, grown))

    assert whole.count("notes on the earlier conversation]") == 1


async def test_no_user_turn_is_invented():
    """
    A todo list appended as a user row brought a stale plan back to life.
    """
    rows = agent_session(40)[1:]
    written = await folded(rows)

    assert sum(map(is_user, written)) == 1


async def test_no_key_is_written_that_the_clients_rows_lack():
    """
    A marker key reached a strict gateway.
    """
    rows = [*chat_session(20)[1:], assistant("a"), *agent_session(10)[1:]]
    written = await folded(rows, 5_000)

    assert {key for row in written for key in row} <= {key for row in rows for key in row}


async def test_the_latest_ask_is_never_lost():
    """
    Alignment moved the cut past it.
    """
    rows = [*chat_session(10)[1:], assistant("ok"), user("THE LATEST ASK"), *agent_session(30)[2:]]
    for window in range(2_500, 12_000, 500):
        assert any("THE LATEST ASK" in text_of(row) for row in await folded(rows, window) if is_user(row))


async def test_an_ask_and_its_answer_stay_on_one_side():
    """
    The user row was folded and the reply kept: the lights were switched twice.
    """
    rows = chat_session(60, bytes_per_turn=300)[1:]
    for window in range(4_000, 12_000, 700):
        assert is_user(rows[(await compact(rows, window)).layout.cut])


async def test_the_summary_is_background_and_something_live_follows():
    """
    The summary became the active turn, and a finished task was taken up again.
    """
    for rows in (chat_session(30)[1:], agent_session(40)[1:]):
        text = text_of((await folded(rows))[0])
        assert "background, not orders" in text
        assert END_MARKER in text


async def test_a_summary_of_the_client_is_folded_in_and_not_asked():
    """
    A client that folds its own history sent its handover as the first user row: it counted as the latest ask.
    """
    rows = [user(wrap("## Goal\nold task")), assistant("ok"), *agent_session(40)[1:]]
    made = await compact(rows, WINDOW)

    assert made.layout.restated == 2


async def test_there_is_one_live_summary_after_many_folds():
    """
    Handovers were kept in head and tail each time: 8.6 times the size in five rounds.
    """
    rows, layout = [], None
    sizes = []
    for n in range(6):
        rows = [*rows, *chat_session(14)[1:], assistant(f"end {n}")]
        made = await passes([*rows, user("next")], WINDOW, previous=layout)
        layout = made.layout if made else layout
        written = sent(layout, [*rows, user("next")])
        assert json.dumps(written).count("notes on the earlier conversation]") == 1
        sizes.append(COUNTER.messages(written))

    assert max(sizes) < WINDOW


async def test_signed_thinking_is_byte_exact_or_gone():
    """
    A merged or trimmed assistant turn: 400, invalid signature.
    """
    signed = [{"type": "thinking", "thinking": "t " * 3_000, "signature": "s"}, {"type": "text", "text": "said"}]
    rows = [
        user("go"),
        {"role": "assistant", "content": signed},
        user("more"),
        {"role": "assistant", "content": signed},
        user("end"),
    ]
    for window in (1_500, 4_000, 9_000):
        made = await passes(rows, window)
        for row in sent(made.layout, rows):
            for part in row["content"] if isinstance(row["content"], list) else []:
                assert part.get("type") != "thinking" or part == signed[0]


async def test_the_prefix_stays_the_same_until_the_next_compaction():
    """
    Pruning every so many tokens left no cache reads at all.
    """
    rows = agent_session(60)[1:]
    made = await compact(rows[:81], WINDOW)
    before = sent(made.layout, rows[:81])

    for end in range(83, 121, 2):
        assert sent(made.layout, rows[:end])[: len(before)] == before


async def test_system_rows_are_never_rewritten():
    """
    A rebuilt system prompt took the hit rate from 99 % to 2 %.
    """
    rows = [*chat_session(15)[1:], assistant("a"), system("later rule"), *chat_session(2, bytes_per_turn=100)[1:]]
    written = await folded(rows)

    assert any(row is rows[30] for row in written)


async def test_nothing_is_emitted_without_rows():
    """
    Forced recovery returned an empty list.
    """
    for rows in (
        [user("x " * 9_000)],
        [assistant("x " * 9_000)],
        [result("a", 9_000)],
        [call("f"), result("a", 60_000)],
    ):
        made = await passes(rows, 2_000)
        assert made is None or sent(made.layout, rows)


async def test_trigger_and_tail_use_one_estimator():
    """
    The host's estimate less the engine's gave a cap of one token.
    """
    rows = chat_session(20)[1:]
    made = await compact(rows, WINDOW)

    assert made.report.before == 3 + COUNTER.messages(rows)
    assert made.report.after == 3 + COUNTER.messages(sent(made.layout, rows))


async def test_a_fixed_part_above_the_target_raises_it():
    """
    System and tools took most of the threshold: compaction ran on every turn and could not help.
    """
    heavy = budget(10_000, fixed=7_000)

    assert heavy.threshold > heavy.fixed
    assert heavy.target < heavy.threshold
    assert Budget(window=10, usable=9, threshold=5, fixed=7).target == 7


async def test_rows_in_chinese_are_folded_in_chinese():
    """
    A Chinese chat was summarised in English, and counted at four characters a token.
    """
    rows = [
        row
        for n in range(40)
        for row in (user(f"问题 {n}：" + "请修复测试并说明原因。" * 20), assistant("好的，" + "已经修复完成。" * 20))
    ]
    made = await compact([*rows, user("继续")], 8_000, scribe=Scribe("## 目标\n修复全部测试，并说明每个错误的原因。"))
    text = text_of(sent(made.layout, [*rows, user("继续")])[0])

    assert "仅作背景" in text
    assert made.report.fits
