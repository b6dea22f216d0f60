from pathlib import Path

import pytest

from proxy.simulator.refusals import Effect
from proxy.simulator.rules import KINDS
from proxy.simulator.script_file import MAKERS
from proxy.simulator.settings import SimulatorSettings
from proxy.simulator.steps import Condition
from proxy.simulator.wordings import WORDINGS

REFERENCE = (Path(__file__).resolve().parents[3] / "docs/reference/simulator.md").read_text("utf-8")
NAMES = [*WORDINGS, *SimulatorSettings.model_fields, *MAKERS, *Condition.__slots__, *KINDS]


@pytest.mark.parametrize("name", NAMES)
def test_the_reference_names_everything(name):
    """
    Each wording, setting, step, condition and rule is documented.
    """
    assert f"`{name}`" in REFERENCE


@pytest.mark.parametrize("name", WORDINGS)
def test_the_reference_tells_the_status(name):
    """
    The row of a wording states the status that is answered.
    """
    (row,) = (line for line in REFERENCE.splitlines() if line.startswith("|") and f"`{name}`" in line.split("|")[1])
    status = WORDINGS[name].status if WORDINGS[name].effect is Effect.REFUSE else 200

    assert str(status) in row
