#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the manifest for Kubernetes: by a schema of the API's parts that it uses, by what its objects name in each other, and by
the images and the unit that it goes with. The ports of vcpkg and Conan are checked for what can be known without these.

Usage: manifest_test.py BUILD_DIRECTORY
"""
import ast
import copy
import json
import re

import jsonschema
import yaml
from package_files import REPOSITORY

PACKAGING = REPOSITORY / "packaging"


def check_references(objects: dict) -> None:
    """Selectors, ports, volumes and names exist."""
    service, collector, daemon = (objects[kind] for kind in ("Service", "StatefulSet", "DaemonSet"))
    for workload in (collector, daemon):
        template = workload["spec"]["template"]
        assert workload["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items()
        claims = [claim["metadata"]["name"] for claim in workload["spec"].get("volumeClaimTemplates", [])]
        volumes = {volume["name"] for volume in template["spec"].get("volumes", [])} | set(claims)
        for container in template["spec"]["containers"]:
            mounted = [mount["name"] for mount in container["volumeMounts"]]
            assert sorted(mounted) == sorted(volumes), (mounted, volumes)
            ports = {port["name"] for port in container.get("ports", [])}
            for probe in ("livenessProbe", "readinessProbe"):
                if probe in container:
                    assert container[probe]["httpGet"]["port"] in ports
    assert collector["spec"]["serviceName"] == service["metadata"]["name"]
    assert service["spec"]["selector"].items() <= collector["spec"]["template"]["metadata"]["labels"].items()
    ports = {port["name"] for port in collector["spec"]["template"]["spec"]["containers"][0]["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} <= ports
    namespaces = {each["metadata"].get("namespace") for kind, each in objects.items() if kind != "Namespace"}
    assert namespaces == {objects["Namespace"]["metadata"]["name"]}


def check_privileges(objects: dict) -> None:
    """lagwatchd has the capabilities of its unit, the collector none."""
    unit = (PACKAGING / "lagwatchd.service.in").read_text()
    needed = re.search(r"^CapabilityBoundingSet=(.*)$", unit, re.MULTILINE).group(1).replace("CAP_", "").split()
    for kind, capabilities in (("DaemonSet", sorted(needed)), ("StatefulSet", [])):
        security = objects[kind]["spec"]["template"]["spec"]["containers"][0]["securityContext"]
        assert sorted(security["capabilities"].get("add", [])) == capabilities
        assert security["capabilities"]["drop"] == ["ALL"] and not security["allowPrivilegeEscalation"]
        assert security["readOnlyRootFilesystem"]
    image = (PACKAGING / "docker/lagwatchd.Dockerfile").read_text()
    assert sorted(re.findall(r"--cap-add=(\w+)", image)) == sorted(needed)


def check_images(objects: dict) -> None:
    """Paths and ports are those of the images."""
    for kind, name in (("StatefulSet", "collector"), ("DaemonSet", "lagwatchd")):
        image = (PACKAGING / f"docker/{name}.Dockerfile").read_text()
        container = objects[kind]["spec"]["template"]["spec"]["containers"][0]
        paths = {mount["mountPath"] for mount in container["volumeMounts"]}
        assert set(re.findall(r"^VOLUME (\S+)", image, re.MULTILINE)) <= paths
        assert re.findall(r"^EXPOSE (\d+)", image, re.MULTILINE) == [str(port["containerPort"]) for port in container.get("ports", [])]


def check_ports() -> None:
    """The ports' versions are the project's, and their dependencies those of the library."""
    version = re.search(r"project\(lagwatch VERSION ([\d.]+)", (REPOSITORY / "CMakeLists.txt").read_text()).group(1)
    port = json.loads((PACKAGING / "vcpkg/lagwatch/vcpkg.json").read_text())
    assert port["version"] == version
    recipe = (PACKAGING / "conan/conanfile.py").read_text()
    ast.parse(recipe)
    assert f'version = "{version}"' in recipe
    names = {"curl": "libcurl", "liblzma": "xz_utils", "nlohmann-json": "nlohmann_json"}
    vcpkg = {names.get(each, each) for each in port["dependencies"] if isinstance(each, str)}
    conan = set(re.findall(r'"(\w+)/\[', recipe))
    assert vcpkg == conan, vcpkg ^ conan
    options = re.findall(r"LAGWATCH_(\w+)=OFF", (PACKAGING / "vcpkg/lagwatch/portfile.cmake").read_text())
    assert options and all(f'"{option}"' in recipe for option in options)
    folders = re.search(r"for folder in \((.*?)\)", recipe).group(1)
    for folder in ast.literal_eval(f"({folders})"):
        assert (REPOSITORY / folder).is_dir(), folder


def main() -> None:
    schema = json.loads((REPOSITORY / "tests/packages/kubernetes_schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    documents = list(yaml.safe_load_all((PACKAGING / "kubernetes/lagwatch.yaml").read_text()))
    objects = {each["kind"]: each for each in documents}
    assert len(objects) == len(documents)
    for each in documents:
        validator.validate(each)
    # The schema notices a word that is wrong.
    wrong = copy.deepcopy(objects["DaemonSet"])
    wrong["spec"]["template"]["spec"]["hostPid"] = wrong["spec"]["template"]["spec"].pop("hostPID")
    assert not validator.is_valid(wrong)
    check_references(objects)
    check_privileges(objects)
    check_images(objects)
    check_ports()


if __name__ == "__main__":
    main()
