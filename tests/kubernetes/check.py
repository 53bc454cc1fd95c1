"""check.py TFD - every manifest below deploy/kubernetes against the fields that
Kubernetes and its operators know, what manifests say of each other, and what TFD
makes of the command lines and environments that its Pods would have.

The tables hold the fields that our manifests use, with their types, from the API
references of Kubernetes 1.28, Prometheus' operator and Kubeflow's TFJob v1; a
field that is not in them is refused, as `kubectl apply` with strict validation
refuses one that it does not know.  The manifests are also damaged, field by
field, and each time that must be found.
"""
import copy
import json
import os
import re
import subprocess
import sys

import yaml

TOP = "deploy/kubernetes"
NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL = re.compile(r"([a-z0-9.-]+/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?")
DURATION = re.compile(r"([0-9]+[smh])+")
QUANTITY = re.compile(r"[0-9]+(m|Ki|Mi|Gi)?")


class Wrong(Exception):
    pass


# ---- Schemas -----------------------------------------------------------------
# A schema is a type, a pattern of a whole text, a set of words, [schema] for a
# list, or a table from field to schema; "!" before a field: it must be there.

def is_text(x):
    return isinstance(x, str)


def port(x):
    return isinstance(x, int) and not isinstance(x, bool) and 1 <= x <= 65535


def port_or_name(x):
    return port(x) or (is_text(x) and NAME.fullmatch(x) and len(x) <= 15)


def number(x):
    return isinstance(x, int) and not isinstance(x, bool) and x >= 0


def switch(x):
    return isinstance(x, bool)


def labels(x):
    return isinstance(x, dict) and x and all(
        is_text(k) and LABEL.fullmatch(k) and is_text(v) and
        LABEL.fullmatch(v) for k, v in x.items())


META = {"!name": NAME, "labels": labels}
SELECTOR = {"!matchLabels": labels}
PROBE = {"!httpGet": {"!path": re.compile(r"/\w+"), "!port": port_or_name},
         "periodSeconds": number, "failureThreshold": number}
RESOURCES = {"cpu": QUANTITY, "memory": QUANTITY}
CONTAINER = {
    "!name": NAME, "!image": is_text, "!args": [is_text],
    "envFrom": [{"!configMapRef": {"!name": NAME}}],
    "env": [{"!name": re.compile(r"[A-Z_]+"), "!valueFrom":
             {"!fieldRef": {"!fieldPath": re.compile(
                 r"metadata\.labels\['[a-z0-9./-]+'\]")}}}],
    "!ports": [{"!name": port_or_name, "!containerPort": port}],
    "!livenessProbe": PROBE, "!readinessProbe": PROBE,
    "resources": {"requests": RESOURCES, "limits": RESOURCES},
    "volumeMounts": [{"!name": NAME, "!mountPath": re.compile(r"/\w+")}],
    "!securityContext": {
        "!allowPrivilegeEscalation": switch,
        "!readOnlyRootFilesystem": switch,
        "!capabilities": {"!drop": [{"ALL"}]}}}
TEMPLATE = {
    "!metadata": {"!labels": labels},
    "!spec": {
        "automountServiceAccountToken": switch,
        "!terminationGracePeriodSeconds": number,
        "!securityContext": {
            "!runAsNonRoot": switch, "!runAsUser": number,
            "runAsGroup": number, "fsGroup": number,
            "!seccompProfile": {"!type": {"RuntimeDefault"}}},
        "!containers": [CONTAINER],
        "volumes": [{"!name": NAME,
                     "!persistentVolumeClaim": {"!claimName": NAME}}]}}
REPLICA = {"!replicas": number,
           "!restartPolicy": {"Always", "OnFailure", "Never", "ExitCode"},
           "!template": TEMPLATE}
KUSTOMIZE = {
    "!resources": [is_text],
    "images": [{"!name": is_text, "newName": is_text, "newTag": is_text}],
    "configMapGenerator": [{"!name": NAME, "!literals": [is_text]}]}

