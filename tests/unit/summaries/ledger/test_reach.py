import pytest

from proxy.summaries.ledger.reach import within_reach

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"


def row(text, role="user"):
    return {"role": role, "content": text}


def lines(count, word="line"):
    return "\n".join(f"{word} {number:06d} of the log" for number in range(count))


def test_what_is_short_enough_is_read_whole():
    """
    The very rows.
    """
    rows = [row(lines(10)), row("and now?")]

    assert within_reach(rows, most=1_000) is rows


def test_the_longest_rows_are_cut_and_no_others():
    """
    All to one size, which is as large as it can be.
    """
    rows = [row("short"), row(lines(1_000)), row(lines(2_000)), row("and now?")]
    read = within_reach(rows, most=10_000)
    sizes = [len(each["content"]) for each in read]

    assert (read[0], read[3]) == (rows[0], rows[3])
    assert 9_500 < sum(sizes) < 10_100
    assert abs(sizes[1] - sizes[2]) < 100


def test_beginning_and_end_stay():
    """
    Where a row says what it is, and what came of it; between whole lines.
    """
    text = lines(1_000)
    read = within_reach([row(text)], most=1_000)[0]["content"]
    first, _, last = read.partition("\n[…]\n")

    assert text.startswith(first + "\n")
    assert text.endswith("\n" + last)
    assert min(len(first), len(last)) > 200


@pytest.mark.parametrize("blank", ["\n", " ", ""])
@pytest.mark.parametrize("most", range(300, 400, 7))
def test_no_word_is_cut_in_two(most, blank):
    """
    Half a secret would pass for something else; of one word without an end only that much is read.
    """
    word = SECRET + blank
    read = within_reach([row(word * 1_000)], most=most)[0]["content"]

    assert len(read) <= most + 10
    assert not blank or set(read.split()) == {SECRET, "[…]"}


@pytest.mark.parametrize("text", [f'{{"key":"{SECRET}","next":1}},' * 1_000, "请把会议改到周三上午，谢谢。" * 1_000])
@pytest.mark.parametrize("most", range(8_000, 8_060, 7))
def test_one_long_line_is_read_too(most, text):
    """
    JSON and Chinese have no blanks; a key is left whole or out all the same.
    """
    read = within_reach([row(text)], most=most)[0]["content"].removesuffix("\n[…]\n")

    assert text.startswith(read)
    assert most - 100 < len(read) <= most
    assert read.count("sk-") == read.count(SECRET)


def test_what_stands_before_a_long_word_stays():
    """
    The word itself has no place to be cut at.
    """
    assert within_reach([row("It says: " + "QUJD" * 10_000)], most=20_000)[0]["content"] == "It says:\n[…]\n"


def test_parts_count_and_are_cut_as_text():
    """
    Their pictures have nothing to read.
    """
    parts = [{"type": "text", "text": lines(500)}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
    read = within_reach([{"role": "user", "content": parts}], most=1_000)

    assert 900 < len(read[0]["content"]) < 1_100
