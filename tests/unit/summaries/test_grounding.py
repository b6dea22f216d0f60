import pytest

from proxy.summaries.grounding import ground
from proxy.summaries.sections import Section, title
from tests.support.summaries import GOOD, assistant, call, count, job, result, user

ROWS = [
    user("Never touch db/schema.sql while you work on this."),
    call("edit_file", path="src/load.py", content="x"),
    result("ok"),
    assistant("The import was repaired in src/load.py and commit 9f8e7d6c was made."),
    user("Also look at the exporter when you have time."),
    assistant("Noted."),
]


def test_appends_a_rule_that_the_model_forgot():
    """What a user ruled is quoted word for word."""
    text = ground(GOOD, job(ROWS, 800), count)

    assert "“Never touch db/schema.sql while you work on this.”" in text


def test_says_a_rule_once():
    """A rule that the model quoted is not appended again."""
    model = GOOD + '\n## Constraints & preferences\n- "Never touch db/schema.sql while you work on this."'

    assert ground(model, job(ROWS, 800), count).count("db/schema.sql while") == 1


def test_drops_invented_quotes():
    """A constraint nobody stated is removed; a genuine one stays."""
    model = (
        GOOD
        + '\n## Constraints & preferences\n- "Always deploy on Fridays."\n- "Never touch db/schema.sql while you work on this."'
    )
    text = ground(model, job(ROWS, 800), count)

    assert "Fridays" not in text
    assert "db/schema.sql" in text


def test_goal_quotes_the_first_ask():
    """The first real ask stands verbatim under Goal, before what the model wrote."""
    text = ground("## Goal\nRepair.\n" + GOOD, job(ROWS, 800, first_ask="Repair the importer, please."), count)

    assert text.startswith("## Goal\nRepair the importer, please.\nRepair.")


def test_adds_the_latest_ask_when_nothing_live_follows():
    """Where the tail holds no words of the user the last ask is named as in progress."""
    text = ground(GOOD, job([*ROWS, user("Count the rows of table five.")], 800), count)

    assert f"{title(Section.IN_PROGRESS, 'en')}: “Count the rows of table five.”" in text


def test_leaves_the_latest_ask_to_the_tail():
    """Where the tail has it, it is not said twice as in progress."""
    rows = [user("Count the rows of table five."), assistant("There were 52 rows.")]

    assert "Count the rows" not in ground(GOOD, job(rows, 800, tail=[user("And now table six.")]), count)


def test_adds_edited_paths_and_exact_strings():
    """Paths that were written and ids stand in the notes even if the model forgot them."""
    text = ground("## Progress\n- Something was repaired in the importer.", job(ROWS, 800), count)

    assert "src/load.py (edit_file)" in text
    assert "9f8e7d6c" in text


def test_adds_open_todo_items():
    """The plan survives a model that left it out."""
    todos = [
        {"content": "repair the exporter", "status": "pending"},
        {"content": "read the code", "status": "completed"},
    ]
    text = ground(GOOD, job([*ROWS, call("todo_write", todos=todos), result("ok")], 800), count)

    assert "[ ] repair the exporter" in text
    assert "read the code" not in text


def test_uses_section_names_of_the_conversation():
    """A Chinese conversation gets Chinese headings."""
    rows = [user("绝对不要修改 db/schema.sql 这个文件。"), assistant("好的，已经修复 src/load.py。")]
    text = ground("## 进展\n- 已经读取并修复了导入程序，问题在第五行。", job(rows, 600), count)

    assert "## 约束与偏好" in text
    assert "Constraints" not in text


def test_stays_below_the_ceiling():
    """However much is missing."""
    rows = [user(f"You must never rename module_{n}.py in any way.") for n in range(200)]

    assert count(ground(GOOD, job(rows, 300), count)) <= 300


def test_a_text_over_the_ceiling_is_cut():
    """A model that wrote too much does not break the plan."""
    text = "\n".join(f"- fact {n} of the importer" for n in range(400))

    assert count(ground(text, job(ROWS, 200), count)) <= 200


def test_grounding_twice_changes_nothing():
    """What is there already is found there."""
    once = ground(GOOD, job(ROWS, 2_000), count)

    assert ground(once, job(ROWS, 2_000), count) == once


def test_secrets_stay_out():
    """What is appended is masked as well."""
    rows = [user("You must use password=Sup3rS3cret for the test server.")]

    assert "Sup3rS3cret" not in ground(GOOD, job(rows, 800), count)


@pytest.mark.parametrize("ceiling", [200, 400, 800])
def test_a_model_that_fills_the_room_does_not_crowd_out_the_first_ask(ceiling: int) -> None:
    """
    Its own words give way: a text as long as the summary may be once left no room for the task itself.
    """
    ask = "Port the billing service to the new queue. " + "It must keep the order of invoices within a customer. " * 2
    wordy = "## Goal\nThe work goes on.\n\n## Critical context\n" + "\n".join(
        f"- Step {number} of the work was looked at and found to be in order." for number in range(200)
    )

    grounded = ground(wordy, job([user(ask), assistant("on it")], 2_000, first_ask=ask, ceiling_tokens=ceiling), count)

    assert " ".join(ask.split()) in " ".join(grounded.split())
    assert "Step 0 of the work" in grounded
    assert count(grounded) <= ceiling
