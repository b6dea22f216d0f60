"""
The files under deploy/ and the Dockerfile: right by their schemas, and in agreement with the program.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from proxy.config.environment import CONFIG, UPSTREAM, VARIABLES
from proxy.config.load import load_settings

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
KUBERNETES = DEPLOY / "kubernetes"
MANIFESTS = ("namespace.yaml", "redis.yaml", "concertina.yaml", "disruption.yaml", "servicemonitor.yaml")
STANDARD = tuple(name for name in MANIFESTS if name != "servicemonitor.yaml")
"""The operator's own kinds have no schema in Kubernetes."""


def tool(name: str) -> str:
    """
    Return the path of a program, beside this Python or on the PATH; skip where it is not installed.
    """
    found = shutil.which(str(Path(sys.executable).with_name(name))) or shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def documents(name: str) -> list[dict[str, Any]]:
    """
    Return the documents of one manifest.
    """
    return list(yaml.safe_load_all((KUBERNETES / name).read_text("utf-8")))


def of_kind(kind: str, name: str) -> dict[str, Any]:
    """
    Return one object of all manifests.
    """
    every = [document for file in MANIFESTS for document in documents(file)]
    return next(one for one in every if one["kind"] == kind and one["metadata"]["name"] == name)


def compose() -> dict[str, Any]:
    """
    Return the compose file.
    """
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))


def pod() -> dict[str, Any]:
    """
    Return the proxy's pod.
    """
    return of_kind("Deployment", "concertina")["spec"]["template"]["spec"]


def seconds(text: str) -> int:
    """
    Return what compose writes as ``310s``.
    """
    return int(text.removesuffix("s"))


