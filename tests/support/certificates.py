"""
A certificate for servers of tests.
"""

import subprocess
from pathlib import Path

import pytest


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """
    Make a certificate that vouches for itself; skip where there is no openssl.
    """
    made, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    try:
        subprocess.run([*make.split(), "-keyout", key, "-out", made], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl is not installed")
    return made, key
