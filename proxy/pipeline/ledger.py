"""
Running sums of tokens and money: by route and model, and by the minute.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from proxy.chat.json import clean_text

MINUTE = 60.0
MINUTES = 24 * 60
"""How far back sums by the minute go."""
MOST_MODELS = 200
LONGEST_NAME = 100
OTHER = "other"
"""Where models go once there are too many names: clients choose them."""

Sums = dict[str, float]


class Ledger:
    """
    Adds up; bounded, whatever clients send.
    """

    def __init__(self) -> None:
        self._rows: dict[tuple[str, str], Sums] = {}
        self._minutes: OrderedDict[int, Sums] = OrderedDict()

    def name_of(self, route: str, model: str) -> str:
        """
        Return what a model is called in sums and labels.
        """
        name = model[:LONGEST_NAME]
        if (route, name) in self._rows:
            return name
        # A lone surrogate in a label would break every scrape from then on.
        name = clean_text(name)
        full = len(self._rows) >= MOST_MODELS and (route, name) not in self._rows
        return OTHER if full or not name else name

    def add(self, route: str, model: str, entries: Mapping[str, float], *, at: float) -> None:
        """
        Add *entries* to the sums of a route and model, and to those of the minute.
        """
        row = self._rows.get((route, model))
        if row is None:
            row = self._rows.setdefault((route, self.name_of(route, model)), {})
        minute = int(at // MINUTE)
        sums = self._minutes.get(minute)
        if sums is None:
            sums = self._minutes[minute] = {}
            while len(self._minutes) > MINUTES:
                self._minutes.popitem(last=False)
        for name, value in entries.items():
            row[name] = row.get(name, 0.0) + value
            sums[name] = sums.get(name, 0.0) + value

    def sum_of(self, route: str, model: str, entry: str) -> float:
        """
        Return one sum so far.
        """
        return self._rows.get((route, self.name_of(route, model)), {}).get(entry, 0.0)

    def by_model(self) -> dict[str, dict[str, Sums]]:
        """
        Return the sums by route, and in them by model.
        """
        found: dict[str, dict[str, Sums]] = {}
        for (route, model), sums in self._rows.items():
            found.setdefault(route, {})[model] = dict(sums)
        return found

    def by_minute(self) -> dict[str, Sums]:
        """
        Return the sums of each minute in which something ended, by seconds since 1970.
        """
        return {str(minute * int(MINUTE)): dict(sums) for minute, sums in self._minutes.items()}