SCHEMAS = {
    ("v1", "Service"): {"!metadata": META, "!spec": {
        "clusterIP": {"None"}, "publishNotReadyAddresses": switch,
        "!selector": labels,
        "!ports": [{"!name": NAME, "!port": port,
                    "targetPort": port_or_name}]}},
    ("apps/v1", "StatefulSet"): {"!metadata": META, "!spec": {
        "!serviceName": NAME, "!replicas": number,
        "podManagementPolicy": {"OrderedReady", "Parallel"},
        "!selector": SELECTOR, "!template": TEMPLATE}},
    ("policy/v1", "PodDisruptionBudget"): {"!metadata": META, "!spec": {
        "!maxUnavailable": number, "!selector": SELECTOR}},
    ("networking.k8s.io/v1", "NetworkPolicy"): {"!metadata": META, "!spec": {
        "!podSelector": SELECTOR, "!policyTypes": [{"Ingress", "Egress"}],
        "!ingress": [{"!from": [{"podSelector": SELECTOR,
                                 "namespaceSelector": SELECTOR}],
                      "!ports": [{"!protocol": {"TCP"}, "!port": port}]}]}},
    ("monitoring.coreos.com/v1", "ServiceMonitor"): {
        "!metadata": META, "!spec": {
            "!selector": SELECTOR,
            "!endpoints": [{"!port": NAME, "!path": re.compile(r"/\w+"),
                            "interval": DURATION}]}},
    ("kubeflow.org/v1", "TFJob"): {"!metadata": META, "!spec": {
        "runPolicy": {"cleanPodPolicy": {"All", "Running", "None"}},
        "!tfReplicaSpecs": {"PS": REPLICA, "Chief": REPLICA,
                            "Worker": REPLICA}}},
    ("kustomize.config.k8s.io/v1beta1", "Kustomization"): KUSTOMIZE,
    ("kustomize.config.k8s.io/v1alpha1", "Component"): KUSTOMIZE,
}


def check(value, schema, path):
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            raise Wrong(f"{path}: no object: {value!r}")
        for field in value:
            if field not in schema and "!" + str(field) not in schema:
                raise Wrong(f"{path}.{field}: no such field")
        for field, of in schema.items():
            name = field.lstrip("!")
            if name in value:
                check(value[name], of, f"{path}.{name}")
            elif field[0] == "!":
                raise Wrong(f"{path}.{name}: not there")
    elif isinstance(schema, list):
        if not isinstance(value, list) or not value:
            raise Wrong(f"{path}: no list: {value!r}")
        for i, item in enumerate(value):
            check(item, schema[0], f"{path}[{i}]")
    elif isinstance(schema, set):
        if value not in schema if is_text(value) else True:
            raise Wrong(f"{path}: {value!r}, none of {sorted(schema)}")
    elif isinstance(schema, re.Pattern):
        if not is_text(value) or not schema.fullmatch(value):
            raise Wrong(f"{path}: {value!r}, not {schema.pattern}")
    elif not schema(value):
        raise Wrong(f"{path}: {value!r}, no {schema.__name__}")


def check_document(document):
    kind = document.get("apiVersion"), document.get("kind")
    if kind not in SCHEMAS:
        raise Wrong(f"{kind}: no such kind")
    check(document, {"!apiVersion": is_text, "!kind": is_text,
                     **SCHEMAS[kind]}, kind[1])


# ---- Documents ---------------------------------------------------------------

class Strict(yaml.SafeLoader):
    """A key twice is a mistake, of which yaml takes the last."""

    def construct_mapping(self, node, deep=False):
        keys = [k.value for k, _ in node.value]
        if len(keys) != len(set(keys)):
            raise Wrong(f"a key twice: {keys}")
        return super().construct_mapping(node, deep)


def load(folder):
    """The documents that a kustomization names, itself first."""
    at = f"{TOP}/{folder}"
    [top] = yaml.load_all(open(f"{at}/kustomization.yaml"), Strict)
    documents = [top]
    named = top["resources"]
    lying = {f for f in os.listdir(at) if f != "kustomization.yaml"}
    if set(named) != lying or len(named) != len(lying):
        raise Wrong(f"{folder}: names {sorted(named)}, has {sorted(lying)}")
    for name in named:
        documents += yaml.load_all(open(f"{at}/{name}"), Strict)
    return documents


