from proxy.summaries.bounding import NOTHING_BUT_MEDIA, Bounds, records
from tests.support.summaries import call, count, job, result, user


def read(rows, *, tokens=4_000, calls=4, **changes):
    return records(job(rows, 300, **changes), Bounds(tokens, calls), count)


def test_a_short_history_is_read_whole():
    """One record, nothing cut."""
    assert read([user("hello there")]) == (("[USER] hello there",),)


def test_bodies_are_shortened_before_anything_is_left_out():
    """Every row is still there, its body smaller."""
    (record,) = read([user(f"{n} " + "x" * 5_000) for n in range(12)])

    assert len(record) == 12
    assert all("characters left out" in text for text in record)


def test_tool_results_shrink_first_on_small_windows():
    """What people wrote stays whole."""
    (record,) = read([user("u" * 3_000), call("a"), result("r" * 3_000)], tokens=3_000)

    assert "left out" not in record[0]
    assert "left out" in record[2]


def test_reads_in_chunks_when_shortening_is_not_enough():
    """In order, none above the bound."""
    chunks = read([user(f"{n} " + "word " * 70) for n in range(100)])

    assert 1 < len(chunks) <= 4
    assert chunks[0][0].startswith("[USER] 0 ")
    assert all(sum(count(text) for text in chunk) <= 4_000 for chunk in chunks)


def test_reduces_what_the_calls_do_not_cover():
    """By extract, into one record."""
    (record,) = read([user(f"{n} must stay below {n * 37}. " + "word " * 70) for n in range(900)])

    assert count(record[0]) <= 4_000
    assert record[0].startswith("## ")


def test_reads_only_what_the_summary_does_not_cover():
    """The fresh turns beside a previous summary."""
    assert read([user("old"), user("new")], fresh=[user("new")], previous="## Goal\nx") == (("[USER] new",),)


def test_there_is_always_something_to_read():
    """Rows without text give a word that says so."""
    assert read([user("")]) == (NOTHING_BUT_MEDIA,)


def test_dense_text_is_bounded_by_tokens_and_not_by_characters():
    """A letter of Chinese is a token or more: what is cut by length overshoots fourfold."""
    chunks = read([user(f"{n} " + "请修复测试并说明原因。错误代码出现在第四十二行。" * 12) for n in range(100)])

    assert all(sum(count(text) for text in chunk) <= 4_000 for chunk in chunks)
