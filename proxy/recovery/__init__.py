"""
What an upstream's refusal means, and the ladder of attempts that answers it.
"""
