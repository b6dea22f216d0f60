import json

import pytest

from proxy.chat.groups import group_starts
from proxy.chat.messages import is_user, text_of
from proxy.compaction.budget import Budget, Ratios
from proxy.compaction.handover import RESTATED_MARK, unwrap
from proxy.compaction.layout import Layout
from proxy.engines.base import Posture
from proxy.simulator.rules import introduced
from tests.support.conversations import (
    agent_session,
    assistant,
    call,
    calls,
    chat_session,
    image,
    result,
    system,
    user,
)
from tests.support.folding import COUNTER, Scribe, budget, compact, passes, sent, split

WINDOW = 16_000


def tokens(layout, rows):
    """
    Return what the rows cost as they are sent.
    """
    return COUNTER.messages(sent(layout, rows))


async def test_the_middle_is_folded_into_one_summary():
    """
    Head, summary, tail; the newest rows are the client's own.
    """
    system_rows, rows = split(chat_session(30))
    scribe = Scribe()
    made = await compact(rows, WINDOW, system=system_rows, scribe=scribe)
    written = sent(made.layout, rows)

    assert len(scribe.jobs) == 1
    assert made.report.fits
    assert made.report.folded == made.layout.cut - made.layout.head_end
    assert sum("notes on the earlier conversation" in text_of(row) for row in written) == 1
    assert written[-1] is rows[-1]


async def test_the_result_is_at_or_below_the_target():
    """
    Deep and rare beats shallow and often: each compaction costs the upstream's prompt cache.
    """
    rows = chat_session(30)[1:]
    made = await compact(rows, WINDOW)

    assert made.report.after <= budget(WINDOW, fixed=3).target
    assert made.report.after == 3 + tokens(made.layout, rows)


async def test_pruning_alone_is_enough_at_or_below_the_target():
    """
    No model is asked where stubs do.
    """
    rows = [*agent_session(30)[1:], assistant("done"), *chat_session(3, bytes_per_turn=200)[1:]]
    scribe = Scribe()
    ample = Budget(window=64_000, usable=57_600, threshold=18_000, fixed=0, ratios=Ratios(protect_last=6))
    made = await compact(rows, 64_000, scribe=scribe, budget=ample)

    assert made.layout.summary is None
    assert scribe.jobs == []
    assert {edit.kind for edit in made.layout.edits} == {"stub"}


async def test_an_extract_takes_the_place_of_pruning_alone():
    """
    It asks no model either, and keeps what the tools said.
    """
    rows = [*agent_session(30)[1:], assistant("done"), *chat_session(3, bytes_per_turn=200)[1:]]
    scribe = Scribe()
    ample = Budget(window=64_000, usable=57_600, threshold=18_000, fixed=0, ratios=Ratios(protect_last=6))
    made = await compact(rows, 64_000, scribe=scribe, budget=ample, prune_alone=False)

    assert made.layout.summary is not None
    assert len(scribe.jobs) == 1


async def test_pruning_that_ends_above_the_target_is_not_enough():
    """
    Then the stubs are part of a fold.
    """
    made = await compact(chat_session(30)[1:], WINDOW)

    assert made.layout.summary is not None


async def test_the_first_exchange_stays_on_the_first_compaction_alone():
    """
    A head that stayed for ever was answered again and again.
    """
    rows = chat_session(30, bytes_per_turn=600)[1:]
    rows[0], rows[1] = user("Fix the parser, keep the API."), assistant("I will.")
    small = {"window": 8_000, "system": [system("s")]}
    first = await compact(rows, **small)
    more = [*rows, *chat_session(20, bytes_per_turn=700)[2:]]
    scribe = Scribe()
    second = await compact(more, previous=first.layout, scribe=scribe, **small)

    assert first.layout.head_end == 2
    assert second.layout.head_end == 0
    assert scribe.jobs[0].first_ask == "Fix the parser, keep the API."


async def test_a_second_fold_reads_the_summary_and_the_new_turns():
    """
    The head, kept until now, is new to the summariser as well.
    """
    rows = chat_session(40)[1:]
    first = await compact(rows[:41], WINDOW, system=[system("s")])
    scribe = Scribe()
    second = await compact(rows, WINDOW, system=[system("s")], previous=first.layout, scribe=scribe)
    job = scribe.jobs[0]

    assert job.previous == unwrap(first.layout.summary)
    assert job.fresh == [*rows[: first.layout.head_end], *rows[first.layout.cut : second.layout.cut]]
    assert job.originals == rows[: second.layout.cut]
    assert second.layout.depth == 2