def of_kind(documents, kind):
    return [d for d in documents if d["kind"] == kind]


def covers(selector, template):
    have = template["metadata"]["labels"].items()
    return selector.items() <= have


def one_container(template, name, port_name):
    [c] = template["spec"]["containers"]
    assert c["name"] == name, c["name"]
    assert c["ports"] == [{"name": port_name, "containerPort": 2222}]
    for probe, path in ("livenessProbe", "/healthz"), ("readinessProbe",
                                                       "/readyz"):
        assert c[probe]["httpGet"] == {"path": path, "port": port_name}
    assert template["spec"]["terminationGracePeriodSeconds"] > 25
    assert template["spec"]["securityContext"]["runAsNonRoot"] is True
    security = c["securityContext"]
    assert security["readOnlyRootFilesystem"] is True
    assert security["allowPrivilegeEscalation"] is False
    return c


# ---- What tfd makes of it ----------------------------------------------------

def print_config(tfd, args, env):
    """Its cluster, and which task it is."""
    run = subprocess.run([tfd, *args, "--print_config"], text=True, timeout=20,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env={**env, "PATH": os.environ["PATH"]})
    assert run.returncode == 0, (args, run.stderr)
    cluster, own = {}, None
    for job, address, rest in re.findall(
            r"^cluster\.(\w+)\[\d+\] = (\S+) \([^)]*\)(.*)$", run.stdout, re.M):
        cluster.setdefault(job, []).append(address)
        if rest:
            own = job, address
    return cluster, own


def expand(text, env):
    return re.sub(r"\$\(([A-Z_]+)\)", lambda m: env[m[1]], text)


def check_servers(tfd):
    documents = load("servers")
    [service] = of_kind(documents, "Service")
    sets = of_kind(documents, "StatefulSet")
    spec = service["spec"]
    assert spec["clusterIP"] == "None" and spec["publishNotReadyAddresses"]
    name = service["metadata"]["name"]
    [config] = documents[0]["configMapGenerator"]
    literals = dict(x.split("=", 1) for x in config["literals"])
    expected = {}
    for s in sets:
        expected[s["metadata"]["name"]] = [
            f"{s['metadata']['name']}-{i}.{name}:2222"
            for i in range(s["spec"]["replicas"])]
    for s in sets:
        template = s["spec"]["template"]
        assert s["spec"]["serviceName"] == name
        assert covers(s["spec"]["selector"]["matchLabels"], template)
        assert covers(spec["selector"], template)
        # No set takes another one's Pods.
        assert sum(covers(o["spec"]["selector"]["matchLabels"], template)
                   for o in sets) == 1
        assert sum(covers(b["spec"]["selector"]["matchLabels"], template)
                   for b in of_kind(documents, "PodDisruptionBudget")) == 1
        [policy] = of_kind(documents, "NetworkPolicy")
        assert covers(policy["spec"]["podSelector"]["matchLabels"], template)
        c = one_container(template, "tfd", "tfd")
        assert spec["ports"][0]["targetPort"] == "tfd"
        assert c["envFrom"][0]["configMapRef"]["name"] == config["name"]
        for i in range(s["spec"]["replicas"]):
            env = {**literals, "TASK_INDEX": str(i)}
            cluster, own = print_config(
                tfd, [expand(a, env) for a in c["args"]], env)
            job = s["metadata"]["name"]
            assert cluster == expected, (cluster, expected)
            assert own == (job, expected[job][i]), own


def check_version(_):
    """The image's tag is the version, as `make image` names it."""
    [version] = re.findall(r'TFD_VERSION "(.*)"', open("config/version.h").read())
    for folder in "servers", "training":
        [image] = load(folder)[0]["images"]
        assert image == {"name": "tfd", "newName": "tfd", "newTag": version}
        for d in load(folder):
            for text in re.findall(r'"image": "([^"]*)"', json.dumps(d)):
                assert text == image["name"], text


