"""
What an upstream's refusal means, and the ladder of attempts that answers it.

    classify.py   a body in, a fault out; asks the tables in rules.py (what counts as "too long") and refusals.py
                  (everything else), whose words stand in wording.py and whose rows are described in table.py
    normalise.py  takes a body apart: texts, codes, numbers, from whatever nesting
    numbers.py    the window, prompt and output that a text states
    peek.py       faults that no status tells: in the first event of a stream, in a 200
    actions.py    what is done about each label; the ladder and the fault matrix use the same table
    ladder.py     the retry policy as a generator, one function a cure; attempt.py is its language, climb.py its rungs,
                  targets.py its arithmetic
    skeleton.py   the shape of a wording that no rule knows, for the log
"""
