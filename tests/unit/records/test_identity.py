"""
How conversations are recognised.
"""

from proxy.records.identity import divergence, prefix_digests, row_digest, seed

SEED = seed(b"secret", "tenant", "route", "credential")
ROWS = [
    {"role": "user", "content": "fix it"},
    {"role": "assistant", "content": "which file?"},
    {"role": "user", "content": "a.py"},
]


def chain(rows, **options):
    return prefix_digests(rows, seed=SEED, **options)


class TestChain:
    def test_gives_one_digest_a_row(self):
        """Digest i stands for the first i + 1 rows."""
        digests = chain(ROWS)

        assert len(set(digests)) == 3
        assert all(len(bytes.fromhex(digest)) == 16 for digest in digests)

    def test_gives_nothing_for_nothing(self):
        """An empty history has no prefix."""
        assert chain([]) == ()

    def test_longer_history_begins_with_the_same_digests(self):
        """The next turn finds what the last one left."""
        assert chain(ROWS)[:2] == chain(ROWS[:2])

    def test_forks_share_their_ancestors(self):
        """Another last ask leaves everything before it recognised."""
        fork = [*ROWS[:2], {"role": "user", "content": "b.py"}]

        assert chain(fork)[:2] == chain(ROWS)[:2]
        assert chain(fork)[2] != chain(ROWS)[2]

    def test_an_edited_row_changes_every_digest_after_it(self):
        """Rows after an edit belong to another conversation, though they read the same."""
        edited = [{"role": "user", "content": "fix them"}, *ROWS[1:]]

        assert not set(chain(edited)) & set(chain(ROWS))

    def test_order_of_rows_counts(self):
        """The same rows in another order are another conversation."""
        assert chain(ROWS[::-1])[-1] != chain(ROWS)[-1]

    def test_leading_system_rows_are_no_part_of_it(self):
        """A prompt with today's date must not lose the record."""
        leading = [{"role": "system", "content": "Monday"}, {"role": "developer", "content": "x"}]

        assert chain([*leading, *ROWS]) == chain(ROWS)

    def test_later_system_rows_are(self):
        """A system row between turns is an ordinary row."""
        assert chain([*ROWS[:1], {"role": "system", "content": "x"}])[1] != chain(ROWS)[1]

    def test_does_not_change_between_versions(self):
        """Digests are stored; a release that computed others would lose every record."""
        assert chain(ROWS)[-1] == "21bf4664674687ca26dccca63b10197e"

    def test_takes_rows_that_are_no_objects(self):
        """Whatever stands in ``messages`` has a digest."""
        odd = [{"role": ["x"]}, None, 3, "text", [1], {"content": {"a": 1}}, {}]

        assert len(set(chain(odd))) == len(odd)


class TestSeed:
    def test_keeps_everyone_apart(self):
        """Another secret, tenant, route or namespace: another chain from the first row on."""
        seeds = {
            seed(b"secret", "tenant", "route", "credential"),
            seed(b"other", "tenant", "route", "credential"),
            seed(b"secret", "other", "route", "credential"),
            seed(b"secret", "tenant", "other", "credential"),
            seed(b"secret", "tenant", "route", "shared"),
            seed(b"secret", "tenantr", "oute", "credential"),
        }
        firsts = {prefix_digests(ROWS, seed=each)[0] for each in seeds}

        assert len(firsts) == 6

    def test_does_not_show_the_tenant(self):
        """Seeds are an HMAC: a key that a client presented cannot be read from them."""
        assert b"tenant" not in SEED
        assert len(SEED) == 32


class TestCanonicalize:
    def test_rules_apply_to_text_before_it_is_digested(self):
        """A client that rewrites a timestamp in old turns is still recognised."""
        rules = [(r"\[\d\d:\d\d\] ", "")]
        early = [{"role": "user", "content": "[09:00] hello"}]
        late = [{"role": "user", "content": [{"type": "text", "text": "[17:45] hello"}]}]

        assert chain(early, canonicalize=rules) == chain(late, canonicalize=rules)
        assert chain(early) != chain(late)

    def test_rules_leave_arguments_alone(self):
        """What the model wrote into a call counts to the letter."""
        call = {"id": "c", "function": {"name": "f", "arguments": "[09:00] x"}}
        other = {"id": "c", "function": {"name": "f", "arguments": "[17:45] x"}}
        rules = [(r"\[\d\d:\d\d\] ", "")]

        assert row_digest({"role": "assistant", "tool_calls": [call]}, canonicalize=rules) != row_digest(
            {"role": "assistant", "tool_calls": [other]}, canonicalize=rules
        )


class TestDivergence:
    def test_names_the_first_row_that_differs(self):
        """The metric says how early a client rewrites."""
        fork = [*ROWS[:1], {"role": "assistant", "content": "no"}, *ROWS[2:]]

        assert divergence(chain(ROWS), chain(fork)) == 1

    def test_of_a_continued_history_is_its_old_length(self):
        """Nothing differs in what both have."""
        assert divergence(chain(ROWS[:2]), chain(ROWS)) == 2

    def test_of_strangers_is_zero(self):
        """They share nothing, not even a first row."""
        assert divergence(chain(ROWS), ("x", "y")) == 0
