"""
Conversation identity, compaction records, sessions, and the stores that hold them.
"""
