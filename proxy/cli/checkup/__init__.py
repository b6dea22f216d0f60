"""
What the verb ``doctor`` looks at, one module a thing: every fault says what to do about it.
"""
