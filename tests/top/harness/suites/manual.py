"""The examples of the manual page run as they stand; only times are shorter, and live ones are ended."""

import json
import os
import re
import shutil
import subprocess

from context import PATIENCE


def cases(context):
    page = subprocess.run([context.windlass, "man", "top"], capture_output=True, text=True, check=True).stdout
    shown = subprocess.run(["man", "-l", "-"], input=page, capture_output=True, text=True, check=True,
                           env={**os.environ, "MANWIDTH": "200", "TERM": "dumb"}).stdout
    examples = re.findall(r"^ +(windlass top.*?)(?:   .*)?$", shown.split("EXAMPLES")[1].split("\n\n")[0], re.MULTILINE)
    assert len(examples) >= 5, shown
    for example in examples:
        yield f"manual: {example}", runs(example)


def runs(example):
    def case(context):
        path = os.path.join(context.folder, "bin")
        os.makedirs(path, exist_ok=True)
        shutil.copy(context.windlass, os.path.join(path, "windlass"))
        own = os.path.join(context.folder, "ca.pem")
        shutil.copyfile("/etc/ssl/certs/ca-certificates.crt", own)
        command = re.sub(r"3600|\b10\b", "1", example).replace("/opt/app/ca.pem", own).replace("9753", "0")
        is_endless = "--once" not in command and "--duration" not in command
        if is_endless:
            # coreutils' timeout ends it as a user would.
            command = f"timeout --preserve-status --signal INT 3 {command}"
        environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"}
        result = subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=environment,
                                timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)
        assert result.returncode == 0, result
        if "--json" in command:
            lines = [json.loads(line) for line in result.stdout.splitlines()]
            assert lines and all(line["schema"] == 1 and line["watched"] for line in lines), result.stdout
        elif "--metrics" in command:
            assert result.stdout == "" and "windlass: metrics at http://127.0.0.1:" in result.stderr, result
        else:
            assert " opens of " in result.stdout, result.stdout
        if "--watch" in command:
            assert result.stderr.startswith("windlass: watching "), result.stderr

    return case
