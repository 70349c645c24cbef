#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The committed interface documents are what the program prints, and hang together."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from tap import BUILD, ROOT, Tap  # noqa: E402

t = Tap()


def printed(option):
    return subprocess.run([f"{BUILD}/starleased", option], stdout=subprocess.PIPE, text=True, check=True).stdout


def committed(name):
    try:
        with open(f"{ROOT}/docs/{name}", encoding="utf-8") as f:
            return f.read()
    except FileNotFoundError:
        return ""


text = printed("--openapi")
doc = json.loads(text)
t.ok(text == committed("openapi.json"), "docs/openapi.json is fresh (build/starleased --openapi > docs/openapi.json)")
t.ok(printed("--api-md") == committed("api.md"), "docs/api.md is fresh (build/starleased --api-md > docs/api.md)")
t.equal(doc["openapi"], "3.1.0", "the document is OpenAPI 3.1")


def refs(x):
    if isinstance(x, dict):
        if "$ref" in x:
            yield x["$ref"]
        for v in x.values():
            yield from refs(v)
    elif isinstance(x, list):
        for v in x:
            yield from refs(v)


schemas = doc["components"]["schemas"]
dangling = {r for r in refs(doc) if r.rsplit("/", 1)[1] not in schemas}
t.equal(dangling, set(), "every reference has its object")
used, todo = set(), {r.rsplit("/", 1)[1] for r in refs(doc["paths"])}
while todo:
    name = todo.pop()
    used.add(name)
    todo |= {r.rsplit("/", 1)[1] for r in refs(schemas.get(name, {}))} - used
t.equal(set(schemas) - used, set(), "every object is used by a call")
calls = [(m, p, c) for p, x in doc["paths"].items() for m, c in x.items()]
ids = [c["operationId"] for _, _, c in calls]
t.equal(len(ids), len(set(ids)), "operation ids are unique")
t.equal([i for i in ids if not i.replace("_", "").isalnum()], [], "operation ids are identifiers")
t.equal([p for m, p, c in calls if {x["name"] for x in c["parameters"] if x["in"] == "path"} != {x[1:-1] for x in p.split("/") if x.startswith("{")}], [],
        "every path parameter is declared")
t.equal([c["operationId"] for _, _, c in calls if not c["summary"] or "default" not in c["responses"]], [], "every call has a summary and says what errors look like")
t.equal([n for n, x in schemas.items() if set(x["required"]) - set(x["properties"])], [], "required fields exist")
t.done()
