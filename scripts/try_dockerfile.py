"""
Run the steps of the Dockerfile without Docker: in a Debian root made by debootstrap, as root, on Linux.

What it proves: every RUN and COPY works from a clean system with the files that .dockerignore lets through; the result
starts as the image's user, with a root that cannot be written, passes the image's HEALTHCHECK, and ends with 0 at SIGTERM.
What it cannot: layers, the registry's base image (Debian's own Python stands in), other processors.

    sudo python scripts/try_dockerfile.py FOLDER          # FOLDER gets some 500 MB and may be removed afterwards
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUITE = "bookworm"
PACKAGES = "python3,python3-venv,python3-pip,ca-certificates"
UPSTREAM = "http://127.0.0.1:9/v1"
TRIES = 100
# How this machine reaches its package index, for the build alone.
INDEX = ("/etc/pip.conf", "/etc/resolv.conf", "/root/.config/pip/pip.conf", "/etc/ssl/certs/ca-certificates.crt")
AUTHORITIES = ("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")


@dataclass
class Stage:
    """
    One FROM and what follows it.
    """

    root: Path
    env: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"})
    folder: str = "/"
    user: str = "0"
    volumes: list[str] = field(default_factory=list)
    command: dict[str, list[str]] = field(default_factory=dict)


def instructions(text: str) -> list[tuple[str, str]]:
    """
    Return the instructions with their lines joined.
    """
    joined = re.sub(r"\\\n", "", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    return [
        (word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line.strip())
    ]


def base(folder: Path) -> Path:
    """
    Return a clean Debian root with a Python named as in the image; made once.
    """
    root = folder / "base"
    if not root.exists():
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(root)], check=True)
        (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    return root


def context(folder: Path) -> Path:
    """
    Return the build context: what git knows and .dockerignore lets through.
    """
    place = folder / "context"
    shutil.rmtree(place, ignore_errors=True)
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for name in subprocess.run(
        ["git", "ls-files", *kept], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, place / name)
    return place


def run(stage: Stage, command: list[str]) -> None:
    """
    Run a command in the stage's root.
    """
    # The index of this machine is part of its environment.
    kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name in AUTHORITIES}
    env = stage.env | kept
    entered = ["chroot", str(stage.root), "/bin/sh", "-c", f"cd {stage.folder} && exec " + shlex.join(command)]
    subprocess.run(entered, env=env, check=True)


def copy(stage: Stage, rest: str, stages: dict[str, Stage], place: Path) -> None:
    """
    Carry out COPY, from the context or from another stage.
    """
    words = rest.split()
    source = stages[words.pop(0).removeprefix("--from=")].root if words[0].startswith("--from=") else place
    *names, target = words
    goal = stage.root / (target if target.startswith("/") else f"{stage.folder}/{target}").lstrip("/")
    for name in names:
        found = source / name.lstrip("/")
        if found.is_dir():
            shutil.copytree(found, goal, dirs_exist_ok=True, symlinks=True)
        else:
            shutil.copy2(found, goal)


def with_index(root: Path) -> None:
    """
    Let the build reach the package index as this machine does.
    """
    for file in {*INDEX, *(os.environ[name] for name in AUTHORITIES if os.environ.get(name))}:
        if Path(file).is_file():
            goal = root / file.lstrip("/")
            goal.parent.mkdir(parents=True, exist_ok=True)
            goal.unlink(missing_ok=True)
            shutil.copy2(Path(file).resolve(), goal)


def built(folder: Path) -> Stage:
    """
    Carry out the Dockerfile and return its last stage.
    """
    place, stages, stage = context(folder), {}, None
    for word, rest in instructions((ROOT / "Dockerfile").read_text()):
        print("==", word, rest[:100], flush=True)
        if word == "FROM":
            name = rest.partition(" AS ")[2] or f"stage{len(stages)}"
            root = folder / name
            shutil.rmtree(root, ignore_errors=True)
            subprocess.run(["cp", "-a", str(base(folder)), str(root)], check=True)
            with_index(root)
            stage = stages[name] = Stage(root)
            continue
        assert stage is not None
        carry_out(stage, word, rest, stages, place)
    assert stage is not None
    return stage


def carry_out(  # noqa: PLR0912 - a branch an instruction
    stage: Stage, word: str, rest: str, stages: dict[str, Stage], place: Path
) -> None:
    """
    Carry out one instruction.
    """
    if word == "RUN":
        run(stage, ["/bin/sh", "-c", rest])
    elif word == "COPY":
        copy(stage, rest, stages, place)
    elif word == "ENV":
        for name, value in re.findall(r"(\w+)=(\S+)", rest):
            stage.env[name] = value.replace("$PATH", stage.env["PATH"])
    elif word == "WORKDIR":
        stage.folder = rest
        (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
    elif word == "USER":
        stage.user = rest
    elif word == "VOLUME":
        stage.volumes.append(rest)
    elif word in {"ENTRYPOINT", "CMD"}:
        stage.command[word] = json.loads(rest)
    elif word == "HEALTHCHECK":
        stage.command[word] = json.loads(rest[rest.index("CMD") + 3 :])


def contained(stage: Stage, command: list[str]) -> list[str]:
    """
    Return *command* as the image's user, in a root that cannot be written but for its volumes and /tmp.
    """
    root = shlex.quote(str(stage.root))
    steps = [f"mount --bind {root} {root}", f"mount -o remount,ro,bind {root} {root}", f"mount -t tmpfs tmp {root}/tmp"]
    for volume in stage.volumes:
        steps += [f"mount -t tmpfs -o uid={stage.user},mode=700 state {root}{volume}"]
    inner = f"cd {stage.folder} && exec setpriv --reuid {stage.user} --regid {stage.user} --clear-groups "
    steps += [f"exec chroot {root} /bin/sh -c {shlex.quote(inner + shlex.join(command))}"]
    return ["unshare", "--mount", "/bin/sh", "-ec", "\n".join(steps)]


def tried(stage: Stage) -> int:
    """
    Start what was built, check its health, try to write, and end it.
    """
    env = stage.env | {"CONCERTINA_UPSTREAM": UPSTREAM}
    program = subprocess.Popen(contained(stage, stage.command["ENTRYPOINT"] + stage.command["CMD"]), env=env)
    try:
        for _ in range(TRIES):
            if (
                subprocess.run(
                    contained(stage, stage.command["HEALTHCHECK"]), env=env, capture_output=True, check=False
                ).returncode
                == 0
            ):
                break
            time.sleep(0.2)
        else:
            print("the health check never passed")
            return 1
        wrote = subprocess.run(contained(stage, ["touch", "/opt/x"]), env=env, capture_output=True, check=False)
        assert wrote.returncode != 0, "the root can be written"
    finally:
        program.send_signal(signal.SIGTERM)
        code = program.wait(60)
    print("health check passed, root is read-only, exit code at SIGTERM:", code)
    return code


if __name__ == "__main__":
    working = Path(sys.argv[1]).resolve()
    working.mkdir(parents=True, exist_ok=True)
    sys.exit(tried(built(working)))
