"""The metrics, the alerts and the dashboard, with Prometheus' own tools and a real Prometheus server."""

import contextlib
import json
import os
import pathlib
import re
import socket
import subprocess
import time
import urllib.parse
import urllib.request

import yaml

from context import PATIENCE, Program
from scrape import Agent, cgroups, inside, pick

ROOT = pathlib.Path(__file__).resolve().parents[4]
RULES = ROOT / "deploy/prometheus/windlass.rules.yml"
ALERTS = ROOT / "tests/top/alerts.yml"
DASHBOARD = ROOT / "deploy/grafana/windlass.json"
BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
ID = "5" * 64

# Of Prometheus and kube-state-metrics: known by name, and by the labels that are used.
FOREIGN = {"up": {"job", "instance"}, "kube_pod_info": {"uid", "pod", "namespace"}}
# Labels that Prometheus adds to all metrics.
ADDED = {"job", "instance"}


def cases(_):
    yield "prometheus: the text is what promtool and a strict parser take", text
    yield "prometheus: alerts", alerts
    yield "prometheus: names and labels in the alerts and the dashboard are those of the metrics", names
    yield "prometheus: a server scrapes, and answers all expressions", server


def expressions():
    """(where, expression), as Prometheus gets it."""
    for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]
    for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "30s").replace("$instance", ".*")
            yield panel["title"], expression


@contextlib.contextmanager
def busy_agent(context):
    """One that has counted opens of a container and of the host."""
    path = os.path.join(context.folder, "watched.pem")
    with open(path, "w", encoding="ascii") as file:
        file.write("x" * 100)
    with cgroups(context) as groups, Agent(context, "--watch", path) as agent:
        command = [*inside(os.path.join(groups, f"kubepods/pod{'6' * 32}/{ID}")), "/usr/bin/python3",
                   context.programs["loads.py"], "1"]
        with Program(command) as program:
            program.line()
            subprocess.run(["cat", path], check=True, stdout=subprocess.DEVNULL)
            agent.wait_for("both", lambda samples: pick(samples, "windlass_opens_total", container_id=ID)
                           and pick(samples, "windlass_opens_total", container_id=""))
            yield agent
            program.end()
        agent.end()


