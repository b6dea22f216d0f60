"""
The summariser that needs no model: units by role, features with idf, a lazy-greedy fill, rendered in sections.
"""

from proxy.summaries.extractive.ledger import extract
from proxy.summaries.extractive.summarizer import ExtractiveSummarizer, TextCounter

__all__ = ["ExtractiveSummarizer", "TextCounter", "extract"]
