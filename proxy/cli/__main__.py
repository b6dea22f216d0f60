"""
``python -m proxy.cli`` is ``concertina``, also where no script is installed.
"""

from proxy.cli.main import main

if __name__ == "__main__":
    main(prog_name="concertina")
