"""Runs MicroPython's own benchmarks, each of them as `run-perfbench.py` does: as a new script after a soft reset.

A board keeps its scores in its configuration file. A soft reset ends the port on a PC: there the scripts run in turn.
"""

import gc
import json
import os
import sys

from portbench_client import RESULT

soft_reset = None
if sys.platform not in ("linux", "darwin", "win32"):
    from machine import soft_reset


def source_of(name):
    with open(name + ".py") as file:
        return file.read()


def run_once(name, cpu_mhz, heap_kb):
    """What `bm_run` prints for the script: time in us, norm and answer. None: the port cannot run it."""
    script = {"__name__": name}
    try:
        exec(source_of(name), script)
    except (SyntaxError, ImportError, SystemExit):  # no @micropython.viper, no vfs
        return None
    said = []
    bench = {"print": lambda *values: said.extend(values), "bm_params": script["bm_params"]}
    bench["bm_setup"] = script["bm_setup"]
    exec(source_of("benchrun"), bench)
    bench["bm_run"](cpu_mhz, heap_kb)
    if "vfs" in script:  # a script that imports its own file from "/__remote"
        script["FS"].umount = lambda fs: None
        script["vfs"].umount("/__remote")
        sys.path.remove("/__remote")
        sys.modules.pop("__injected", None)
    return said


def configure(config):
    with open("portbench_config.json", "w") as file:
        json.dump(config, file)


def perf_bench(scripts, cpu_mhz, heap_kb, repeats):
    with open("portbench_config.json") as file:
        config = json.load(file)
    ran = config.setdefault("ran", {})
    names = scripts.split(",")
    if scripts == "all":
        files = os.listdir()  # noqa: PTH208 - MicroPython has no pathlib
        names = sorted(file[:-3] for file in files if file.split("_")[0] in ("bm", "core", "misc", "viper"))
    path = sys.path[:]
    if "" in sys.path:
        sys.path.remove("")  # as run-perfbench.py does: an import shall not look into the flash
    for name in names:
        RESULT["stage"] = name
        runs = ran.setdefault(name, [])
        while len(runs) < repeats and None not in runs:
            gc.collect()
            runs.append(run_once(name, cpu_mhz, heap_kb))
            if soft_reset:
                configure(config)
                soft_reset()
    sys.path[:] = path
    if soft_reset:
        del config["ran"]
        configure(config)
    RESULT["scripts"] = {}
    for name in names:
        if None not in ran[name]:
            times_us = [run[0] for run in ran[name]]
            RESULT["scripts"][name] = {"times_us": times_us, "norm": ran[name][0][1], "answer": ran[name][0][2]}
