"""Rows of the Ruby gem: attached from inside a running Ruby, without LD_PRELOAD."""

from measure import Row, alternate, joined, median, ratio, run, run_json
from server import Server

RUBY = "/usr/bin/ruby"
TITLES = {"faraday": "Faraday", "puppet": "Puppet"}


def package(world):
    """The gem's file that programs require, as ruby/build.rb lays it out."""
    target = world.library.parent.parent
    run([RUBY, world.programs.parent.parent / "ruby/build.rb", world.library, target / "gems"])
    return target / "ruby/gem/lib/windlass.rb"


def required(world):
    """Milliseconds that requiring takes, in a fresh Ruby."""
    file = package(world)
    program = ("begin_at = Process.clock_gettime(1, :nanosecond); require ARGV.first; "
               "puts Process.clock_gettime(1, :nanosecond) - begin_at; exit(Windlass.status.state == 'attached')")
    taken, = alternate(world.count(40), lambda: int(run([RUBY, "-e", program, file])) / 1e6)
    return [Row("Ruby attach", "ms", [], [], taken, median(taken), 5,
                "`require` of the gem's file in a fresh Ruby, which attaches")]


def clients(kind):
    def rows(world):
        file, program = package(world), world.programs / "clients.rb"
        with Server(world.folder / f"{kind}-server") as server:
            env = {"SSL_CERT_FILE": server.bundle}
            count = world.count(100)
            stock, ours = alternate(world.count(4), lambda: run_json([RUBY, program, kind, count, server.url], env),
                                    lambda: run_json([RUBY, program, kind, count, server.url, file], env))
        windlass, limit = joined(ours, "fresh"), joined(ours, "shared")
        before, grown, bare = ([result["memory"][name] for result in side]
                               for side, name in ((stock, "fresh"), (ours, "fresh"), (ours, "shared")))
        over = [one - other for one, other in zip(grown, bare, strict=True)]
        title = TITLES[kind]
        return [Row(f"Ruby {title}", "us", joined(stock, "fresh"), limit, windlass, ratio(windlass, limit), None,
                    f"{title}, attached: GET by a fresh client / by one that is given one store for all"),
                Row(f"Ruby {title} memory", "KiB", before, bare, grown, median(over), None,
                    f"resident memory that each of {count} further clients adds (a difference)")]
    return rows


ROWS = {"ruby-attach": required, **{f"ruby-{kind}": clients(kind) for kind in TITLES}}
