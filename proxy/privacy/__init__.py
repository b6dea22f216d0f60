"""
Redaction of secrets and the injection scan.
"""
