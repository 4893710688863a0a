"""Times code in pydantic-monty: a line of JSON in, {code, count}; a line out, the nanoseconds of each.
The pool of its processes is warm; each piece of code gets a session of its own."""
import json
import sys
import time

from pydantic_monty import Monty

with Monty() as pool:
    for line in sys.stdin:
        asked, took = json.loads(line), []
        for _ in range(asked["count"]):
            begun = time.perf_counter_ns()
            with pool.checkout() as session:
                session.feed_run(asked["code"])
            took.append(time.perf_counter_ns() - begun)
        print(json.dumps(took), flush=True)
