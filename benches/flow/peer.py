"""Prints the seconds that apflow needs to create and execute one task, as part of a tree of as many tasks as the first
argument says.

Starts its server on loopback with a DuckDB file. The tasks call its executor that does nothing but collect the results
of dependencies, of which there are none. Must run with the Python that has apflow.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path

START_SECONDS = 60
REST_SECONDS = 300
EXECUTOR = "aggregate_results_executor"


def main():
    count = int(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        server = Server(Path(folder))
        try:
            # The first tree also creates tables and loads the executor.
            server.run("warm", 3)
            print(server.run("measured", count) / count)
        finally:
            server.stop()


class Server:
    """An apflow server."""

    def __init__(self, folder):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        environment = {
            **os.environ,
            "APFLOW_API_HOST": "127.0.0.1",
            "APFLOW_API_PORT": str(self.port),
            "APFLOW_DATABASE_URL": f"duckdb:///{folder}/tasks.duckdb",
            "HOME": str(folder),
        }
        self.log = open(folder / "log", "w+", encoding="utf-8")
        program = Path(sys.executable).with_name("apflow-server")
        self.process = subprocess.Popen(
            [program], env=environment, cwd=folder, stdout=self.log, stderr=self.log
        )
        self.wait_until_ready()

    def wait_until_ready(self):
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end and self.process.poll() is None:
            try:
                self.call("tasks.running.count", {})
                return
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        self.log.seek(0)
        sys.exit(f"apflow did not start: {self.log.read()[-2000:]}")

    def run(self, name, count):
        """Creates and executes a tree of tasks; returns the seconds until all of them are completed."""
        ids = [f"{name}-{number}" for number in range(count)]
        tasks = [
            {
                "id": task,
                "name": task,
                "schemas": {"method": EXECUTOR},
                "inputs": {},
                **({"parent_id": ids[0]} if task != ids[0] else {}),
            }
            for task in ids
        ]
        started = time.monotonic()
        self.call("tasks.create", tasks)
        self.call("tasks.execute", {"task_id": ids[0]})
        while not self.is_completed(ids):
            if time.monotonic() > started + REST_SECONDS:
                sys.exit("apflow did not complete the tasks")
            time.sleep(0.05)
        return time.monotonic() - started

    def is_completed(self, ids):
        # The root runs last; one request is enough until it has ended.
        for task in (ids[0], ids[-1]):
            found = self.call("tasks.get", {"task_id": task})
            if found["status"] == "failed":
                sys.exit(f"apflow failed the task {task}: {found.get('error')}")
            if found["status"] != "completed":
                return False
        return True

    def call(self, method, params):
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, "id": 1})
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}/tasks",
            body.encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=REST_SECONDS) as answer:
            message = json.load(answer)
        if "error" in message:
            sys.exit(f"apflow refused {method}: {message['error']}")
        return message["result"]

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=30)
        self.log.close()


if __name__ == "__main__":
    main()
