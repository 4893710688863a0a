"""The proposal's programs (seed_programs.py) as a model would write them in Python: the same calls,
the same results."""

ADVANCED_SEARCH = '''
def advanced_search(criteria):
    results = []
    for info in notes.list(limit=1000):
        note = notes.get(info.id)
        if note is None:
            continue
        matches = True
        if criteria.get("contentContains"):
            matches = matches and criteria["contentContains"] in note.content
        for key, value in (criteria.get("metadata") or {}).items():
            matches = matches and note.metadata.get(key) == value
        if criteria.get("hasLinksTo"):
            found = links.get_for_note(note.id)
            matches = matches and any(l.target_note_id in criteria["hasLinksTo"] for l in found.outgoing_internal)
        if matches:
            results.append(note)
    return results
'''

BULK_UPDATE = '''
def bulk_update(identifiers, update):
    results = []
    for ident in identifiers:
        try:
            note = notes.get(ident)
            if note is None:
                results.append({"id": ident, "success": False, "error": "Note not found"})
                continue
            updates = update(note)
            result = notes.update(identifier=ident, content=updates.get("content") or note.content,
                                  content_hash=note.content_hash, metadata={**note.metadata, **updates.get("metadata", {})})
            results.append({"id": ident, "success": True, "result": result})
        except Exception as error:
            results.append({"id": ident, "success": False, "error": str(error)})
    return results
'''

REORGANIZE_HIERARCHY = '''
def reorganize_hierarchy(parent_id, children):
    results = []
    new = [c["id"] for c in children]
    for child in hierarchy.get_children(parent_id):
        if child.child_id not in new:
            hierarchy.remove_subnote(parent_id=parent_id, child_id=child.child_id)
            results.append({"operation": "removed", "childId": child.child_id})
    for config in children:
        hierarchy.add_subnote(parent_id=parent_id, child_id=config["id"], position=config["position"])
        results.append({"operation": "added", "childId": config["id"], "position": config["position"]})
    hierarchy.reorder(parent_id=parent_id, child_ids=new)
    return results
'''

ANALYZE_NETWORK = '''
import asyncio

async def node_of(info, edges):
    note = await notes.get(info.id)
    found, related, coefficient = await asyncio.gather(
        links.get_for_note(note.id), relationships.get_related(note_id=note.id, max_results=10),
        relationships.get_clustering_coefficient(note.id))
    for link in found.outgoing_internal:
        edges.append({"source": note.id, "target": link.target_note_id, "type": "content_link", "text": link.link_text})
    return {"id": note.id, "title": note.title, "type": note.type, "outgoingLinks": len(found.outgoing_internal),
            "incomingLinks": len(found.incoming), "externalLinks": len(found.outgoing_external),
            "relatedCount": len(related), "clusteringCoefficient": coefficient,
            "centrality": len(found.incoming) + len(found.outgoing_internal)}

async def analyze_note_network():
    edges = []
    nodes = [await node_of(info, edges) for info in await notes.list(limit=1000)]
    central = sorted((n for n in nodes if n["centrality"] > 5), key=lambda n: -n["centrality"])[:10]
    clusters = {}
    for node in nodes:
        clusters.setdefault(node["type"], []).append(node)
    return {"nodes": nodes, "edges": edges, "clusters": clusters, "centralNodes": central}
'''

MEETINGS = '''
from collections import Counter
from datetime import datetime, timezone, timedelta

meetings = [notes.get(n.id) for n in notes.list(type_name="meeting", limit=100)]
stats = Counter(a for m in meetings for a in m.metadata.get("attendees") or [])
connected = []
for m in meetings:
    found = links.get_for_note(m.id)
    related = relationships.get_related(note_id=m.id, max_results=5)
    connected.append({"id": m.id, "title": m.title, "linkCount": len(found.outgoing_internal) + len(found.incoming),
                      "relatedCount": len(related)})
return {"totalMeetings": len(meetings),
        "topAttendees": sorted(({"name": n, "meetings": c} for n, c in stats.items()), key=lambda r: (-r["meetings"], r["name"]))[:5],
        "averageAttendeesPerMeeting": sum(len(m.metadata.get("attendees") or []) for m in meetings) / len(meetings),
        "mostConnectedMeetings": sorted(connected, key=lambda r: (-r["linkCount"], r["id"]))[:5]}
'''

BATCH_OPERATIONS = '''
import re
results = []
for info in notes.list(type_name="project", limit=100):
    try:
        note = notes.get(info.id)
        if note and "TODO:" in note.content:
            result = notes.update(identifier=note.id, content=re.sub("TODO:", "UPDATED:", note.content),
                                  content_hash=note.content_hash, metadata={**note.metadata, "last_todo_update": "2026-11-24"})
            results.append({"id": info.id, "success": True, "result": result})
        else:
            results.append({"id": info.id, "success": False, "reason": "No TODOs found"})
    except Exception as error:
        results.append({"id": info.id, "success": False, "error": str(error)})
return results
'''
