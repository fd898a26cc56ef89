#!/usr/bin/env python3
"""Memory of the webhook server over time: `soak.py [--minutes 30] [--rate 50] …`.

In: a built `ephor` (--ephor, EPHOR_BIN), the recorded pool of reviews (pool.py; EPHOR_CONFORMANCE), PyYAML.
A server with 100 policies gets reviews of all objects of the pool in turn over loopback, each with another name and with
other images; once a minute one policy changes. Out: in --out, `soak.csv` (seconds, resident and anonymous
megabytes, reviews, entries and bytes of the result cache, resident megabytes by `/metrics`), `soak.svg`, and on standard output a
summary. Fails when the memory after the last third is not within 5 % of that after the first third, is ever above 64 MB and the
cache's limit, or is not what `/metrics` says; and when the cache says that it holds more than its limit.
The server ends with the bench; --minutes and --rate bound both.
"""
import argparse, csv, json, os, pathlib, re, shutil, socket, ssl, statistics, subprocess, sys, tempfile, threading, time, urllib.request

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ALLOWED = 64
"""Megabytes that a server with 100 policies may use besides the result cache."""


def arguments():
    take = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    take.add_argument("--ephor", default=os.environ.get("EPHOR_BIN", str(HERE / "../target/release/ephor")))
    take.add_argument("--data", default=os.environ.get("EPHOR_CONFORMANCE", str(HERE / "../conformance/data")))
    take.add_argument("--minutes", type=float, default=30)
    take.add_argument("--rate", type=float, default=50, help="reviews a second, of all connections")
    take.add_argument("--connections", type=int, default=8)
    take.add_argument("--cache", type=int, default=32, help="megabytes of the result cache")
    take.add_argument("--change", type=float, default=60, help="seconds between changes of a policy, 0 = none")
    take.add_argument("--out", default="soak")
    take.add_argument("--serve", default="", help="more flags of `ephor serve`")
    return take.parse_args()


class Load:
    """Reviews, each other than all before."""

    def __init__(self, reviews):
        self.reviews, self.count, self.lock = reviews, 0, threading.Lock()

    def next(self):
        with self.lock:
            n = self.count
            self.count += 1
        text = self.reviews[n % len(self.reviews)]
        return text.replace("@N@", str(n)).encode()


def varied(line):
    """A review with places for what is other each time: uid, name and images."""
    review = json.loads(line)
    request = review["request"]
    request["uid"] = "u@N@"
    meta = request["object"].setdefault("metadata", {})
    meta["name"] = request["name"] = f"{meta.get('name', 'o')}-@N@"

    def images(value):
        if isinstance(value, dict):
            for key, below in value.items():
                if key == "image" and isinstance(below, str) and "@" not in below:
                    value[key] = re.sub(r":[^:/]*$", "", below) + ":v@N@"
                else:
                    images(below)
        elif isinstance(value, list):
            for item in value:
                images(item)

    images(request["object"])
    return json.dumps(review)


def changed_policy(path, n):
    """Writes the policies of a file with another annotation."""
    all = [d for d in yaml.safe_load_all(path.read_text()) if d]
    for policy in all:
        policy["metadata"].setdefault("annotations", {})["soak"] = str(n)
    fresh = path.with_suffix(".new")
    fresh.write_text(yaml.safe_dump_all(all))
    fresh.rename(path)


def client(load, address, pace, ends, failures):
    host, port = address.rsplit(":", 1)
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    stream = None
    due = time.monotonic()
    while not ends.is_set():
        due += pace
        ends.wait(max(0, due - time.monotonic()))
        body = load.next()
        head = f"POST /validate HTTP/1.1\r\nHost: ephor\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        try:
            if stream is None:
                plain = socket.create_connection((host, int(port)), timeout=30)
                stream = context.wrap_socket(plain).makefile("rwb")
            stream.write(head.encode() + body)
            stream.flush()
            status, length = stream.readline(), 0
            while (line := stream.readline()).strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            answer = stream.read(length)
            if b" 200 " not in status:
                failures.append(status + answer[:200])
        except OSError as error:
            failures.append(str(error).encode())
            stream = None


