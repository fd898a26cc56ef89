"""A webhook server with fixed answers, and the certificates that it and others need."""

import base64
import http.server
import json
import os
import ssl
import subprocess
import threading
import time


def certificates(folder):
    """Creates an authority and a certificate for 127.0.0.1; returns the files of certificate, key and authority."""
    quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    with open(os.path.join(folder, "san.cnf"), "w", encoding="utf-8") as f:
        f.write("subjectAltName=IP:127.0.0.1,DNS:localhost\nextendedKeyUsage=serverAuth\n")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test-ca",
                    "-keyout", "ca.key", "-out", "ca.crt"], **quiet)
    subprocess.run(["openssl", "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1",
                    "-keyout", "tls.key", "-out", "tls.csr"], **quiet)
    subprocess.run(["openssl", "x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial",
                    "-days", "2", "-extfile", "san.cnf", "-out", "tls.crt"], **quiet)
    return tuple(os.path.join(folder, name) for name in ("tls.crt", "tls.key", "ca.crt"))


class Hooks:
    """Answers reviews from a script, by the last part of the path, and records them."""

    def __init__(self, folder):
        crt, key, ca = certificates(folder)
        with open(ca, "rb") as f:
            self.ca_bundle = base64.b64encode(f.read()).decode()
        self.answers = {}
        self.calls = []
        hooks = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                name = self.path.split("?")[0].rsplit("/", 1)[-1]
                code, body = hooks.answer(name, self.path, review)
                data = body.encode()
                try:
                    self.send_response(code)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    pass  # the client has given up

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(crt, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, name, path, review):
        script = self.answers.get(name, {})
        self.calls.append({"name": name, "path": path, "review": review})
        time.sleep(script.get("delay", 0))
        if "raw" in script:
            return script.get("code", 200), script["raw"]
        response = {"uid": review["request"]["uid"], "allowed": True}
        if "patch" in script:
            text = json.dumps(script["patch"], separators=(",", ":"))
            response.update(patch=base64.b64encode(text.encode()).decode(), patchType="JSONPatch")
        response.update(script.get("response", {}))
        answer = {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": response}
        answer.update(script.get("review", {}))
        return script.get("code", 200), json.dumps(answer)

    def take_calls(self):
        calls, self.calls = self.calls, []
        return calls

    def close(self):
        self.server.shutdown()
