#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a running collector everything that its OpenAPI document says, and holds the answers against it.

check_openapi.py BASE_URL KEY VALUES: VALUES is a JSON object with what stands for {…} in paths, by operation
("GET /v1/reports/{id}"), queries ("query GET /v1/…", one or an array) and bodies of those that change something
("body POST /v1/…").
"""
import json
import sys
import urllib.error
import urllib.request

from jsonschema import Draft202012Validator, RefResolver


def ask(base, key, method, path, body, content_type):
    request = urllib.request.Request(base + path, data=body, method=method)
    request.add_header("Authorization", "Bearer " + key)
    if body is not None:
        request.add_header("Content-Type", content_type)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            streams = answer.headers.get_content_type() == "text/event-stream"
            text = b"" if streams else answer.read()
            return answer.status, answer.headers.get_content_type(), text
    except urllib.error.HTTPError as error:
        return error.code, error.headers.get_content_type(), error.read()


def with_key(target, key):
    return target + key if target.endswith("sentry_key=") else target


class Document:
    def __init__(self, text):
        self.json = json.loads(text)
        self.resolver = RefResolver("", self.json)

    def resolved(self, part):
        return self.resolver.resolve(part["$ref"])[1] if "$ref" in part else part

    def errors(self, schema, value):
        Draft202012Validator.check_schema(schema)
        found = Draft202012Validator(schema, resolver=self.resolver).iter_errors(value)
        return [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}" for error in found]

    def check(self, operation, status, content_type, text):
        responses = operation["responses"]
        if str(status) not in responses:
            return [f"status {status} is not among its answers: {text[:300]}"]
        content = self.resolved(responses[str(status)]).get("content", {})
        if content_type not in content:
            return [f"{content_type} is not among its answers' types"]
        if content_type != "application/json":
            return []
        return self.errors(content[content_type]["schema"], json.loads(text))


def main():
    base, key, values = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    document = Document(ask(base, key, "GET", "/v1/openapi.json", None, "")[2])
    failures = []
    asked = []
    # Deletes last: what they remove is asked for before.
    operations = [(method.upper(), path, operation) for path, methods in document.json["paths"].items()
                  for method, operation in methods.items()]
    for method, path, operation in sorted(operations, key=lambda each: each[0] == "DELETE"):
        name = f"{method} {path}"
        target = path
        if "{" in path:
            target = path[:path.index("{")] + values[name] + path[path.index("}") + 1:]
        queries = values.get("query " + name, "")
        targets = [target + query for query in (queries if isinstance(queries, list) else [queries])]
        body = values.get("body " + name)
        types = list(operation.get("requestBody", {}).get("content", {""}))
        if "requestBody" in operation and body is None:
            failures.append(f"{name}: the test has no body for it")
            continue
        if {"sentry": []} in operation["security"]:
            targets = [each + ("&" if "?" in each else "?") + "sentry_key=" for each in targets]
        encoded = None if body is None else (bytes.fromhex(body) if isinstance(body, str)
                                             else json.dumps(body).encode())
        if isinstance(body, dict):
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            failures += [f"{name}, its body: {error}" for error in document.errors(schema, body)]
        for target in targets:
            answer = ask(base, key, method, with_key(target, key), encoded, types[0])
            failures += [f"{method} {target}: {error}" for error in document.check(operation, *answer)]
            if any("/format" in parameter.get("$ref", "") for parameter in operation.get("parameters", [])):
                joint = "&" if "?" in target else "?"
                answer = ask(base, key, method, target + joint + "format=csv", None, "")
                failures += [f"{method} {target} as CSV: {error}" for error in document.check(operation, *answer)]
        status, content_type, text = ask(base, "wrong", method, with_key(target, "k_wrong"), encoded, types[0])
        if operation["security"] and (status != 401 or document.errors(
                {"$ref": "#/components/schemas/Error"}, json.loads(text))):
            failures.append(f"{name}: a wrong key gets {status} {text[:200]}")
        asked.append(name)
    print("\n".join(failures + ["asked " + name for name in sorted(asked)]))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
