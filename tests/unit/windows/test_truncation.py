import pytest

from proxy.windows.truncation import MOST_SIGHTINGS, Sighting, Verdict, filled_by, judge, worth_counting

CUT = Sighting(predicted=10_000, counted=2_050)


def test_a_count_near_the_prediction_is_whole():
    """
    Nothing is wrong with an ordinary answer.
    """
    assert judge(Sighting(10_000, 9_000)) == Verdict("whole")


def test_one_low_count_is_only_a_suspicion():
    """
    An estimate can be wrong once.
    """
    assert judge(CUT) == Verdict("suspected")


def test_two_low_counts_of_one_size_are_a_wall():
    """
    Different prompts that count the same were cut at the same place.
    """
    assert judge(CUT, history=(Sighting(9_000, 2_048),)) == Verdict("truncated", 2_050)


def test_two_low_counts_of_different_sizes_are_no_wall():
    """
    A count that follows the prompt is a wrong ratio.
    """
    assert judge(Sighting(10_000, 5_000), history=(Sighting(6_000, 3_000),)).state == "suspected"


def test_a_count_that_grows_with_the_prompt_is_a_wrong_estimate():
    """
    A conversation grows by little a turn, and so do its counts, whatever the ratio.
    """
    history = tuple(Sighting(predicted, round(0.6 * predicted)) for predicted in (10_000, 10_300, 10_800))

    assert judge(Sighting(11_300, 6_780), history=history).state == "suspected"


@pytest.mark.parametrize("predicted", [10_000, 10_300])
def test_the_same_request_twice_proves_nothing(predicted):
    """
    Equal prompts have equal counts, cut or not.
    """
    assert judge(Sighting(predicted, 6_000), history=(Sighting(10_000, 6_000),)).state == "suspected"


def test_a_slow_conversation_shows_the_wall_after_some_turns():
    """
    Turns of three per cent add up.
    """
    history = tuple(Sighting(predicted, 4_000) for predicted in (10_000, 10_300))

    assert judge(Sighting(10_610, 4_010), history=history) == Verdict("truncated", 4_010)


def test_answers_to_small_requests_in_between_hide_nothing():
    """
    An agent asks for titles and the like while its conversation runs into the wall.
    """
    small = (Sighting(300, 300),) * (MOST_SIGHTINGS - 1)

    assert judge(CUT, history=(Sighting(9_000, 2_048), *small)).state == "truncated"


def test_only_the_last_answers_count():
    """
    What happened long ago says nothing of the server now.
    """
    history = (Sighting(9_000, 2_048), *((Sighting(900, 900),) * MOST_SIGHTINGS))

    assert judge(CUT, history=history).state == "suspected"


def test_cached_tokens_explain_a_low_count():
    """
    Some gateways leave out of the count what they read from a cache.
    """
    assert judge(Sighting(10_000, 2_000, cached=7_500), history=(CUT,)).state == "whole"


def test_a_larger_prompt_that_passed_whole_raises_the_window():
    """
    Some servers keep only half the window when they cut; what passed before fits.
    """
    history = (Sighting(3_800, 3_900), Sighting(9_000, 2_050))

    assert judge(CUT, history=history).window == 3_900


def test_the_window_is_never_raised_above_what_was_believed():
    """
    A truncation only ever lowers a belief.
    """
    assert judge(CUT, history=(Sighting(9_000, 2_050),), window=2_000).window == 2_000


def test_a_small_prompt_proves_nothing():
    """
    Frames and templates weigh too much in it.
    """
    assert judge(Sighting(800, 100), history=(Sighting(800, 100),)).state == "whole"


def test_a_missing_count_proves_nothing():
    """
    Some servers report zero.
    """
    assert judge(Sighting(9_000, 0), history=(Sighting(9_000, 0),)).state == "whole"


def test_an_empty_answer_at_the_end_of_the_window_had_no_room():
    """
    Some servers accept a prompt that fills the window and answer nothing.
    """
    verdict = judge(Sighting(8_000, 8_100, filled=8_100), window=8_192)

    assert verdict == Verdict("no_room", 8_100)


def test_an_early_stop_far_from_the_window_proves_nothing():
    """
    Servers have small defaults for the answer's length.
    """
    assert judge(Sighting(2_000, 2_000, filled=2_016), window=8_192).state == "whole"


def test_a_prompt_that_passed_whole_long_before_is_no_window():
    """
    A server keeps half its window at least; what passed at four times the wall was another server.
    """
    history = (Sighting(9_000, 9_000), Sighting(9_000, 2_050))

    assert judge(CUT, history=history).window == 2_050


@pytest.mark.parametrize(
    ("body_bytes", "counted", "worth"),
    [(40_000, 9_000, False), (40_000, 2_050, True), (5_000, 100, False), (40_000, 0, False)],
)
def test_a_request_is_counted_late_where_its_bytes_speak_against_the_count(body_bytes, counted, worth):
    """
    Ordinary text has four bytes a token; twenty are a cut prompt. Small requests and servers that count nothing are let be.
    """
    assert worth_counting(body_bytes=body_bytes, counted=counted) is worth


def test_the_same_sum_of_different_prompts_is_a_window():
    """
    1,900 and 124, 2,010 and 14: whatever was believed, 2,024 is where it ends.
    """
    earlier = Sighting(2_000, 2_010, filled=2_024)
    verdict = judge(Sighting(2_000, 2_020, filled=2_024), history=(earlier,), window=128_000)

    assert verdict == Verdict("no_room", 2_024)


def test_the_same_request_again_is_no_second_witness():
    """
    A default of so many tokens gives the same sum for the same prompt.
    """
    earlier = Sighting(2_000, 2_010, filled=2_024)

    assert judge(earlier, history=(earlier,), window=128_000).state == "whole"


@pytest.mark.parametrize(
    ("completion", "finish", "asked", "expected"),
    [
        (2, "length", None, 1_024),
        (2, "length", 500, 1_024),
        (0, "length", None, 1_022),
        (None, "length", None, 1_022),
        (2, "length", 2, None),
        (60, "length", None, None),
        (2, "stop", None, None),
        (2, None, None, None),
    ],
)
def test_only_a_handful_that_nobody_asked_for_fills_a_window(completion, finish, asked, expected):
    """
    A length stop after real output, or after what was asked for, is the client's own limit.
    """
    assert filled_by(prompt=1_022, completion=completion, finish_reason=finish, asked=asked) == expected
