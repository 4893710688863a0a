"""Operations on a vault, and its state after each, to check what is left after a crash.

The work is a series of operations, each made by one evaluation. The vault's state after the first n
of them is known, so what is found after a crash must be the state of the operations that were
acknowledged, or of one more: never half of one.
"""
import json

LINKS = 8  # notes that link to the one that is renamed


def body_of(text):
    """The text that notes.create writes after the frontmatter."""
    head, _, body = text.partition("\n---\n\n")
    return body if head.startswith("---\n") else text


def read_vault(root):
    """Every note, by its path; and any other file where notes are."""
    notes, others = {}, []
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if name.startswith(".cloche") and (name == ".cloche" or name.startswith(".cloche/")):
            continue
        if path.is_file():
            if path.suffix == ".md":
                notes[name] = body_of(path.read_bytes().decode())
            else:
                others.append(name)
    return notes, others


def link_text(n, version, hub):
    return f"L{n} {version} [[{hub}]] [h](../hub/{hub}.md) `[[{hub}]]`\n"


class Work:
    """Operations number 0, 1, 2 ... and the notes after each of them."""

    def __init__(self):
        self.notes = {"hub/Hub.md": "the hub [[L0]]\n", "big/Big.md": "0" * 200_000}
        self.hub = "Hub"
        self.versions = {n: (0, "Hub") for n in range(LINKS)}
        self.put_links()
        self.pair = "Pair"
        self.put_pair()
        self.notes |= {"swap/One.md": "first\n", "swap/Two.md": "second\n"}
        self.made = []
        self.done = 0

    def put_pair(self):
        """A note with two links to it: few enough files to be synced one by one."""
        self.notes[f"pair/{self.pair}.md"] = "a pair\n"
        self.notes["pair/A.md"] = self.notes["B.md"] = f"[[{self.pair}]]\n"

    def put_links(self):
        for n, (version, code) in self.versions.items():
            text = link_text(n, version, self.hub)
            # In code nothing is rewritten: the name of the time when it was written.
            self.notes[f"links/L{n}.md"] = text.replace(f"`[[{self.hub}]]`", f"`[[{code}]]`")

    def write_first(self, root):
        for name, text in self.notes.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)

    def next(self):
        """The code of the next operation; updates the state to its result."""
        k = self.done
        self.done += 1
        return [self.create, self.update, self.rename, self.create, self.delete, self.big,
                self.move, self.rename_pair, self.swap][k % 9](k)

    def swap(self, k):
        """Two notes swap names, by way of a third."""
        one, two = "swap/One.md", "swap/Two.md"
        self.notes[one], self.notes[two] = self.notes[two], self.notes[one]
        names = [("One", "Between"), ("Two", "One"), ("Between", "Two")]
        changes = [{"action": "rename", "identifier": f"swap/{old}", "new_title": new,
                    "force": True} for old, new in names]
        return f"await notes.batch({json.dumps({'changes': changes})})"

    def create(self, k):
        name, text = f"N{k}", f"made {k}\n"
        self.notes[f"note/{name}.md"] = text
        self.made.append(name)
        return f"await notes.create({{title: {name!r}, content: {json.dumps(text)}}})"

    def update(self, k):
        n = k % LINKS
        self.versions[n] = (k, self.hub)
        self.put_links()
        text = json.dumps(self.notes[f"links/L{n}.md"])
        return f"await notes.update({{identifier: 'links/L{n}', content: {text}, force: true}})"

    def rename(self, k):
        old, self.hub = self.hub, f"Hub{k}"
        self.notes[f"hub/{self.hub}.md"] = self.notes.pop(f"hub/{old}.md")
        self.put_links()
        return (f"await notes.rename({{identifier: 'hub/{old}', new_title: '{self.hub}', "
                "force: true})")

    def rename_pair(self, k):
        old, self.pair = self.pair, f"Pair{k}"
        del self.notes[f"pair/{old}.md"]
        self.put_pair()
        return (f"await notes.rename({{identifier: 'pair/{old}', new_title: '{self.pair}', "
                "force: true})")

    def delete(self, k):
        name = self.made.pop(0)
        del self.notes[f"note/{name}.md"]
        return f"await notes.delete({{identifier: 'note/{name}', confirm: true}})"

    def big(self, k):
        digit = str(k % 10)
        self.notes["big/Big.md"] = digit * 200_000
        return ("await notes.update({identifier: 'big/Big', "
                f"content: '{digit}'.repeat(200000), force: true}})")

    def move(self, k):
        name = self.made.pop()
        self.notes[f"kept/{name}.md"] = self.notes.pop(f"note/{name}.md")
        return f"await notes.move({{identifier: 'note/{name}', new_type: 'kept', force: true}})"



def difference(found, wanted):
    """For a message: names, and the beginnings of texts that differ."""
    return {name: (found.get(name, "(none)")[:60], wanted.get(name, "(none)")[:60])
            for name in sorted(found.keys() | wanted.keys())
            if found.get(name) != wanted.get(name)}
