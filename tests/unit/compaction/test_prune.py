from proxy.compaction.prune import duplicate_edits, media_edits, prune_edits, prune_frontier, stub_edits
from proxy.records.record import Edit
from tests.support.conversations import assistant, call, image, result, user


def loop(rounds, size=900):
    """
    Return an ask and tool rounds of different results.
    """
    return [user("ask"), *[row for n in range(rounds) for row in (call("f", id=f"c{n}"), result(f"c{n}", size))]]


def test_old_long_results_become_stubs():
    """
    Above 200 characters, before the frontier, from the start.
    """
    rows = [
        user("ask"),
        call("f"),
        result("a", 900),
        call("f"),
        result("a", 90),
        call("f"),
        result("a", 901),
        assistant(),
    ]

    assert stub_edits(rows, start=0, frontier=6) == (Edit(2, "stub"),)
    assert stub_edits(rows, start=3, frontier=7) == (Edit(6, "stub"),)


def test_the_newest_rows_stay_whole_while_they_fit_the_ceiling():
    """
    protect_last_n, and no more than the ceiling holds.
    """
    rows = [*loop(20), assistant("x"), user("y")]

    assert prune_frontier(rows, [10] * len(rows), protect_last=20, ceiling=1_000) == len(rows) - 20
    assert prune_frontier(rows, [10] * len(rows), protect_last=20, ceiling=55) == len(rows) - 5


def test_short_histories_have_no_frontier():
    """
    Everything is among the newest.
    """
    assert prune_frontier(loop(3), [10] * 7, protect_last=20, ceiling=1_000) == 0


def test_a_pending_round_is_never_pruned():
    """
    The model has not read it yet.
    """
    rows = loop(3)

    assert prune_frontier(rows, [10] * len(rows), protect_last=0, ceiling=0) == 5


def test_of_exact_duplicates_the_newest_is_kept():
    """
    The same file read three times: the older two say that it comes later.
    """
    same = [row for n in range(3) for row in (call("f", id=f"c{n}"), {**result(f"c{n}"), "content": "line " * 90})]
    rows = [user("ask"), *same, assistant("done"), user("next")]

    assert duplicate_edits(rows, start=0, frontier=0) == (Edit(2, "duplicate", head=6), Edit(4, "duplicate", head=6))


def test_a_duplicate_whose_newest_is_stubbed_itself_is_a_plain_stub():
    """
    No stub may point to text that is no longer there.
    """
    same = [row for n in range(2) for row in (call("f", id=f"c{n}"), {**result(f"c{n}"), "content": "line " * 90})]
    rows = [user("ask"), *same, assistant("done"), user("next")]

    assert prune_edits(rows, start=0, frontier=5) == (Edit(2, "stub"), Edit(4, "stub"))
    assert prune_edits(rows, start=0, frontier=4) == (Edit(2, "duplicate", head=4),)


def test_results_of_the_pending_round_are_no_duplicates():
    """
    Parallel calls may return the same text; the model waits for both.
    """
    rows = [
        user("ask"),
        call("f", id="a"),
        {**result("a"), "content": "l" * 900},
        {**result("b"), "content": "l" * 900},
    ]

    assert duplicate_edits(rows, start=0, frontier=0) == ()


def test_short_duplicates_stay():
    """
    A stub would be longer.
    """
    rows = [user("ask"), call("f"), result("a", "ok"), call("f"), result("a", "ok"), assistant()]

    assert duplicate_edits(rows, start=0, frontier=0) == ()


def test_stubs_do_not_depend_on_what_comes_later():
    """
    The frontier moves only with a record; rows appended change no edit before it.
    """
    rows = loop(6)

    assert stub_edits([*rows, *loop(3)], start=0, frontier=8) == stub_edits(rows, start=0, frontier=8)


def test_old_media_go_before_newer_ones():
    """
    Keep the newest so many, across rows.
    """
    rows = [image("1"), assistant(), image("2"), assistant(), image("3")]

    assert media_edits(rows, range(5), keep=2) == (Edit(0, "media"),)
    assert media_edits(rows, range(5), keep=0) == (Edit(0, "media"), Edit(2, "media"), Edit(4, "media"))
    assert media_edits(rows, range(2), keep=9) == ()


def test_a_row_with_many_media_may_keep_some():
    """
    The limit can fall inside a row.
    """
    many = {"role": "user", "content": [image()["content"][1]] * 300}

    assert media_edits([image(), many], range(2), keep=20) == (Edit(0, "media"), Edit(1, "media", tail=20))
