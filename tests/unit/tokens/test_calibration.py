import random

import pytest

from proxy.tokens.calibration import Anchor, Calibration
from proxy.tokens.families import UNKNOWN, family_of

FRESH = Calibration.of(UNKNOWN)


def taught(ratio, times=20, start=FRESH, estimate=10_000):
    for _ in range(times):
        start = start.observe(estimate=estimate, actual=round(estimate * ratio))
    return start


def test_starts_from_the_prior_of_the_family():
    """
    A family's tokenizer is known before its first answer.
    """
    assert Calibration.of(family_of("claude-opus-4-7")).predict(1_000) == 1_500


@pytest.mark.parametrize("ratio", [0.85, 1.0, 1.2, 1.55, 2.5])
def test_learns_the_ratio(ratio):
    """
    After a few answers the prediction is right.
    """
    assert taught(ratio).predict(20_000) == pytest.approx(20_000 * ratio, rel=0.01)


def test_the_first_sample_counts_most():
    """
    One answer beats a guess made from a name.
    """
    assert taught(1.5, times=1).ratio == pytest.approx(1.15 + 0.8 * 0.35)


def test_an_anchor_leaves_only_what_is_new_to_be_estimated():
    """
    The true size of the last request is known; a wrong ratio only touches the new messages.
    """
    assert FRESH.predict(10_100, Anchor(estimate=10_000, actual=20_000)) == 20_115


@pytest.mark.parametrize(
    "sample",
    [
        {"estimate": 511, "actual": 900},
        {"estimate": 9_000, "actual": None},
        {"estimate": 9_000, "actual": 0},
        {"estimate": 9_000, "actual": -4},
        {"estimate": 9_000, "actual": 14_000, "media": True},
        {"estimate": 9_000, "actual": 6_000},
    ],
)
def test_some_samples_teach_nothing(sample):
    """
    Too small, missing, with images, or so low that the prompt was cut or a cache left out.
    """
    assert FRESH.observe(**sample) is FRESH


def test_a_low_sample_teaches_nothing_once_the_ratio_is_known():
    """
    A model known for 1.5 that reports 1.0 has cut the prompt.
    """
    known = taught(1.5)

    assert known.observe(estimate=10_000, actual=10_000) is known


def test_a_prior_that_is_far_too_high_is_unlearned():
    """
    The guard against truncation must not protect a wrong guess.
    """
    start = Calibration.of(family_of("claude-opus-4-7"))

    assert taught(0.9, start=start).ratio == pytest.approx(0.9, abs=0.02)


def test_the_ratio_falls_slowly_at_first():
    """
    Two low samples may be chance, and too low a ratio is the dangerous side.
    """
    assert taught(0.81, times=2).ratio >= 0.85 * 1.15


def test_the_ratio_is_clamped():
    """
    A server that reports nonsense does not stop compaction or force it for ever.
    """
    assert taught(50.0, times=200).ratio <= 3.0


def test_a_hidden_system_text_is_learned_as_a_constant():
    """
    Gateways add instructions of their own: 900 tokens to small and large prompts alike.
    """
    calibration = FRESH
    for first in range(2_000, 6_000, 100):
        anchor = None
        for estimate in range(first, 30_000, 3_000):
            calibration = calibration.observe(estimate=estimate, actual=estimate + 900, anchor=anchor)
            anchor = Anchor(estimate, estimate + 900)

    assert calibration.predict(3_000) == pytest.approx(3_900, rel=0.05)
    assert calibration.predict(30_000) == pytest.approx(30_900, rel=0.05)


def test_a_huge_prompt_makes_no_huge_constant():
    """
    A residual of 50,000 tokens is a ratio, not a system text.
    """
    calibration = FRESH.observe(estimate=200_000, actual=200_000).observe(estimate=200_000, actual=290_000)

    assert calibration.overhead <= 4_096


def test_margins_grow_when_a_prediction_was_too_low():
    """
    An underestimate costs a refusal; an overestimate costs a little room.
    """
    low = FRESH.observe(estimate=10_000, actual=15_000)

    assert low.margin() > FRESH.margin()
    assert low.margin(Anchor(1, 1)) == FRESH.margin(Anchor(1, 1))


def test_margins_shrink_while_predictions_hold():
    """
    Down to a floor that covers what cannot be learned.
    """
    anchor = Anchor(10_000, 11_500)
    calibration = FRESH
    for _ in range(600):
        calibration = calibration.observe(estimate=10_000, actual=11_500, anchor=anchor)

    assert calibration.margin(anchor) == pytest.approx(0.005)


