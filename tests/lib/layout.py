# SPDX-License-Identifier: Apache-2.0
"""An OCI image layout made by hand, blob by blob.

    lay = Layout(folder)
    digest = lay.image([tar_bytes, gzip.compress(tar_bytes)])     of the manifest; index.json names it
"""
import hashlib
import json
import os

OCI = "application/vnd.oci.image."
MANIFEST, INDEX, CONFIG = OCI + "manifest.v1+json", OCI + "index.v1+json", OCI + "config.v1+json"


class Layout:
    def __init__(self, root):
        self.root = root
        os.makedirs(root + "/blobs/sha256")
        with open(root + "/oci-layout", "w") as f:
            f.write('{"imageLayoutVersion":"1.0.0"}')

    def blob(self, data, kind):
        digest = hashlib.sha256(data).hexdigest()
        with open(f"{self.root}/blobs/sha256/{digest}", "wb") as f:
            f.write(data)
        return {"mediaType": kind, "digest": "sha256:" + digest, "size": len(data)}

    def image(self, layers, platform=None):
        config = self.blob(b'{"architecture":"amd64","os":"linux"}', CONFIG)
        kinds = [OCI + "layer.v1.tar" + ("+gzip" if d[:2] == b"\x1f\x8b" else "+zstd" if d[:4] == b"\x28\xb5\x2f\xfd" else "") for d in layers]
        manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [self.blob(d, k) for d, k in zip(layers, kinds)]}
        self.manifest = self.blob(json.dumps(manifest).encode(), MANIFEST)
        index = {"schemaVersion": 2, "mediaType": INDEX,
                 "manifests": [dict(self.manifest, platform=platform or {"os": "linux", "architecture": "amd64"})]}
        with open(self.root + "/index.json", "w") as f:
            json.dump(index, f)
        return self.manifest["digest"]