def check_monitoring(_):
    documents = load("monitoring")
    [monitor] = of_kind(documents, "ServiceMonitor")
    [service] = of_kind(load("servers"), "Service")
    assert monitor["spec"]["selector"]["matchLabels"].items() <= \
        service["metadata"]["labels"].items()
    assert monitor["spec"]["endpoints"][0]["port"] == \
        service["spec"]["ports"][0]["name"]
    [policy] = of_kind(documents, "NetworkPolicy")
    for s in of_kind(load("servers"), "StatefulSet"):
        assert covers(policy["spec"]["podSelector"]["matchLabels"],
                      s["spec"]["template"])


def check_training(tfd):
    """TF_CONFIG as Kubeflow's operator writes it."""
    documents = load("training")
    [job] = of_kind(documents, "TFJob")
    [policy] = of_kind(documents, "NetworkPolicy")
    replicas = job["spec"]["tfReplicaSpecs"]
    name = job["metadata"]["name"]
    cluster = {kind.lower(): [f"{name}-{kind.lower()}-{i}.ns.svc:2222"
                              for i in range(r["replicas"])]
               for kind, r in replicas.items()}
    for kind, r in replicas.items():
        template = r["template"]
        assert r["restartPolicy"] == "ExitCode"
        assert covers(policy["spec"]["podSelector"]["matchLabels"], template)
        c = one_container(template, "tensorflow", "tfjob-port")
        mounted = {m["name"] for m in c.get("volumeMounts", [])}
        assert mounted == {v["name"] for v in template["spec"].get("volumes",
                                                                   [])}
        trains = any(a.startswith("--train=/data/") for a in c["args"])
        assert trains == (kind != "PS") == bool(mounted)
        for i in range(r["replicas"]):
            config = {"cluster": cluster, "environment": "cloud",
                      "task": {"type": kind.lower(), "index": i}}
            seen, own = print_config(tfd, c["args"],
                                     {"TF_CONFIG": json.dumps(config)})
            assert seen == cluster, seen
            assert own == (kind.lower(), cluster[kind.lower()][i]), own


# ---- Damage ------------------------------------------------------------------

def damaged(document, path=()):
    """Copies with one thing wrong: a field renamed, a value of another type."""
    value = document
    for step in path:
        value = value[step]
    items = value.items() if isinstance(value, dict) else \
        enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        for wrong in ({"rename": 1}, {"retype": 1}):
            bad = copy.deepcopy(document)
            at = bad
            for step in path:
                at = at[step]
            if "rename" in wrong and isinstance(key, str):
                at[key + "?"] = at.pop(key)
            elif "retype" in wrong:
                at[key] = 7.5 if not isinstance(item, float) else "x"
            else:
                continue
            yield (*path, key, *wrong), bad
        yield from damaged(document, (*path, key))


def check_damage(_):
    found = 0
    for folder in os.listdir(TOP):
        for document in load(folder):
            for where, bad in damaged(document):
                try:
                    check_document(bad)
                except Wrong:
                    found += 1
                    continue
                raise Wrong(f"{folder}: {where} is not found")
    assert found > 300, found
    print(found, "damaged manifests found")


def check_fields(_):
    for folder in os.listdir(TOP):
        for document in load(folder):
            check_document(document)


def main():
    checks = {"every_field_is_known": check_fields,
              "every_damage_is_found": check_damage,
              "servers_are_one_cluster": check_servers,
              "images_are_of_this_version": check_version,
              "monitoring_finds_them": check_monitoring,
              "a_training_is_one_cluster": check_training}
    failed = 0
    for name, one in checks.items():
        try:
            one(sys.argv[1])
            print("ok   kubernetes." + name)
        except (Wrong, AssertionError, KeyError, ValueError) as e:
            failed += 1
            print(f"FAIL kubernetes.{name}\n{type(e).__name__}: {e}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