def test_the_compose_file_has_its_schema() -> None:
    """
    The one of the specification.
    """
    command = [tool("check-jsonschema"), "--builtin-schema", "vendor.compose-spec", str(DEPLOY / "compose.yaml")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", STANDARD)
def test_the_manifests_have_their_schemas(name: str) -> None:
    """
    Kubernetes' own, with nothing in them that it does not know.
    """
    command = [tool("kubernetes-validate"), "--strict", str(KUBERNETES / name)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_every_manifest_is_listed() -> None:
    """
    In force, or behind a comment mark with its reason.
    """
    text = (KUBERNETES / "kustomization.yaml").read_text("utf-8")

    assert sorted(re.findall(r"- (\S+\.yaml)", text)) == sorted(MANIFESTS)
    assert {path.name for path in KUBERNETES.glob("*.yaml")} == {*MANIFESTS, "kustomization.yaml"}


def test_selectors_and_ports_find_what_they_mean() -> None:
    """
    Service, budget and monitor all lead to the same pods.
    """
    labels = of_kind("Deployment", "concertina")["spec"]["template"]["metadata"]["labels"]
    service = of_kind("Service", "concertina")
    monitor = of_kind("ServiceMonitor", "concertina")["spec"]
    ports = {port["name"]: port["containerPort"] for port in pod()["containers"][0]["ports"]}
    served = {port["name"]: port["targetPort"] for port in service["spec"]["ports"]}

    assert of_kind("Deployment", "concertina")["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert service["spec"]["selector"].items() <= labels.items()
    assert of_kind("PodDisruptionBudget", "concertina")["spec"]["selector"]["matchLabels"].items() <= labels.items()
    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert set(served.values()) <= set(ports)
    assert {endpoint["port"] for endpoint in monitor["endpoints"]} <= set(served)
    assert (ports["http"], ports["admin"]) == (8080, 8081)


def test_the_monitor_has_the_token_that_the_admin_port_asks_for() -> None:
    """
    From the same secret.
    """
    [endpoint] = of_kind("ServiceMonitor", "concertina")["spec"]["endpoints"]
    env = {entry["name"]: entry for entry in pod()["containers"][0]["env"]}
    reference = env["CONCERTINA_ADMIN_TOKEN"]["valueFrom"]["secretKeyRef"]

    assert endpoint["authorization"]["credentials"] == reference


def test_variables_are_ones_that_the_proxy_reads() -> None:
    """
    A slip in a name would be ignored without a word.
    """
    named = {entry["name"] for entry in pod()["containers"][0]["env"]}
    named |= set(compose()["services"]["concertina"]["environment"])
    named |= set(re.findall(r"CONCERTINA_[A-Z_]+", (ROOT / "Dockerfile").read_text("utf-8")))
    named |= set(re.findall(r"CONCERTINA_[A-Z_]+", (DEPLOY / "systemd/concertina.service").read_text("utf-8")))

    assert named <= {CONFIG, UPSTREAM, *VARIABLES}


def configurations() -> dict[str, str]:
    """
    Return the configurations that are deployed, by where they stand.
    """
    return {
        "deploy/concertina.yaml": (DEPLOY / "concertina.yaml").read_text("utf-8"),
        "the config map": of_kind("ConfigMap", "concertina")["data"]["concertina.yaml"],
    }


@pytest.mark.parametrize("place", ["deploy/concertina.yaml", "the config map"])
def test_configurations_are_right_with_the_environment_they_run_in(tmp_path: Path, place: str) -> None:
    """
    Open to other machines, with a token for the admin port.
    """
    (tmp_path / "c.yaml").write_text(configurations()[place], "utf-8")
    environ = {
        "CONCERTINA_LISTEN": "0.0.0.0:8080",
        "CONCERTINA_ADMIN_LISTEN": "0.0.0.0:8081",
        "CONCERTINA_ADMIN_TOKEN": "t",
        "CONCERTINA_STORE": "redis://redis:6379/0",
    }

    assert load_settings(tmp_path / "c.yaml", environ=environ).limits.drain == 300


def test_streams_may_end_before_anybody_is_killed(tmp_path: Path) -> None:
    """
    What stops the process waits longer than it drains.
    """
    (tmp_path / "c.yaml").write_text(configurations()["the config map"], "utf-8")
    drain = load_settings(tmp_path / "c.yaml", environ={}).limits.drain
    pause = pod()["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]

    assert pod()["terminationGracePeriodSeconds"] > drain + pause
    assert seconds(compose()["services"]["concertina"]["stop_grace_period"]) > drain
    unit = (DEPLOY / "systemd/concertina.service").read_text("utf-8")
    assert (
        int(re.findall(r"TimeoutStopSec=(\d+)", unit)[0])
        > load_settings(ROOT / "config.example.yaml", environ={}).limits.drain
    )


def test_the_pods_may_do_nothing_that_they_need_not() -> None:
    """
    No root, nothing written but state and temporary files, no privilege, no token of the cluster.
    """
    container = pod()["containers"][0]
    mounts = {mount["mountPath"]: mount.get("readOnly", False) for mount in container["volumeMounts"]}
    service = compose()["services"]["concertina"]

    assert pod()["securityContext"]["runAsNonRoot"] is True
    assert pod()["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert {path for path, read_only in mounts.items() if not read_only} == {"/var/lib/concertina", "/tmp"}
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])


def test_probes_ask_what_needs_no_key() -> None:
    """
    Liveness depends on nothing; readiness on the token tables and on draining.
    """
    container = pod()["containers"][0]

    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": "http"}
    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": "http"}
    assert container["startupProbe"]["httpGet"]["path"] == "/healthz"


def test_the_image_is_what_the_manifests_expect() -> None:
    """
    Not root, the port, the place of state, a health check, and a command that gets the signals itself.
    """
    text = (ROOT / "Dockerfile").read_text("utf-8")
    final = text[text.rindex("FROM ") :]

    assert re.findall(r"^USER (\S+)", final, re.MULTILINE) == ["10001"]
    assert pod()["securityContext"]["runAsUser"] == 10001
    assert "CONCERTINA_LISTEN=0.0.0.0:8080" in final
    assert "HEALTHCHECK " in final
    assert "VOLUME /var/lib/concertina" in final
    # As a list: a shell in between would keep SIGTERM to itself.
    assert 'ENTRYPOINT ["concertina"]' in final
    assert "--require-hashes" in text


@pytest.mark.slow
def test_systemd_has_nothing_to_say_against_the_unit(tmp_path: Path) -> None:
    """
    Unknown or misspelt directives are warnings that nobody reads later.
    """
    unit = tmp_path / "concertina.service"
    text = (DEPLOY / "systemd/concertina.service").read_text("utf-8")
    unit.write_text(text.replace("/opt/concertina/bin/concertina", sys.executable), "utf-8")
    ran = subprocess.run([tool("systemd-analyze"), "verify", str(unit)], capture_output=True, text=True, check=False)

    said = [line for line in (ran.stdout + ran.stderr).splitlines() if "concertina.service" in line]
    assert said == []
