"""What top counted, against what strace counted."""

import collections
import os

import strace


def compare(snapshot, log):
    """By source: opened files and listed directories of the traced program are the same. Gives the counts."""
    counted, threads = strace.opens(log)
    files, directories, entries = catalogue(snapshot["sources"])
    expected = collections.Counter()
    for path, count in counted.items():
        if path in files:
            expected[path, "opens"] += count
        elif path in directories:
            expected[path, "listings"] += count
        elif path in entries:
            expected[entries[path], "opens"] += count
    found, size = collections.Counter(), 0
    for row in snapshot["rows"]:
        if row["pid"] in threads:
            assert row["opens"] == sum(source["opens"] for source in row["sources"]), row
            size += row["bytes"]
            for source in row["sources"]:
                found[source["path"], "opens"] += source["opens"]
                found[source["path"], "listings"] += source["listings"]
    found = +found
    assert found == expected, f"top: {dict(found)}\nstrace: {dict(expected)}"
    assert expected, "strace saw no open of a source: the case proves nothing"
    sizes = sum(os.path.getsize(path) * count for path, count in counted.items() if path in files or path in entries)
    assert size == sizes, f"top: {size} bytes, the files have {sizes}"
    return found


def catalogue(sources):
    own = [source for source in sources if source["mount_namespace"] is None]
    files = {source["path"] for source in own if source["kind"] == "file"}
    directories = {source["path"] for source in own if source["kind"] == "directory"}
    entries = {}
    for directory in directories:
        for name in os.listdir(directory):
            path = os.path.realpath(os.path.join(directory, name))
            if os.path.isfile(path):
                entries.setdefault(path, directory)
    return files, directories, entries
