"""Makes the vault that the pieces about notes measure: the same one for the same numbers.

Notes of about `size` bytes in folders of types, with frontmatter, tags, headings and wiki
links to other notes; words are drawn from a vocabulary as in real text, few of them often.
"""
import random
from pathlib import Path

TYPES = ["meeting", "project", "person", "idea", "journal", "book", "recipe", "place"]
SYLLABLES = ["ba", "be", "di", "do", "fa", "ga", "ho", "ka", "la", "le", "mi", "mo", "na",
             "no", "pa", "re", "ri", "sa", "se", "ta", "to", "u", "va", "wi", "ze"]


def vocabulary(rng, count=20000):
    words = set()
    while len(words) < count:
        words.add("".join(rng.choices(SYLLABLES, k=rng.randint(2, 5))))
    return sorted(words, key=lambda w: (len(w), w))


def stem(i):
    return f"Note {i:06d}"


def kind(i):
    return TYPES[i % len(TYPES)]


def note(rng, i, count, size, words, weights):
    title = " ".join(rng.choices(words, cum_weights=weights, k=4)).capitalize()
    tags = ", ".join(rng.choices(words[:200], k=rng.randint(0, 4)))
    head = (f"---\nid: n-{i:016x}\ntype: {kind(i)}\ntitle: {title} {i}\n"
            f"created: 2025-{i % 12 + 1:02d}-{i % 28 + 1:02d}T08:00:00Z\n"
            f"updated: 2026-{i % 11 + 1:02d}-{i % 28 + 1:02d}T09:30:00Z\n"
            f"tags: [{tags}]\nstatus: {rng.choice(['open', 'done', 'waiting'])}\n"
            f"priority: {rng.randint(1, 5)}\n---\n\n# {title} {i}\n")
    parts, length = [head], len(head)
    while length < size:
        line = " ".join(rng.choices(words, cum_weights=weights, k=rng.randint(8, 16)))
        if rng.random() < 0.12:
            other = rng.randrange(count)
            line += f" [[{kind(other)}/{stem(other)}|{line.split()[0]}]]"
        if rng.random() < 0.05:
            line = f"## {line}"
        parts.append("\n" + line + ".\n")
        length += len(parts[-1])
    return "".join(parts)


def make(folder, count, size=2048, seed=1):
    """Writes the notes; answers words that are worth searching for, frequent ones first."""
    rng = random.Random(seed)
    words = vocabulary(rng)
    rng.shuffle(words)
    weights, total = [], 0.0
    for rank in range(len(words)):
        total += 1 / (rank + 10)
        weights.append(total)
    folder = Path(folder)
    for name in TYPES:
        (folder / name).mkdir(parents=True, exist_ok=True)
    for i in range(count):
        text = note(rng, i, count, size, words, weights)
        (folder / kind(i) / f"{stem(i)}.md").write_text(text)
    return words
