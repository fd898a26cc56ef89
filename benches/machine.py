"""What the scripts of this folder share: runs that are measured, and the machine that they ran on.

In: commands. Out: seconds, processor seconds and megabytes of a run; results as JSON in `benches/results/`.
`machine.py COMMAND…` prints those of one run.
"""
import json, os, pathlib, platform, subprocess, sys, time

RESULTS = pathlib.Path(__file__).resolve().parent / "results"


def run(command):
    """Wall time, processor time of all threads (seconds) and the most memory (megabytes) of a command whose output is dropped.

    A process of its own starts it: until a program has begun, its memory counts as that of who starts it.
    """
    return json.loads(subprocess.run([sys.executable, __file__, *command], stdout=subprocess.PIPE, check=True).stdout)


def measure(command):
    start = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    return {"seconds": round(seconds, 4), "cpu_seconds": round(usage.ru_utime + usage.ru_stime, 4),
            "megabytes": round(usage.ru_maxrss / 1024, 1), "exit": child.returncode}


def faster(before, now):
    """The faster of two runs, with the most memory of both and the least processor time."""
    if before is None:
        return now
    best = dict(min(before, now, key=lambda r: r["seconds"]))
    best["cpu_seconds"] = min(before["cpu_seconds"], now["cpu_seconds"])
    best["megabytes"] = max(before["megabytes"], now["megabytes"])
    return best


def describe():
    """The machine, the load of others on it, and the day."""
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.processor())
    memory = int(next(line for line in open("/proc/meminfo") if line.startswith("MemTotal")).split()[1])
    return {"system": f"{platform.system()} {platform.machine()}", "processor": model, "cores": os.cpu_count(),
            "memory_gib": round(memory / 1048576), "load": [round(x, 1) for x in os.getloadavg()], "date": time.strftime("%Y-%m-%d", time.gmtime())}


def keep(name, results):
    """Writes results to `benches/results/NAME.json`."""
    results["machine"]["load_at_end"] = [round(x, 1) for x in os.getloadavg()]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1:])))