async def test_at_rederive_depth_the_summary_is_made_from_the_originals_again():
    """
    Details fade with every fold of a fold.
    """
    rows = chat_session(40)[1:]
    first = await compact(rows[:41], WINDOW)
    deep = Layout(first.layout.head_end, first.layout.cut, first.layout.summary, depth=4)
    scribe = Scribe()
    made = await compact(rows, WINDOW, previous=deep, scribe=scribe, rederive_depth=4)

    assert scribe.jobs[0].previous is None
    assert scribe.jobs[0].fresh == rows[: made.layout.cut]
    assert made.layout.depth == 1


async def test_the_summary_is_told_its_budget_and_the_rows_after_it():
    """
    The tail is for orientation; the ceiling is what the target leaves.
    """
    rows = chat_session(30)[1:]
    scribe = Scribe()
    made = await compact(rows, WINDOW, scribe=scribe, focus="the parser")
    job = scribe.jobs[0]

    assert list(job.tail) == rows[made.layout.cut :]
    assert job.focus == "the parser"
    assert 0 < job.budget_tokens <= job.ceiling_tokens


async def test_a_summary_longer_than_its_ceiling_is_cut_to_it():
    """
    A model that writes too much cannot undo the compaction.
    """
    rows = chat_session(30)[1:]
    scribe = Scribe("## Goal\nfix\n## Done\n" + "- one more thing was done\n" * 9_000)
    made = await compact(rows, WINDOW, scribe=scribe)
    body = unwrap(made.layout.summary)

    assert COUNTER.text(body) <= scribe.jobs[0].ceiling_tokens
    assert "## Goal\nfix" in body
    assert "## Done\n- one more" in body
    assert made.report.after <= budget(WINDOW, fixed=3).target + 60


async def test_an_agents_only_ask_is_restated_after_the_summary():
    """
    One ask and hundreds of tool rows: the ask lies far before the cut.
    """
    rows = agent_session(60)[1:]
    made = await compact(rows, WINDOW)
    text = text_of(sent(made.layout, rows)[0])

    assert made.layout.restated == 0
    assert text.endswith("fix the failing test in src/app.py")
    assert RESTATED_MARK in text


async def test_a_first_ask_that_is_restated_is_not_quoted_as_well():
    """
    Once is enough.
    """
    scribe = Scribe()
    await compact(agent_session(60)[1:], WINDOW, scribe=scribe)

    assert scribe.jobs[0].first_ask == ""


async def test_every_cut_is_a_group_start():
    """
    No tool group is split, whatever the window.
    """
    rows = agent_session(40)[1:]
    for window in (4_000, 6_000, 9_000, 14_000):
        made = await compact(rows, window)
        assert made.layout.cut in group_starts(rows)


async def test_a_gain_below_the_minimum_is_discarded():
    """
    Compacting every turn for half a percent each time.
    """
    rows = [user("x " * 4_000), assistant("y"), user("z " * 4_000)]
    made = await compact(rows, 64_000, budget=budget(64_000, ratios=Ratios(minimum_gain=0.99)))

    assert made.layout is None
    assert made.report.why == "the gain would be too small"
    assert made.report.after == made.report.before
    assert not made.report.fits


