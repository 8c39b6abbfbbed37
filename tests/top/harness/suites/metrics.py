"""What `windlass top --metrics` counts, by container; which of it is kept, and for how long."""

import os
import shutil
import subprocess

from context import Program, real
from scrape import Agent, cgroups, inside, pick, total

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
UID = "a6537f3e-228a-4833-91d0-d5889163f4e2"
UNDER = UID.replace("-", "_")
ID = "afc6fe0403eff2f2fb82ef4bd5434854a2dc180d4a53c375a307ac9530cbc67d"
SLICE = "kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod"
FILES = 5
# What a machine's site modules open is not the program's.
PYTHON = ["/usr/bin/python3", "-S"]

# The group of a process, and its pod.
GROUPS = {
    "systemd and containerd": (f"{SLICE}{UNDER}.slice/cri-containerd-{ID}.scope", UID),
    "systemd and CRI-O with crun": (f"{SLICE}{UNDER}.slice/crio-{ID}.scope/container", UID),
    "cgroupfs": (f"kubepods/burstable/pod{UID}/{ID}", UID),
    "Docker": (f"system.slice/docker-{ID}.scope", ""),
    "Podman of a user": (f"user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope", ""),
}


def cases(_):
    for name, (group, pod) in GROUPS.items():
        yield f"metrics: container of {name}", of_container(group, pod)
    yield "metrics: an agent in a pod, with a cgroup namespace and files of its own", in_a_pod
    yield "metrics: host", host
    yield "metrics: served or not, and why", served
    yield "metrics: containers that end", ends
    yield "metrics: how long a file is open", held
    yield "metrics: short processes keep their container", short


def files(context):
    """A watched directory of files that each are opened once: events of different files are never merged."""
    base = os.path.join(real(context.folder), "metrics")
    shutil.rmtree(base, ignore_errors=True)
    os.makedirs(base)
    names = [os.path.join(base, f"{number}.pem") for number in range(FILES)]
    for name in names:
        shutil.copyfile(BUNDLE, name)
    return base, names


def open_all(program, names):
    for name in names:
        program.say(name)
        program.line()


def of_container(group, pod):
    def case(context):
        base, names = files(context)
        labels = {"pod_uid": pod, "container_id": ID}
        with cgroups(context) as groups, Agent(context, "--watch", base) as agent:
            command = [*inside(os.path.join(groups, group)), *PYTHON, context.programs["opens.py"]]
            with Program(command) as program:
                open_all(program, names)
                samples = agent.wait_for("the opens of a container", lambda samples: (
                    total(samples, "windlass_opens_total", **labels) >= FILES
                    and total(samples, "windlass_running_processes", **labels) and samples))
                program.end()
            assert total(samples, "windlass_opens_total", **labels) == FILES, samples
            assert total(samples, "windlass_opened_bytes_total", **labels) == FILES * os.path.getsize(BUNDLE), samples
            assert total(samples, "windlass_processes_total", **labels) == 1, samples
            assert total(samples, "windlass_containers") == 1, samples
            agent.end()

    return case


def in_a_pod(context):
    """As in a DaemonSet with hostPID: control groups are relative to its own, the node's files are behind /proc."""
    base, names = files(context)
    own = f"{SLICE}11111111_2222_3333_4444_555555555555.slice/cri-containerd-{'1' * 64}.scope"
    script = 'mount -t tmpfs none /etc/ssl && exec "$@"'
    with cgroups(context) as groups:
        prefix = [*inside(os.path.join(groups, own)), "unshare", "--cgroup", "--mount", "sh", "-c", script, "sh"]
        command = [*inside(os.path.join(groups, f"{SLICE}{UNDER}.slice/cri-containerd-{ID}.scope")), *PYTHON,
                   context.programs["opens.py"]]
        missing = "/etc/ssl/openssl.cnf"
        with Agent(context, "--watch", base, "--watch", missing, prefix=prefix) as agent, Program(command) as program:
            path = open(f"/proc/{agent.process.pid}/cgroup", encoding="ascii").read()
            assert "11111111_2222" in path, path
            open_all(program, names)
            agent.wait_for("the opens", lambda samples: (
                total(samples, "windlass_opens_total", pod_uid=UID, container_id=ID) == FILES))
            # The node's own bundle, and a named file: neither is at this path for the agent. Found within a second.
            opens = lambda samples: total(samples, "windlass_opens_total", pod_uid=UID, container_id=ID)
            for path in (BUNDLE, missing):
                before = opens(agent.samples())

                def opened(samples):
                    open_all(program, [path])
                    return opens(samples) > before

                agent.wait_for(f"an open of the node's {path}", opened)
            program.end()
            agent.end()


def host(context):
    base, names = files(context)
    with Agent(context, "--watch", base) as agent:
        with Program([*PYTHON, context.programs["opens.py"]]) as program:
            open_all(program, names)
            os.listdir(base)
            program.end()
        samples = agent.wait_for("the opens", lambda samples: (
            total(samples, "windlass_opens_total", reason="no-tls-library") >= FILES and samples))
        found = pick(samples, "windlass_opens_total", reason="no-tls-library")
        assert [(labels["pod_uid"], labels["container_id"], labels["library"], labels["served"])
                for labels, _ in found] == [("", "", "none", "no")], found
        assert total(samples, "windlass_listings_total") >= 1, samples
        agent.end()


