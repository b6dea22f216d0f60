"""
The admin port: metrics, stats, sessions, explain.
"""
