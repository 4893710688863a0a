"""A list without a limit is complete: over REST, and in scripts."""
import threading

import httpx
import pytest

from conftest import folders_in
from wire import Server

TASKS = 10_050  # more than one page can have
SEED = r"""
const tasks = host.call("POST", `/workspaces/${workspace_id}/query`, {
  filter: { class: "Task", "properties.Status": "pending" }
});

let report = "# Pending Tasks\n\n";
for (const task of tasks) {
  const due = task.properties.Due || "No due date";
  report += `- [ ] ${task.title} (Due: ${due})\n`;
}

// Return value is sent back to the AI
report;
"""
ids = {f"Task/t{n}" for n in range(TASKS)}


@pytest.fixture(scope="module")
def many(cloche, tmp_path_factory):
    """A client of a server over so many tasks, with the workspace's path."""
    import os
    place = tmp_path_factory.mktemp("many")
    folder = place / "many" / "Task"
    folder.mkdir(parents=True)
    for n in range(TASKS):
        above = f"[[Task/t{n - 1}]]\n\n" if n else ""
        (folder / f"t{n}.md").write_text(f"# T{n}\n\n{above}## Status\npending\n")
    with Server([cloche, "serve", "--vault", str(place / "many"), "--listen", "127.0.0.1:0"],
                env=os.environ | folders_in(place)) as server:
        with httpx.Client(base_url=f"{server.url}/workspaces/many", timeout=120) as client:
            yield client


def script(client, code):
    answer = client.post("/run", json={"code": code}).json()
    assert answer["success"], answer["error"]
    return answer["result"]


def test_the_seeds_script_sees_every_note(many):
    lines = script(many, SEED).rstrip().split("\n")
    assert lines[0] == "# Pending Tasks"
    assert set(lines[2:]) == {f"- [ ] T{n} (Due: No due date)" for n in range(TASKS)}


def test_lists_without_a_limit_are_whole(many):
    for answer in (many.get("/notes"), many.get("/notes", params={"fields": "id"}),
                   many.post("/query", json={"filter": {"class": "Task"}}),
                   many.post("/query", json={"sort": "title", "fields": ["id"]})):
        assert answer.status_code == 200 and "link" not in answer.headers
        rows = answer.json()
        assert len(rows) == TASKS and {row["id"] for row in rows} == ids
    titles = [row["title"] for row in many.post(
        "/query", json={"sort": "title", "fields": ["title"]}).json()]
    assert titles == sorted(f"T{n}" for n in range(TASKS))
    links = many.get("/links")
    assert "link" not in links.headers
    assert {row["source"] for row in links.json()} == ids - {"Task/t0"}


def test_in_a_script_they_are_whole_as_well(many):
    counts = script(many, """
        const w = `/workspaces/${workspace_id}`;
        [host.call('GET', `${w}/notes`), host.call('POST', `${w}/query`, {}),
         host.call('GET', `${w}/links`)].map((rows) => [rows.length, 'next' in rows])""")
    assert counts == [[TASKS, False], [TASKS, False], [TASKS - 1, False]]


def test_a_limit_makes_pages_that_lead_to_the_next(many):
    answer = many.get("/notes", params={"limit": 7000, "fields": "id"})
    seen = [row["id"] for row in answer.json()]
    assert len(seen) == 7000
    rest = many.get(f"http://{answer.url.netloc.decode()}{answer.links['next']['url']}")
    seen += [row["id"] for row in rest.json()]
    assert "next" not in rest.links and len(seen) == TASKS and set(seen) == ids
    told = script(many, """
        const all = [], body = {sort: 'title', limit: 6000, fields: ['id']};
        let page = host.call('POST', `/workspaces/${workspace_id}/query`, body), pages = 1;
        all.push(...page);
        for (; page.next; pages++) {
          page = host.call('POST', page.next, body);
          all.push(...page);
        }
        ({pages, count: new Set(all.map((row) => row.id)).size, own: Object.keys(page).length})""")
    assert told == {"pages": 2, "count": TASKS, "own": TASKS - 6000}


def test_a_search_says_where_it_ends(many):
    """Its hits are sorted, so no page goes beyond 10,000 of them."""
    answer = many.get("/search", params={"q": "pending"})
    assert answer.status_code == 413 and "more than 10000 notes" in answer.json()["detail"]
    page = many.get("/search", params={"q": "pending", "limit": 3})
    assert len(page.json()) == 3 and "next" in page.links
    fewer = many.get("/search", params={"q": '"t5"'})
    assert fewer.status_code == 200 and len(fewer.json()) > 0


def test_a_list_is_of_one_moment(many):
    """Concurrent writers make no note disappear from it, or appear twice."""
    stop = threading.Event()

    def write():
        with httpx.Client(base_url=many.base_url, timeout=60) as other:
            n = 0
            while not stop.is_set():
                note = f"/notes/Task%2Ft{n % TASKS}"
                n += 997
                assert other.patch(note, headers={"if-match": "*"}, json={
                    "properties": {"Seen": str(n)}}).status_code == 200

    writer = threading.Thread(target=write)
    writer.start()
    try:
        answers = [many.get("/notes", params={"fields": "id"}) for _ in range(8)]
    finally:
        stop.set()
        writer.join()
    for answer in answers:
        assert answer.status_code in (200, 503), answer.text
        if answer.status_code == 200:
            rows = [row["id"] for row in answer.json()]
            assert len(rows) == TASKS and set(rows) == ids
        else:
            assert "changed each time" in answer.json()["detail"]