def test_the_prediction_with_margin_is_what_thresholds_meet():
    """
    A fresh conversation is given a fifth.
    """
    assert FRESH.at_most(10_000) == round(11_500 * 1.2)


@pytest.mark.parametrize("times", [1, 9])
def test_the_first_lessons_are_worth_writing_down(times):
    """
    Where nothing is kept yet, anything is better.
    """
    assert taught(1.15, times=times).has_drifted(FRESH)


def test_a_lesson_that_changes_little_is_not_written_down():
    """
    A busy proxy does not write to its store after every answer, but after ten of them, or a change of one in a hundred.
    """
    kept = taught(1.3)

    assert not taught(1.3, times=9, start=kept).has_drifted(kept)
    assert taught(1.3, times=10, start=kept).has_drifted(kept)
    assert taught(1.4, times=1, start=kept).has_drifted(kept)


def test_the_count_in_a_refusal_is_a_sample():
    """
    Servers that refuse tell what they counted.
    """
    assert FRESH.observe_overflow(estimate=10_000, prompt=15_000) == FRESH.observe(estimate=10_000, actual=15_000)


def test_a_refusal_without_a_count_raises_the_ratio_to_the_limit():
    """
    The prompt was over the limit, whatever we thought.
    """
    calibration = FRESH.observe_overflow(estimate=10_000, limit=16_000)

    assert calibration.predict(10_000) == 16_320


@pytest.mark.parametrize(
    "numbers", [{}, {"limit": 8_000}, {"limit": 900_000}, {"limit": 0, "prompt": 0}, {"prompt": 900}]
)
def test_a_refusal_that_fits_the_prediction_changes_nothing(numbers):
    """
    A limit below the prediction was to be expected; one far above is about something else.
    """
    assert FRESH.observe_overflow(estimate=10_000, **numbers) is FRESH


def test_survives_being_written_down():
    """
    A restart keeps what was learned.
    """
    calibration = taught(1.3).observe(estimate=9_000, actual=12_000, anchor=Anchor(8_000, 10_000))

    assert Calibration.from_dict(calibration.to_dict()) == calibration


GOOD = FRESH.to_dict()


@pytest.mark.parametrize(
    "data",
    [{}, {**GOOD, "ratio": None}, {**GOOD, "ratio": "x"}, {**GOOD, "anchored": float("nan")}, {**GOOD, "samples": "?"}],
)
def test_refuses_what_is_no_calibration(data):
    """
    A damaged record is noticed.
    """
    with pytest.raises(ValueError):
        Calibration.from_dict(data)


def test_a_record_cannot_hold_more_than_can_be_learned():
    """
    Clamps hold on the way in too.
    """
    assert Calibration.from_dict({**GOOD, "ratio": 99, "anchored": 7}).ratio == 3.0


def conversations(calibration, *, ratio, constant, seed, count=40, turns=25):
    """
    Yield (prediction, prediction with margin, truth) over drifting conversations of a model.
    """
    chance = random.Random(seed)
    for _ in range(count):
        estimate = chance.randrange(1_500, 8_000)
        mix = chance.gauss(0, 0.06)  # how far this conversation's kind of text is from the model's mean
        true = estimate * ratio * (1 + mix)
        anchor = None
        for _ in range(turns):
            actual = round(true + constant)
            yield calibration.predict(estimate, anchor), calibration.at_most(estimate, anchor), actual
            calibration = calibration.observe(estimate=estimate, actual=actual, anchor=anchor)
            anchor = Anchor(estimate, actual)
            new = int(chance.lognormvariate(6.5, 1.0))
            mix += chance.gauss(0, 0.01)
            estimate += new
            true += new * ratio * (1 + mix) * (1 + chance.gauss(0, 0.05))


@pytest.mark.parametrize("prior", [1.0, 1.15, 1.5])
@pytest.mark.parametrize("ratio", [0.85, 1.0, 1.2, 1.55])
@pytest.mark.parametrize("constant", [0, 400, 800])
def test_predictions_are_good_after_five_requests(prior, ratio, constant):
    """
    1,000 requests of 40 conversations: 95 % of the predictions within 5 %, at most 3 % above the margin.
    """
    start = Calibration(prior=prior, ratio=prior)
    runs = list(conversations(start, ratio=ratio, constant=constant, seed=5))[5:]
    errors = sorted(abs(predicted / actual - 1) for predicted, _, actual in runs)
    under = sum(most < actual for _, most, actual in runs) / len(runs)
    allowed = sum(most / predicted - 1 for predicted, most, _ in runs) / len(runs)

    assert errors[int(0.95 * len(errors))] <= 0.05
    assert under <= 0.03
    assert allowed <= 0.05
