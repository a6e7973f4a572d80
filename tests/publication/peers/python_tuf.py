"""python-tuf, as a reader and a writer of repositories, for interop.test.ts. One JSON object comes on standard input and one goes out."""

import base64
import hashlib
import json
import os
import sys
from datetime import datetime, timedelta, timezone

from securesystemslib.formats import encode_canonical
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import (
    DelegatedRole,
    Delegations,
    Metadata,
    MetaFile,
    Root,
    Snapshot,
    SuccinctRoles,
    TargetFile,
    Targets,
    Timestamp,
)
from tuf.api.serialization.json import JSONSerializer
from tuf.ngclient import Updater


def read(given):
    """Downloads targets; for each its SHA-256, or the name of what was raised; null where the repository has none."""
    for name in ("metadata", "targets"):
        os.makedirs(os.path.join(given["folder"], name), exist_ok=True)
    updater = Updater(
        os.path.join(given["folder"], "metadata"),
        given["metadataUrl"],
        os.path.join(given["folder"], "targets"),
        given["targetsUrl"],
        bootstrap=base64.b64decode(given["root"]),
    )
    try:
        updater.refresh()
    except Exception as error:
        return {"refresh": type(error).__name__, "targets": {}}
    return {"refresh": None, "targets": {name: download(updater, name) for name in given["names"]}}


def download(updater, name):
    try:
        info = updater.get_targetinfo(name)
        if info is None:
            return None
        if name.endswith(".protected"):  # its file is longer than the target: the payload comes behind it
            return {"head": info.hashes["sha256"], "length": info.length, "custom": info.custom}
        with open(updater.download_target(info), "rb") as file:
            return {"sha256": hashlib.sha256(file.read()).hexdigest()}
    except Exception as error:
        return {"error": type(error).__name__}


class Repository:
    """Signed with Ed25519, two signatures for every role, and a root that was rotated."""

    def __init__(self, compact):
        self.files = {}
        self.serializer = JSONSerializer(compact=compact)
        self.expires = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=30)
        self.signers = {role: [CryptoSigner.generate_ed25519() for _ in range(3)] for role in ("root", "online", "bins", "team")}

    def put(self, name, signed, signers):
        metadata = Metadata(signed)
        for signer in signers[:2]:
            metadata.sign(signer, append=True)
        data = metadata.to_bytes(self.serializer)
        self.files[f"{name}.json"] = base64.b64encode(data).decode()
        return data

    def root(self, version):
        root = Root(version=version, expires=self.expires, consistent_snapshot=True)
        for role in ("root", "timestamp", "snapshot", "targets"):
            for signer in self.signers["root" if role == "root" else "online"]:
                root.add_key(signer.public_key, role)
            root.roles[role].threshold = 2
        return root

    def make(self, names):
        before = self.signers["root"]
        first = self.put("1.root", self.root(1), before)
        self.signers["root"] = [CryptoSigner.generate_ed25519(), before[0], before[1]]
        root = Metadata(self.root(2))
        for signer in [*before[:2], *self.signers["root"][:2]]:
            root.sign(signer, append=True)
        self.files["2.root.json"] = base64.b64encode(root.to_bytes(self.serializer)).decode()
        roles = self.delegate(names)
        meta = {
            f"{name}.json": MetaFile(1, len(data), {"sha256": hashlib.sha256(data).hexdigest()})
            for name, data in roles.items()
        }
        snapshot = self.put("1.snapshot", Snapshot(expires=self.expires, meta=meta), self.signers["online"])
        about = MetaFile(1, len(snapshot), {"sha256": hashlib.sha256(snapshot).hexdigest()})
        self.put("timestamp", Timestamp(expires=self.expires, snapshot_meta=about), self.signers["online"])
        return first

    def delegate(self, names):
        """`targets` delegates what is below team/ to a role of its own, and the rest by another to succinct bins."""
        bins = SuccinctRoles([s.public_key.keyid for s in self.signers["bins"]], 2, 3, "bin")
        contents = {name: {} for name in bins.get_roles()}
        team = {}
        for name in names:
            place = team if name.startswith("team/") else contents[bins.get_role_for_target(name)]
            place[name] = TargetFile.from_data(name, name.encode(), ["sha256"])
        ids = [s.public_key.keyid for s in self.signers["team"]]
        rest = [s.public_key.keyid for s in self.signers["bins"]]
        top = Targets(expires=self.expires, delegations=Delegations(
            {s.public_key.keyid: s.public_key for s in [*self.signers["team"], *self.signers["bins"]]},
            {
                "team": DelegatedRole("team", ids, 2, True, paths=["team/*"]),
                "all": DelegatedRole("all", rest, 2, True, path_hash_prefixes=list("0123456789abcdef")),
            },
        ))
        every = Targets(expires=self.expires, delegations=Delegations(
            {s.public_key.keyid: s.public_key for s in self.signers["bins"]}, succinct_roles=bins))
        roles = {"targets": self.put("1.targets", top, self.signers["online"])}
        roles["all"] = self.put("1.all", every, self.signers["bins"])
        roles["team"] = self.put("1.team", Targets(expires=self.expires, targets=team), self.signers["team"])
        for name, targets in contents.items():
            roles[name] = self.put(f"1.{name}", Targets(expires=self.expires, targets=targets), self.signers["bins"])
        return roles


def write(given):
    repository = Repository(given["compact"])
    first = repository.make(given["names"])
    return {"root": base64.b64encode(first).decode(), "files": repository.files}


def canonical(given):
    return {"texts": [encode_canonical(value) for value in given["values"]]}


DO = {"read": read, "write": write, "canonical": canonical}
request = json.load(sys.stdin)
json.dump(DO[request["do"]](request), sys.stdout)