def memory(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return [int(re.search(rf"{key}:\s+(\d+) kB", text)[1]) / 1024 for key in ("VmRSS", "RssAnon")]


def metrics(address):
    """What the server says: entries and bytes of the result cache, and resident megabytes."""
    try:
        text = urllib.request.urlopen(f"http://{address}/metrics", timeout=10).read().decode()
    except OSError:
        return [0, 0, 0]
    names = ("result_cache_entries", "result_cache_bytes", "process_resident_memory_bytes")
    found = [re.search(rf"^ephor_{name} (\S+)", text, re.M) for name in names]
    entries, bytes, resident = [float(f[1]) if f else 0 for f in found]
    return [entries, bytes, round(resident / 2**20, 2)]


def drawn(rows, limit, title):
    """The rows as a picture: resident memory, and what the result cache says that it holds."""
    width, height, left, low = 900, 360, 60, 320
    last, most = max(r[0] for r in rows), max(max(r[1] for r in rows), limit) * 1.1
    x = lambda t: left + (width - left - 20) * t / max(last, 1)
    y = lambda mb: low - (low - 30) * mb / most
    line = lambda at, color: f'<polyline fill="none" stroke="{color}" stroke-width="1.5" points="' + " ".join(f"{x(r[0]):.1f},{y(at(r)):.1f}" for r in rows) + '"/>'
    step = next(s for s in (10, 25, 50, 100, 250, 500, 1000, 2500, 10**6) if most / s <= 8)
    marks = [f'<text x="{left - 8}" y="{y(v) + 4:.1f}" text-anchor="end">{v}</text><line x1="{left}" x2="{width - 20}" y1="{y(v):.1f}" y2="{y(v):.1f}" stroke="#ddd"/>' for v in range(0, int(most) + 1, step)]
    minute = max(1, round(last / 60 / 10))
    marks += [f'<text x="{x(m * 60):.1f}" y="{low + 18}" text-anchor="middle">{m}</text>' for m in range(0, int(last / 60) + 1, minute)]
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#fff"/>', f'<text x="{left}" y="18">{title}</text>', *marks,
        f'<line x1="{left}" x2="{width - 20}" y1="{y(limit):.1f}" y2="{y(limit):.1f}" stroke="#c33" stroke-dasharray="6 4"/>',
        line(lambda r: r[1], "#246"), line(lambda r: r[5] / 2**20, "#2a6"),
        f'<text x="{width / 2}" y="{height - 6}" text-anchor="middle">minutes; blue: resident MB, green: result cache MB, red: allowed</text>', "</svg>", ""])


def main():
    args = arguments()
    out = pathlib.Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    # What changes next to the policies would be read as a change of their folder.
    dir, logs = (pathlib.Path(tempfile.mkdtemp()) for _ in range(2))
    server = None
    ends = threading.Event()
    try:
        subprocess.run([sys.executable, str(HERE / "pool.py"), args.data, str(dir)], check=True, stdout=subprocess.DEVNULL)
        policies = dir / "hundred"
        load = Load([varied(line) for line in open(dir / "pool.jsonl")])
        log = open(logs / "log", "w+")
        server = subprocess.Popen([args.ephor, "serve", "--policies", str(policies), "--tls-self-signed", str(dir / "tls"),
            "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--shutdown-delay", "0s", "--log-format", "json",
            "--result-cache-megabytes", str(args.cache), *args.serve.split()], stderr=log)
        while not (found := re.search(r'"reviews":"([^"]*)"', (logs / "log").read_text())):
            if server.poll() is not None:
                sys.exit((logs / "log").read_text())
            time.sleep(0.05)
        operation = re.search(r'"operation":"([^"]*)"', (logs / "log").read_text())[1]
        first, failures = memory(server.pid)[0], []
        pace = args.connections / args.rate
        for _ in range(args.connections):
            threading.Thread(target=client, args=(load, found[1], pace, ends, failures), daemon=True).start()
        began, rows, changes = time.monotonic(), [], 0
        changed = sorted(policies.iterdir())
        with open(out / "soak.csv", "w", newline="") as file:
            write = csv.writer(file)
            write.writerow(["seconds", "resident_mb", "anonymous_mb", "reviews", "cache_entries", "cache_bytes", "metrics_mb"])
            while (passed := time.monotonic() - began) < args.minutes * 60:
                if args.change and passed >= (changes + 1) * args.change:
                    changes += 1
                    path = changed[changes % len(changed)]
                    changed_policy(path, changes)
                row = [round(passed, 1), *[round(m, 2) for m in memory(server.pid)], load.count, *metrics(operation)]
                rows.append(row)
                write.writerow(row)
                file.flush()
                ends.wait(2)
        end = rows[-1][0]
        around = lambda at: statistics.median([r[1] for r in rows if abs(r[0] - at) <= max(end / 60, 4)] or [rows[-1][1]])
        early, late, limit = around(end / 3), around(end), ALLOWED + args.cache
        most = max(r[1] for r in rows)
        text = (f"{load.count} reviews in {end / 60:.1f} minutes, {changes} changes of policies, cache {args.cache} MB: {first:.0f} MB at the start, "
            f"{early:.0f} MB after {end / 180:.0f} minutes, {late:.0f} MB after {end / 60:.0f}, {most:.0f} MB at most; allowed {limit} MB")
        (out / "soak.svg").write_text(drawn(rows, limit, text))
        print(text)
        for failure in failures[:5]:
            print("failed:", failure.decode(errors="replace").strip())
        # The two are not read at the same moment.
        apart = statistics.median(abs(r[1] - r[6]) for r in rows)
        if apart > 0.05 * late:
            print(f"/metrics is {apart:.1f} MB off")
        held = max(r[5] for r in rows) / 2**20
        good = (abs(late - early) <= 0.05 * early and most <= limit and len(failures) <= load.count / 1000
            and apart <= 0.05 * late and held <= args.cache * 1.05)
        sys.exit(0 if good else 1)
    finally:
        ends.set()
        if server:
            server.terminate()
            server.wait(30)
        for folder in (dir, logs):
            shutil.rmtree(folder, ignore_errors=True)


main()
