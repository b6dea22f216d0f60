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
    return made_in(tmp_path)


def made_in(folder: Path) -> tuple[Path, Path]:
    """
    Make another one in a folder.
    """
    made, key = folder / "cert.pem", folder / "key.pem"
    make = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    try:
        subprocess.run([*make.split(), "-keyout", key, "-out", made], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("openssl is not installed")
    return made, key
