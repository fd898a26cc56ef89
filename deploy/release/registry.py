"""The registry that a release goes to: the one of the parameters, or in a dry run one on this machine that ends with it."""
import atexit
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request

from common import tool


def address(release):
    """Host and path below which images and charts are."""
    if not release.dry_run:
        return release.parameters["REGISTRY"]
    if "registry" not in release.facts:
        release.facts["registry"] = start(release)
    return release.facts["registry"]


def start(release):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        host = "127.0.0.1:%d" % probe.getsockname()[1]
    log = open(os.path.join(release.work(), "registry.log"), "w", encoding="utf-8")
    server = subprocess.Popen([tool("crane"), "registry", "serve", "--address", host], stdout=log, stderr=log)
    atexit.register(server.terminate)
    for _ in range(100):
        if server.poll() is not None:
            break
        try:
            urllib.request.urlopen(f"http://{host}/v2/", timeout=5).close()
            return host
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.1)
    raise SystemExit(f"release: the registry on this machine does not answer: {log.name}")


def insecure(release, flag):
    """The flag by which a program talks to a registry without TLS, where it is the one of a dry run."""
    return [flag] if release.dry_run else []
