"""The action in .github/actions/doctor, step by step as a runner of GitHub executes it: expressions are replaced in
`env` and `if`, each `run` is a file for bash with the options that the runner gives it."""

import json
import os
import pathlib
import re
import subprocess

import yaml

import sarif

ACTION = pathlib.Path(__file__).resolve().parents[2] / ".github/actions/doctor"
# https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax: `shell: bash`.
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
EXPRESSION = re.compile(r"\$\{\{ (\S+) \}\}")


class Run:
    """One use of the action, in a workspace of its own."""

    def __init__(self, workspace, **inputs):
        self.workspace = workspace
        workspace.mkdir(exist_ok=True)
        self.action = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
        assert self.action["runs"]["using"] == "composite"
        given = {name.replace("_", "-"): str(value) for name, value in inputs.items()}
        assert given.keys() <= self.action["inputs"].keys(), given
        self.inputs = {name: given.get(name, about.get("default")) for name, about in self.action["inputs"].items()}
        assert None not in self.inputs.values(), "a required input is missing"
        self.steps, self.log, self.failed = {}, "", None
        for number, step in enumerate(self.action["runs"]["steps"]):
            self.step(number, step)
        outputs = self.action["outputs"].items()
        self.outputs = {name: self.replaced(about["value"]) for name, about in outputs}

    def value(self, expression):
        kind, *names = expression.split(".")
        if kind == "inputs" and len(names) == 1:
            return self.inputs[names[0]]
        assert kind == "steps" and names[1] == "outputs" and len(names) == 3, expression
        return self.steps.get(names[0], {}).get(names[2], "")

    def replaced(self, text):
        return EXPRESSION.sub(lambda found: self.value(found[1]), text)

    def step(self, number, step):
        assert step["shell"] == "bash" and "${{" not in step["run"], step
        condition = re.fullmatch(r"(\S+) == ''", step.get("if", "steps.none.outputs.x == ''"))
        if self.failed or self.value(condition[1]):
            return
        script, output = self.workspace / f"{number}.sh", self.workspace / f"{number}.output"
        summary = self.workspace / "summary.md"
        script.write_text(step["run"], encoding="utf-8")
        output.touch(), summary.touch()
        own = {"GITHUB_ACTION_PATH": str(ACTION), "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
        environment = {name: self.replaced(text) for name, text in step.get("env", {}).items()}
        done = subprocess.run([*BASH, script], cwd=self.workspace, env={**os.environ, **own, **environment},
                              capture_output=True, text=True)
        self.log += done.stdout + done.stderr
        self.steps[step.get("id", number)] = dict(
            line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
        if done.returncode:
            self.failed = (step["name"], done.returncode)

    def sarif(self):
        log = json.loads((self.workspace / self.outputs["sarif"]).read_text(encoding="utf-8"))
        problems = sarif.wrong(log)
        assert not problems, problems
        return log

    def rules(self):
        return {result["ruleId"] for result in self.sarif()["runs"][0]["results"]}


def healthy(windlass, image, _):
    run = Run(image.root.parent / "work", root=image.root, windlass=windlass)
    assert run.failed is None, run.log
    assert run.outputs == {"sarif": "windlass-doctor.sarif", "status": "0"}, run.outputs
    assert not run.rules() and len(run.sarif()["runs"][0]["tool"]["driver"]["rules"]) > 20


def findings(windlass, image, faults):
    faults.bad_block(image)
    run = Run(image.root.parent / "work", root=image.root, windlass=windlass, sarif="a b.sarif")
    assert run.failed == ("Result", 8) and run.outputs == {"sarif": "a b.sarif", "status": "8"}, (run.failed, run.log)
    assert run.rules() == {"bundle-dropped"}
    summary = (run.workspace / "summary.md").read_text(encoding="utf-8")
    assert "bundle-dropped" in summary and all(line[:4].strip() == "" for line in summary.splitlines()), summary
    token = re.match(r"::stop-commands::(\w{32})\n", run.log)
    assert token and run.log.endswith(f"\n::{token[1]}::\n") and "bundle-dropped" in run.log, run.log


def inputs(windlass, image, faults):
    faults.gap(image)
    use = lambda **more: Run(image.root.parent / "work", root=image.root, windlass=windlass, **more)
    run = use()
    assert run.failed == ("Result", 7) and "hash-gap" in run.rules(), (run.failed, run.rules())
    assert use(fail_on="error").failed is None
    assert use(check="duplicates,hash-gap").rules() == {"hash-gap"}
    assert "hash-gap" not in use(skip="hash-gap").rules()
    baseline = image.root.parent / "base line.json"
    subprocess.run([windlass, "doctor", "--root", image.root, "--write-baseline", baseline], check=True,
                   stdout=subprocess.DEVNULL)
    accepted = use(baseline=baseline)
    assert accepted.failed is None, accepted.log
    results = accepted.sarif()["runs"][0]["results"]
    assert results and all(result["suppressions"] for result in results), results


def wrong_inputs(windlass, image, _):
    for more, status in [({"root": "nowhere"}, 1), ({"root": image.root, "check": "no-such-check"}, 2),
                         ({"root": image.root, "fail_on": "never"}, 2)]:
        run = Run(image.root.parent / "work", windlass=windlass, **more)
        assert run.failed == ("Check the image", status) and run.log, run.failed
        assert run.outputs["status"] == "", run.outputs


def hostile(windlass, image, faults):
    """Inputs and names in the image are words, not commands."""
    root = image.root.parent / "$(touch pwned) `touch pwned`; \"x' ${{ inputs.root }}"
    image.root.rename(root)
    (root / "etc/profile.d").mkdir()
    (root / "etc/profile.d/::error::x\n::error::y.sh").write_text("export SSL_CERT_FILE=/nonexistent\n")
    run = Run(root.parent / "work", root=root, windlass=windlass)
    assert run.failed == ("Result", 8) and "environment-overrides" in run.rules(), (run.failed, run.log)
    assert not list(root.parent.rglob("pwned"))
    assert run.log.index("::stop-commands::") < run.log.index("::error::"), run.log


def built(windlass, image, _):
    """Without the input `windlass`, the command is built; here nothing is left to build."""
    run = Run(image.root.parent / "work", root=image.root)
    assert run.failed is None and run.outputs["status"] == "0", (run.failed, run.log)


CASES = {"action-healthy": healthy, "action-findings": findings, "action-inputs": inputs,
         "action-wrong-inputs": wrong_inputs, "action-hostile": hostile, "action-built": built}
