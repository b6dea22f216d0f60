"""
How the summariser without a model works: units by role, features with idf, a lazy-greedy fill, written in sections.
"""