def served(context):
    """The library, and whether Windlass serves it, by container."""
    python = [*PYTHON, "-c", f"import ssl, sys; ssl.create_default_context(cafile='{BUNDLE}'); print(flush=True); "
              "sys.stdin.readline()"]
    expected = {
        "1": (python, {}, ("openssl", "dynamic", "no", "not-preloaded")),
        # With a compiled store it would open no bundle.
        "2": (python, {"LD_PRELOAD": context.library, "WINDLASS_STORE": ""}, ("openssl", "dynamic", "yes", "")),
        "3": (python, {"LD_PRELOAD": context.library, "WINDLASS_DISABLE": "1"},
              ("openssl", "dynamic", "no", "disabled")),
        "4": ([context.programs["static"], "1"], {}, ("openssl", "static", "no", "static-program")),
        "5": ([context.programs["go"], "1"], {}, ("go", "static", "no", "linked-in")),
    }
    with cgroups(context) as groups, Agent(context) as agent:
        for number, (command, environment, labels) in expected.items():
            group = os.path.join(groups, f"kubepods/pod{UID}/{number * 64}")
            with Program([*inside(group), *command], env={**os.environ, **environment}) as program:
                program.line()
                found = agent.wait_for(f"the opens of {command}", lambda samples: pick(
                    samples, "windlass_opens_total", container_id=number * 64))
                program.end()
            found = {tuple(one[name] for name in ("library", "linkage", "served", "reason")) for one, _ in found}
            assert found == {labels}, (command, found)
        agent.end()


def ends(context):
    """Its series are dropped; no other one changes for that."""
    base, names = files(context)
    first, second = "1" * 64, "2" * 64
    of = lambda samples, which: total(samples, "windlass_opens_total", container_id=which)
    with cgroups(context) as groups, Agent(context, "--watch", base, "--keep", "1") as agent:
        start = lambda which: Program([*inside(os.path.join(groups, f"kubepods/pod{UID}/{which}")),
                                       *PYTHON, context.programs["opens.py"]])
        with start(first) as one, start(second) as other:
            open_all(one, names)
            open_all(other, names)
            agent.wait_for("both", lambda samples: of(samples, first) == of(samples, second) == FILES)
            one.end()
            samples = agent.wait_for("the end of a container", lambda samples: (
                not pick(samples, "windlass_opens_total", container_id=first) and samples))
            assert of(samples, second) == FILES and total(samples, "windlass_containers") == 1, samples
            assert not pick(samples, "windlass_opens_total", container_id="other"), samples
            # The same container again: from zero.
            with start(first) as again:
                open_all(again, names[:2])
                agent.wait_for("it again", lambda samples: of(samples, first) == 2)
                again.end()
            other.end()
        agent.end()


def held(context):
    """Only that it is counted, and not less than the program itself measured between its calls."""
    path = os.path.join(files(context)[0], "0.pem")
    script = (f"import sys, time\nfor line in sys.stdin:\n  file = open('{path}')\n  print(flush=True)\n"
              "  sys.stdin.readline()\n  file.close()\n  print(flush=True)")
    of = lambda samples, name: total(samples, f"windlass_{name}_total", container_id=ID)
    with cgroups(context) as groups, Agent(context, "--watch", path) as agent, \
            Program([*inside(os.path.join(groups, f"kubepods/pod{UID}/{ID}")), *PYTHON, "-c", script]) as program:
        program.say()
        program.line()
        # The event of the open has been taken: it can't be merged with that of the close.
        samples = agent.wait_for("the open", lambda samples: of(samples, "opens") and samples)
        assert of(samples, "closes") == 0 == of(samples, "held_open_seconds"), samples
        program.say()
        program.line()
        samples = agent.wait_for("the close", lambda samples: of(samples, "closes") and samples)
        assert of(samples, "closes") == 1, samples
        # A scrape came between the two.
        assert of(samples, "held_open_seconds") > 0.001, samples
        program.end()
        agent.end()


def short(context):
    """Processes that end at once: their opens are counted, with the container unless they ended too soon."""
    base, names = files(context)
    with cgroups(context) as groups, Agent(context, "--watch", base) as agent:
        command = inside(os.path.join(groups, f"kubepods/pod{UID}/{ID}"))
        for _ in range(10):
            subprocess.run([*command, "cat", *names], check=True, stdout=subprocess.DEVNULL)
        opens = lambda samples, **labels: total(samples, "windlass_opens_total", **labels)
        known, unknown = {"container_id": ID}, {"container_id": "", "library": "unknown"}
        samples = agent.wait_for("all opens", lambda samples: (
            opens(samples, **known) + opens(samples, **unknown) >= 10 * FILES and samples))
        assert 0 < opens(samples, **known) <= 10 * FILES, samples
        agent.end()
