"""The network from Python: fetch, requests and urllib.request, and calls that are under way together."""
import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from conftest import ROOT, folders_in, policy_in
from needs import installed
from wire import Stdio, call

pytestmark = installed(ROOT / "build/guest/python.bare.wasm", by="make python")
TOGETHER = 10


class Answers(BaseHTTPRequestHandler):
    """Tells what came; /together answers when as many requests are there."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
        if self.path == "/together":
            self.server.together.wait(60)
        status = int(self.path.rpartition("/")[2]) if self.path.startswith("/status/") else 200
        told = json.dumps({"method": self.command, "path": self.path, "body": body,
                           "headers": {k.lower(): v for k, v in self.headers.items()}}).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    do_POST = do_PUT = do_GET

    def log_message(self, *ignored):
        pass


@pytest.fixture(scope="module")
def server():
    made = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    made.together = threading.Barrier(TOGETHER)
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()


@pytest.fixture(scope="module")
def run(cloche, server, tmp_path_factory):
    place = tmp_path_factory.mktemp("web")
    port = server.server_address[1]
    policy_in(place, {"network": {"allowPrivate": [f"127.0.0.1:{port}"]}})
    vault = place / "vault"
    vault.mkdir()
    with Stdio([cloche, "mcp", "--vault", str(vault)], env=os.environ | folders_in(place)) as client:
        def evaluate(code, **arguments):
            reply = client.ask(call("evaluate_note_code", {
                "code": code, "language": "python", "enableNetwork": True, "context": {"url": f"http://127.0.0.1:{port}"},
                **arguments}))
            return reply["result"]["structuredContent"]

        yield evaluate


def result(answer):
    assert answer["success"], answer.get("errorDetails")
    return answer["result"]


def test_ten_slow_calls_are_under_way_together(run):
    code = ("import asyncio\nanswers = await asyncio.gather(*[fetch(url + '/together') for _ in range(10)])\n"
            "[r.status for r in answers]")
    assert result(run(code, timeout=30000)) == [200] * TOGETHER


def test_tasks_of_a_group_are_under_way_together(run):
    code = ("import asyncio\nasync def one():\n    return (await fetch(url + '/together')).status\n"
            "async def main():\n    async with asyncio.TaskGroup() as g:\n"
            "        tasks = [g.create_task(one()) for _ in range(10)]\n    return [t.result() for t in tasks]\n"
            "asyncio.run(main())")
    assert result(run(code, timeout=30000)) == [200] * TOGETHER


@pytest.mark.parametrize("code, value", [
    ("r = fetch(url + '/a', params={'q': 'x y'})\n[r.ok, r.json()['path'], r.headers['Content-Type']]",
     [True, "/a?q=x+y", "application/json"]),
    ("r = await fetch(url, {'method': 'POST', 'body': 'text'})\nbody = await r.json()\n[body['method'], body['body']]", ["POST", "text"]),
    ("r = fetch(url, method='PUT', json={'a': 1}, headers={'X-Own': 'y'}).json()\n[r['body'], r['headers']['x-own'], r['headers']['content-type']]",
     ['{"a": 1}', "y", "application/json"]),
    ("import requests\nr = requests.get(url + '/b', params={'n': 1})\n[r.status_code, r.json()['path']]", [200, "/b?n=1"]),
    ("import requests\nrequests.post(url, data={'a': 'b c'}).json()['body']", "a=b+c"),
    ("import requests\nwith requests.Session() as s:\n    s.headers['x-own'] = '1'\n    told = s.get(url).json()['headers']['x-own']\ntold", "1"),
    ("import requests\ntry:\n    requests.get(url + '/status/404').raise_for_status()\nexcept requests.HTTPError as e:\n    told = [e.response.status_code, '404' in str(e)]\ntold",
     [404, True]),
    ("import urllib.request, json\nwith urllib.request.urlopen(url + '/c') as r:\n    told = [r.status, json.load(r)['path'], r.headers['content-type']]\ntold",
     [200, "/c", "application/json"]),
    ("import urllib.request, json\nq = urllib.request.Request(url, data=b'x=1', headers={'X-Own': 'z'}, method='PUT')\n"
     "told = json.loads(urllib.request.urlopen(q).read())\n[told['method'], told['body'], told['headers']['x-own']]", ["PUT", "x=1", "z"]),
    ("import urllib.request, urllib.error\ntry:\n    urllib.request.urlopen(url + '/status/500')\nexcept urllib.error.HTTPError as e:\n    told = e.code\ntold", 500),
])
def test_what_python_has_for_the_network_goes_over_fetch(run, code, value):
    assert result(run(code)) == value


@pytest.mark.parametrize("code", [
    "fetch('http://127.0.0.1:1/')", "import requests\nrequests.get('http://127.0.0.1:1/')",
    "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:1/')",
    "fetch('http://169.254.169.254/latest')", "import http.client\nc = http.client.HTTPConnection('127.0.0.1')\nc.request('GET', '/')"])
def test_other_hosts_are_refused(run, code):
    answer = run(code)
    assert not answer["success"]
    assert answer["errorDetails"]["type"] in ("PermissionDenied", "ExecutionError"), answer["errorDetails"]


def test_without_the_argument_there_is_no_network(run):
    answer = run("fetch(url)", enableNetwork=False)
    assert answer["errorDetails"]["type"] == "PermissionDenied" and "enableNetwork" in answer["errorDetails"]["message"]
