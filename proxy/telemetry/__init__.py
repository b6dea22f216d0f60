"""
Event and metric names, and their set-up.
"""