def text(context):
    with busy_agent(context) as agent:
        shown = agent.text()
        agent.samples()
    # promtool reads the older format: there a counter's name has its suffix in the comments too, and there are no
    # units and no type for information.
    lines = [line for line in shown.splitlines() if not line.startswith("# UNIT") and line != "# EOF"]
    counters = set(re.findall(r"^# TYPE (\S+) counter$", shown, re.MULTILINE))
    assert len(counters) >= 8, counters
    older = []
    for line in lines:
        comment = re.match(r"# (?:HELP|TYPE) (\S+) ", line)
        if comment and comment[1] in counters:
            line = line.replace(comment[1], comment[1] + "_total", 1)
        if comment and comment[1] == "windlass_build":
            line = line.replace("windlass_build", "windlass_build_info", 1).replace(" info", " gauge")
        older.append(line)
    result = subprocess.run(["promtool", "check", "metrics"], input="\n".join(older) + "\n", capture_output=True,
                            text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", ""), result


def alerts(context):
    subprocess.run(["promtool", "check", "rules", "--lint-fatal", RULES], check=True, capture_output=True)
    test = os.path.join(context.folder, "alerts.yml")
    tests = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))
    with open(test, "w", encoding="utf-8") as file:
        yaml.safe_dump({"rule_files": [str(RULES)], **tests}, file)
    result = subprocess.run(["promtool", "test", "rules", test], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    # Each alert has a case in which it fires.
    named = {rule["alertname"] for case in tests["tests"] for rule in case["alert_rule_test"] if rule["exp_alerts"]}
    known = {rule["alert"] for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
             for rule in group["rules"]}
    assert named == known, named ^ known


def names(context):
    with busy_agent(context) as agent:
        labels = {}
        for name, found in agent.samples():
            labels.setdefault(name, set()).update(label for label, _ in found)
    wrong = []
    used = set()
    for where, expression in expressions():
        plain = re.sub(r'"[^"]*"', '""', expression)
        found = set(re.findall(r"\b(?:windlass_\w+|up|kube_pod_info)\b", plain))
        used |= found
        wrong += [f"{where}: {name} is no metric" for name in found if name not in labels and name not in FOREIGN]
        for name, matchers in re.findall(r"\b(\w+)\{([^}]*)\}", plain):
            of_name = labels.get(name, set()) | FOREIGN.get(name, set()) | ADDED
            wrong += [f"{where}: {name} has no label {label}"
                      for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", matchers) if label not in of_name]
        all_of = ADDED.union(*(labels.get(name, set()) | FOREIGN.get(name, set()) for name in found))
        for group in re.findall(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)", plain):
            wrong += [f"{where}: no metric has the label {label.strip()}"
                      for label in group.split(",") if label.strip() not in all_of]
    rules = RULES.read_text(encoding="utf-8") + DASHBOARD.read_text(encoding="utf-8")
    every = set().union(*labels.values()) | ADDED | FOREIGN["kube_pod_info"]
    wrong += [f"$labels.{label} is no label" for label in re.findall(r"\$labels\.(\w+)", rules) if label not in every]
    wrong += [f"{{{{{label}}}}} is no label" for label in re.findall(r"\{\{(\w+)\}\}", rules) if label not in every]
    told = subprocess.run([context.windlass, "top", "--help"], capture_output=True, text=True, check=True).stdout
    wrong += [f"{name} is not in the help" for name in labels if not re.search(rf"\b{name}\b", told)]
    assert not wrong, wrong
    assert len(used) >= 12, used


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def server(context):
    """Prometheus itself scrapes, each second; every expression is evaluated by it."""
    with busy_agent(context) as agent:
        folder = os.path.join(context.folder, "prometheus")
        os.makedirs(folder)
        scrape = {"job_name": "windlass", "static_configs": [{"targets": [f"127.0.0.1:{agent.port}"]}]}
        configuration = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
                         "rule_files": [str(RULES)], "scrape_configs": [scrape]}
        with open(os.path.join(folder, "prometheus.yml"), "w", encoding="utf-8") as file:
            yaml.safe_dump(configuration, file)
        port = free_port()
        command = ["prometheus", f"--config.file={folder}/prometheus.yml", f"--storage.tsdb.path={folder}/data",
                   f"--web.listen-address=127.0.0.1:{port}"]
        with open(os.path.join(folder, "log"), "w", encoding="utf-8") as log, \
                subprocess.Popen(command, stdout=log, stderr=log) as process:
            try:
                check(f"http://127.0.0.1:{port}/api/v1/")
            except AssertionError as error:
                raise AssertionError(open(os.path.join(folder, "log"), encoding="utf-8").read()[-3000:]) from error
            finally:
                process.terminate()


def check(base):
    def ask(path):
        with urllib.request.urlopen(base + path, timeout=PATIENCE) as answer:
            return json.load(answer)["data"]

    def query(expression):
        return ask("query?" + urllib.parse.urlencode({"query": expression}))["result"]

    deadline = time.monotonic() + PATIENCE
    scraped = []
    # Two scrapes, for rates.
    while not scraped or int(scraped[0]["value"][1]) < 3:
        assert time.monotonic() < deadline, f"no scrape: {scraped}"
        with contextlib.suppress(OSError):
            scraped = query('count_over_time(up{job="windlass"}[1m])')
        time.sleep(0.3)
    targets = ask("targets")["activeTargets"]
    assert [(target["health"], target["lastError"]) for target in targets] == [("up", "")], targets
    assert query(f'windlass_opens_total{{container_id="{ID}", library="openssl", reason="not-preloaded"}} > 0')
    # What has no value here needs another metric, or something that has not happened.
    empty = {where for where, expression in expressions() if not query(expression)}
    may_be_empty = {"Pods that could be served", "What is missing", *(
        rule["name"] for group in ask("rules")["groups"] for rule in group["rules"])}
    assert empty <= may_be_empty, empty - may_be_empty
    assert all(rule["health"] == "ok" for group in ask("rules")["groups"] for rule in group["rules"]), ask("rules")
