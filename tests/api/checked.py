# SPDX-License-Identifier: Apache-2.0
"""A client that holds every answer against the OpenAPI document of the running server.

    c = Checked(server.port, token)       as Client of tests/lib/starlease.py
    c.get("/v1/wallet")                   raises AssertionError when the answer is not what the document says

Only the part of JSON Schema that the document uses is understood; an unknown keyword is an error."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from starlease import Client  # noqa: E402

KNOWN = {"type", "properties", "required", "additionalProperties", "items", "enum", "pattern", "format", "oneOf", "$ref",
         "description", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"}
TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict, "null": type(None)}
TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z$")


class Document:
    def __init__(self, doc):
        self.doc = doc
        self.paths = []
        for path, calls in doc["paths"].items():
            pattern = re.compile("^" + re.sub(r"\\{[^}]*\\}", "[^/]+", re.escape(path)) + "$")
            self.paths.append((path.count("{"), pattern, path, calls))
        self.paths.sort(key=lambda p: p[0])
        self.checked = set()  # "GET /v1/x 2XX": what was seen

    def find(self, path):
        path = path.split("?")[0]
        for _, pattern, name, calls in self.paths:
            if pattern.match(path):
                return name, calls
        return None, None

    def routes(self):
        for path, calls in self.doc["paths"].items():
            for method, call in calls.items():
                yield method.upper(), path, call

    def wrong(self, schema, v, at="answer"):
        """None, or what does not fit."""
        unknown = set(schema) - KNOWN
        if unknown:
            return f"{at}: the document uses {unknown}"
        if "$ref" in schema:
            return self.wrong(self.doc["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]], v, at)
        if "oneOf" in schema:
            fits = [s for s in schema["oneOf"] if self.wrong(s, v, at) is None]
            return None if len(fits) == 1 else f"{at}: {v!r} fits {len(fits)} of oneOf: {self.wrong(schema['oneOf'][0], v, at)}"
        if "type" in schema:
            types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            if not any(isinstance(v, TYPES[t]) and not (t == "integer" and isinstance(v, bool)) for t in types):
                return f"{at}: {v!r} is not {types}"
        if v is None:
            return None
        if "enum" in schema and v not in schema["enum"]:
            return f"{at}: {v!r} is not in {schema['enum']}"
        if "pattern" in schema and not re.search(schema["pattern"], v):
            return f"{at}: {v!r} does not match {schema['pattern']}"
        if schema.get("format") == "date-time" and not TIME.match(v):
            return f"{at}: {v!r} is no time in UTC"
        if isinstance(v, list):
            for i, x in enumerate(v):
                why = self.wrong(schema.get("items", {}), x, f"{at}[{i}]")
                if why:
                    return why
        if isinstance(v, dict):
            properties = schema.get("properties", {})
            for name in schema.get("required", []):
                if name not in v:
                    return f"{at}.{name}: missing"
            for name, x in v.items():
                if name not in properties:
                    if schema.get("additionalProperties", True) is False:
                        return f"{at}.{name}: not in the document"
                    continue
                why = self.wrong(properties[name], x, f"{at}.{name}")
                if why:
                    return why
        return None

    def check(self, method, path, status, body, headers):
        kind = headers.get("content-type", "").split(";")[0]
        if status >= 400:
            assert kind == "application/problem+json", (method, path, status, kind, body)
            why = self.wrong({"$ref": "#/components/schemas/Problem"}, body, "problem")
            assert why is None, (method, path, why)
            assert body["status"] == status and body["type"].endswith("/" + body["code"]), body
            assert body["request_id"] == headers["x-request-id"], (body, headers)
            assert "\n" not in body["detail"] and len(body["detail"]) > 10, body
            self.checked.add(f"{method} {self.find(path)[0]} {status}")
            return
        name, calls = self.find(path)
        assert name and method.lower() in calls, f"{method} {path} is not in the document"
        responses = calls[method.lower()]["responses"]
        self.checked.add(f"{method} {name} 2XX")
        if status in (204, 304):
            assert body == "", (method, path, body)
            assert status == 304 or "204" in responses, f"{method} {path}: 204 is not in the document"
            return
        assert "2XX" in responses, f"{method} {path}: {status} is not in the document"
        content = responses["2XX"]["content"]
        assert kind in content, (method, path, kind, list(content))
        if kind == "application/json":
            why = self.wrong(content[kind]["schema"], body)
            assert why is None, f"{method} {path}: {why}"


class Checked(Client):
    document = None

    def __init__(self, port, token=None, account=None):
        super().__init__(port, token, account)
        if Checked.document is None:
            Checked.document = Document(Client(port).must("GET", "/v1/openapi.json"))

    def call(self, method, path, *a, **kw):
        status, body = super().call(method, path, *a, **kw)
        if method != "HEAD":
            Checked.document.check(method, path, status, body, self.headers)
        return status, body


def checked(client):
    """The same caller, checked."""
    return Checked(client.port, client.token, client.account)