async def test_a_small_gain_counts_where_it_makes_the_request_fit():
    """
    One percent above the window is still above it.
    """
    rows = [user("w " * 1_000)]
    size = 3 + COUNTER.messages(rows)
    tight = Budget(window=size, usable=size - 10, threshold=size // 2, fixed=3)
    made = await compact(rows, size, budget=tight, posture=Posture.SQUEEZE)

    assert made.layout is not None
    assert made.report.fits


async def test_nothing_is_done_where_system_and_tools_alone_fill_the_window():
    """
    No compaction can shrink them: say so, do not loop.
    """
    made = await compact(chat_session(9)[1:], 9_000, budget=budget(9_000, fixed=9_000))

    assert made.layout is None
    assert made.report.why == "system and tools alone fill the window"


async def test_a_request_of_system_rows_alone_is_left_alone():
    """
    There is nothing to fold.
    """
    made = await compact([], 9_000)

    assert made.layout is None
    assert made.report.why == "there is nothing but system rows"


async def test_a_pending_round_above_the_target_is_an_irreducible_floor():
    """
    What must stay stays; the rest is folded once, and a second try gains nothing.
    """
    rows = [*chat_session(12)[1:], assistant("ok"), user("read it"), call("read"), result("a", 24_000)]
    first = await compact(rows, WINDOW)
    again = await compact(rows, WINDOW, previous=first.layout)

    assert sent(first.layout, rows)[-1] is rows[-1]
    assert first.report.after > budget(WINDOW, fixed=3).target
    assert again.layout is None


async def test_a_newest_result_larger_than_the_window_is_cut_inside():
    """
    The last rung: head and tail of it, with a notice.
    """
    rows = [user("read it"), call("read"), result("a", 300_000)]
    made = await passes(rows, 4_000)
    written = sent(made.layout, rows)

    assert made.report.fits
    assert "characters left out" in written[-1]["content"]
    assert written[-1]["content"][:50] == rows[-1]["content"][:50]
    assert written[-1]["content"][-50:] == rows[-1]["content"][-50:]


async def test_a_single_huge_ask_is_cut_inside():
    """
    Fewer rows than any count gate, more tokens than the window.
    """
    rows = [user("start " + "word " * 60_000 + " end")]
    made = await passes(rows, 8_000)

    assert made.report.fits
    assert made.layout.summary is None
    assert sent(made.layout, rows)[0]["content"].endswith(" end")


async def test_many_parallel_results_fit_in_the_end():
    """
    A hundred results at once, each cut as far as need be.
    """
    rows = [user("go"), calls(*[("f", f"c{n}", {"p": "x" * 400}) for n in range(100)])]
    rows += [result(f"c{n}", 2_000) for n in range(100)]
    made = await passes(rows, 16_000)
    written = sent(made.layout, rows)

    assert made.report.fits
    assert len([row for row in written if row["role"] == "tool"]) == 100
    assert all(json.loads(made_call["function"]["arguments"]) for made_call in written[-101]["tool_calls"])
    assert introduced(rows, written) == {}


async def test_arguments_are_replaced_only_in_the_hard_fit():
    """
    Never cut; replaced by valid JSON where nothing else helps.
    """
    rows = [user("go"), call("write", body="x" * 90_000), result("a", "ok")]
    squeezed = await compact(rows, 4_000, posture=Posture.SQUEEZE)
    hard = await compact(rows, 4_000, posture=Posture.HARD_FIT)

    assert squeezed.layout is None
    assert hard.report.fits
    assert "left_out" in json.loads(sent(hard.layout, rows)[-2]["tool_calls"][0]["function"]["arguments"])


async def test_three_hundred_images_in_the_newest_row_leave_the_newest():
    """
    Taking all of them out would lose what was asked about.
    """
    picture = image(size=900)["content"][1]
    rows = [
        *chat_session(3)[1:],
        assistant("ok"),
        {"role": "user", "content": [{"type": "text", "text": "compare"}] + [picture] * 300},
    ]
    made = await passes(rows, 32_000)
    content = sent(made.layout, rows)[-1]["content"]

    assert made.report.fits
    assert sum(part["type"] == "image_url" for part in content) > 5
    assert content[-1] is picture
    assert any(part.get("text", "").endswith("compare") for part in content)


async def test_bytes_are_a_budget_of_their_own_and_media_go_first():
    """
    Two screenshots were 96 % of the body and 3 % of the tokens.
    """
    rows = [image("first", size=50_000), assistant("a"), user("text " * 200), assistant("b"), image("now", size=50_000)]
    scribe = Scribe()
    made = await compact(rows, 128_000, byte_limit=70_000, scribe=scribe)
    written = sent(made.layout, rows)

    assert scribe.jobs == []
    assert written[0]["content"][1]["type"] == "text"
    assert written[-1] is rows[-1]
    assert len(json.dumps(written)) < 70_000


async def test_the_newest_image_goes_too_where_bytes_demand_it():
    """
    Larger than the limit on its own.
    """
    rows = [image("first", size=9_000), assistant("a"), image("now", size=90_000)]
    made = await compact(rows, 128_000, byte_limit=20_000)

    assert made.report.fits
    assert sent(made.layout, rows)[-1]["content"][0]["text"] == "now"


async def test_huge_reasoning_is_cut_and_signed_thinking_goes_whole():
    """
    In the newest turn, where nothing else can go.
    """
    signed = [{"type": "thinking", "thinking": "t " * 20_000, "signature": "s"}, {"type": "text", "text": "I look."}]
    rows = [user("go"), {**call("f"), "content": signed}, result("a", "ok")]
    plain = [user("go"), {**call("f"), "reasoning_content": "t " * 40_000}, result("a", "ok")]
    for history in (rows, plain):
        made = await passes(history, 4_000)
        written = sent(made.layout, history)
        assert made.report.fits
        assert written[-2]["tool_calls"] == history[-2]["tool_calls"]
    assert written[-2]["reasoning_content"].startswith("t t ")


async def test_a_tiny_window_with_a_large_system_prompt_still_works():
    """
    1,024 tokens, 300 of them fixed.
    """
    system_rows = [system(size=1_100)]
    rows = chat_session(12, bytes_per_turn=400)[1:]
    made = await passes(rows, 1_024, system=system_rows)

    assert made.report.fits
    assert made.report.after <= 1_024 - 102
    assert is_user(sent(made.layout, rows)[-1])


@pytest.mark.parametrize("posture", list(Posture))
async def test_a_conversation_without_a_user_row_is_folded_too(posture):
    """
    No ask is invented.
    """
    rows = [row for n in range(40) for row in (call("f", id=f"c{n}"), result(f"c{n}", 2_000))]
    made = await compact(rows, 8_000, posture=posture)

    assert made.layout.restated is None
    assert introduced(rows, sent(made.layout, rows)) == {}


async def test_a_huge_summary_from_a_larger_window_shrinks_in_the_hard_fit():
    """
    The conversation moved to a smaller model: the record's summary alone would fill it.
    """
    rows = chat_session(30)[1:]
    big = await compact(rows, 64_000, budget=budget(64_000), scribe=Scribe("## Goal\n" + "- one more fact\n" * 2_000))
    made = await passes(rows, 4_000, previous=big.layout)

    assert made.report.fits
    assert tokens(made.layout, rows) <= 3_600


async def test_the_hard_fit_keeps_the_pending_round_and_the_ask():
    """
    Summary, last ask, pending round.
    """
    rows = [*chat_session(10)[1:], assistant("ok"), user("the live ask"), *agent_session(30)[2:]]
    made = await compact(rows, 3_000, posture=Posture.HARD_FIT)
    written = sent(made.layout, rows)

    assert made.report.fits
    assert [row["role"] for row in written] == ["user", "assistant", "tool"]
    assert text_of(written[0]).endswith("the live ask")


async def test_the_hard_fit_keeps_a_prefill_with_its_ask():
    """
    Last and byte for byte.
    """
    rows = [*chat_session(20)[1:], assistant("The answer is")]
    made = await compact(rows, 2_000, posture=Posture.HARD_FIT)
    written = sent(made.layout, rows)

    assert [row["role"] for row in written] == ["user", "assistant"]
    assert written[-1] is rows[-1]


async def test_a_reminder_after_the_pending_round_comes_with_it():
    """
    Some clients end every request with a system row.
    """
    rows = [*agent_session(30)[1:], system("remember the rules")]
    made = await compact(rows, 3_000, posture=Posture.HARD_FIT)

    assert [row["role"] for row in sent(made.layout, rows)] == ["user", "assistant", "tool", "system"]


async def test_rows_of_system_alone_after_the_leading_ones_do_not_raise():
    """
    Nobody sends that; nobody should get a 500 for it.
    """
    await compact([system("x" * 9_000)], 2_000, posture=Posture.HARD_FIT)


async def test_background_preparation_leaves_room_for_turns_to_come():
    """
    Its cut lies further on.
    """
    rows = chat_session(30)[1:]
    now = await compact(rows, WINDOW)
    ahead = await compact(rows, WINDOW, keep_growing=800)

    assert ahead.layout.cut >= now.layout.cut
    assert ahead.report.after < now.report.after


async def test_exact_duplicates_keep_the_newest():
    """
    The same file read again and again.
    """
    same = [
        row
        for n in range(12)
        for row in (call("read", id=f"c{n}", path="a"), {**result(f"c{n}"), "content": "line " * 300})
    ]
    rows = [user("go"), *same, assistant("done"), user("next")]
    ample = Budget(window=64_000, usable=57_600, threshold=8_000, fixed=0)
    made = await compact(rows, 64_000, budget=ample)
    results = [row["content"] for row in sent(made.layout, rows) if row["role"] == "tool"]

    assert results[-1] == "line " * 300
    assert all("the same result comes later" in text for text in results[:-1])
